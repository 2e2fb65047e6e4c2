"""Code shared by the two SQL stores: rows, reads, writes, filters and BM25 ranking. Start with ``transaction.py``."""
