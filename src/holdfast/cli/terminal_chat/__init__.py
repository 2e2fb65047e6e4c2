"""``holdfast chat``: chat in the terminal. Start with ``command.py``, then ``conversation.py``."""
