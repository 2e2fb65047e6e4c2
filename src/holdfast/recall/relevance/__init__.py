"""Relevance of hits to a query: weaken stored questions, and demand stronger hits for general queries."""
