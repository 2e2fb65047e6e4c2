"""Models that run on this machine: which there are, where their weights live, how text becomes vectors."""
