"""Rewrite first-person statements in the third person, in English and Spanish. Start with ``rewrite.py``."""
