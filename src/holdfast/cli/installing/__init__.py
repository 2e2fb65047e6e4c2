"""``holdfast install``: add this memory to an assistant's settings file. Start with ``command.py``."""
