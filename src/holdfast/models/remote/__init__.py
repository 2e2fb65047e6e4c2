"""Models behind an HTTP API. Start with ``providers.py``, which turns a name into a model, then ``chat.py``."""
