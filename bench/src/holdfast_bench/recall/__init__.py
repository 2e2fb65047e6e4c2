"""How well recall finds the turns that answer a question. Start with ``benchmark.py``."""
