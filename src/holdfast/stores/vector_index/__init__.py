"""Nearest vectors in memory, by cosine: exact, by sign bits, or by cells as it grows. Start with ``index.py``."""
