"""What is relevant to a query: stored questions are not, and general queries need strong hits."""
