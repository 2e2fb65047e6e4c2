"""Write stored data to files that people and other programs can read. Start with ``walk.py``, then ``save.py``."""
