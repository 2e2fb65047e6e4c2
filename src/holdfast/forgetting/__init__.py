"""Permanent removal: ``erase.py`` removes data and all that is derived from it, ``rebuild.py`` derives some memories again."""
