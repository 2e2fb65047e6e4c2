"""``holdfast chat``: a conversation in the terminal. Start with ``command.py``, then ``conversation.py``."""
