"""The HTTP server under load. Start with ``benchmark.py``."""
