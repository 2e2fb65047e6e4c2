"""Recall: turns a query into ranked hits and a context block. Start with ``reader.py``, then ``search.py`` and ``ranking.py``."""
