"""The default store: everything in one SQLite file. Start with ``store.py``."""
