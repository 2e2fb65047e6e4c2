"""Assign, name and split topics. Start with ``assign.py``."""
