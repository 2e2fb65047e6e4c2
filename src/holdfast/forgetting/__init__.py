"""Permanent removal of data. ``erase.py`` removes data with everything derived from it.

A memory that has other sources too is derived again from these sources by ``rebuild.py``.
"""
