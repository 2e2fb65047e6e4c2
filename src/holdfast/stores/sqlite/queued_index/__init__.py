"""External vector indexes, kept up to date through a queue in the file. Start with ``index.py``."""
