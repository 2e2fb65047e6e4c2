"""Models that run on this machine. Start with ``registry.py`` for the list and ``embedder.py`` for the default embedder."""
