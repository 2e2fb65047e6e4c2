"""The embedder of an engine: ``calls.py`` limits and pauses its calls, ``fingerprint.py`` notices other vectors behind its name."""
