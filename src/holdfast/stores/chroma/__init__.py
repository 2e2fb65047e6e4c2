"""Chroma as an external vector index. Start with ``index.py``; ``protocol.py`` says what any such index must do."""
