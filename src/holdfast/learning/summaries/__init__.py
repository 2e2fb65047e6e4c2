"""Summarize conversations, maintain the base document, and compact memories beyond a cap. Start with ``summaries.py``."""
