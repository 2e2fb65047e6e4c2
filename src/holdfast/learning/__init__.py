"""Propose memories to add, refresh or supersede. Nothing here writes to a store. Start with ``capture.py``."""
