"""Benchmark of extraction quality on labeled data, and training of the clause classifier. Start with ``benchmark.py``."""
