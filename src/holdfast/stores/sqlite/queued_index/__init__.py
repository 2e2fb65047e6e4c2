"""External vector indexes, updated through a queue in the SQLite file. Start with ``index.py``."""
