"""Permanent removal. ``erase.py`` removes data with everything derived from it. ``rebuild.py`` derives some memories again."""
