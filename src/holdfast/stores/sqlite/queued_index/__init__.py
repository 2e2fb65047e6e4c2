"""External vector indexes (Chroma), updated through a queue of changes in the SQLite file. Start with ``index.py``."""
