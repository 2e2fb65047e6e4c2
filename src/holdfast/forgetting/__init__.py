"""Permanent removal of data. ``erase.py`` removes data with everything derived from it.

If only some sources of a memory are removed, ``rebuild.py`` derives the memory again from the remaining sources.
"""
