"""Read the JSON that models write, however broken, and fit it to a schema. Start with ``find.py``."""
