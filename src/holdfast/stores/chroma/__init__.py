"""Chroma as an external vector index. Start with ``index.py``; ``protocol.py`` defines what any such index must do."""
