"""The embedder of an engine. Start with ``loaded.py``. ``calls.py`` limits and pauses calls; ``fingerprint.py`` detects changed vectors."""
