"""Derive proposed changes from conversations. Nothing here writes to a store. Start with ``capture.py``."""
