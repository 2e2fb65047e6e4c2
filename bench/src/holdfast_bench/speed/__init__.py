"""Storing and recalling, next to Chroma, sqlite-vec and mem0. Start with ``benchmark.py``."""
