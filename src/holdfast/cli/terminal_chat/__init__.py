"""The ``holdfast chat`` command: a chat in the terminal. Start with ``command.py``, then ``conversation.py``."""
