"""Check a model's statements against the messages that they come from. Start with ``check.py``."""
