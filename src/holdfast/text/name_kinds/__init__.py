"""Decide whether a name is the name of a person or of a place."""
