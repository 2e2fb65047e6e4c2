"""Summarize conversations, maintain the base document, and reduce the number of memories to a maximum.

Start with ``summaries.py``.
"""
