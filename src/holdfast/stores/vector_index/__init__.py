"""In-memory nearest-neighbor search by cosine. Start with ``index.py``.

Depending on the number of vectors, a search is exact, compares sketches (short bit codes), or looks only into the
nearest cells (clusters).
"""
