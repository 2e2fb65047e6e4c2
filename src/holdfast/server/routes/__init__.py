"""The HTTP routes, one module per resource. Start with ``memories.py``."""
