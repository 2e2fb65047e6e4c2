"""Decide which new facts supersede, correct or repeat known facts. Start with ``reconcile.py``."""
