"""Removing data for good: ``erase.py`` removes it and what was derived from it, ``rebuild.py`` derives the rest again."""
