"""Extraction quality on labeled data, and training of the classifier. Start with ``benchmark.py``."""
