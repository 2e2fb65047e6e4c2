"""Keep an external vector index in step with the file through a queue. Start with ``index.py``."""
