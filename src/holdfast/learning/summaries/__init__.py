"""Summarize conversations, maintain the base document, and keep the number of memories under a cap.

Start with ``summaries.py``.
"""
