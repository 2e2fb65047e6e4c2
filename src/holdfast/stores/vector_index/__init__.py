"""In-memory nearest-neighbor search by cosine: exact, by sketches, or by cells, depending on size. Start with ``index.py``."""
