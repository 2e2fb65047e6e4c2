"""Benchmark of extraction quality on labeled data. Start with ``benchmark.py``."""
