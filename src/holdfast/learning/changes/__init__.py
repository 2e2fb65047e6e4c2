"""Decide which new facts supersede, correct or repeat known ones. Start with ``reconcile.py``."""
