"""``holdfast install``: add Holdfast to an assistant's settings file. Start with ``command.py``."""
