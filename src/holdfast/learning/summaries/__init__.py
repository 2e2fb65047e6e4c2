"""Summarize conversations, keep the base document, and compact what has grown too large. Start with ``summaries.py``."""
