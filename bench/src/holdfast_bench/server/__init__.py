"""Load test of the HTTP server. Start with ``benchmark.py``."""
