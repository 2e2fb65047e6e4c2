"""Chroma as an external vector index. Start with ``index.py``; ``protocol.py`` defines the interface of external indexes."""
