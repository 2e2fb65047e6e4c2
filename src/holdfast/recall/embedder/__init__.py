"""The embedder of an engine. ``calls.py`` limits and pauses its calls. ``fingerprint.py`` detects changed vectors."""
