"""Permanent removal. ``erase.py`` removes data and everything derived from it; ``rebuild.py`` derives some memories again."""
