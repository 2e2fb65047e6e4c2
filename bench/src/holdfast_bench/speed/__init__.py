"""Benchmark of storing and recalling, compared with Chroma, sqlite-vec and mem0. Start with ``benchmark.py``."""
