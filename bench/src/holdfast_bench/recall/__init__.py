"""Retrieval quality: how well recall finds the messages that answer a question. Start with ``benchmark.py``."""
