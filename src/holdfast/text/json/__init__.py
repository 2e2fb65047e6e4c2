"""Parse the JSON in model answers, even if it is broken, and fit it to a schema. Start with ``find.py``."""
