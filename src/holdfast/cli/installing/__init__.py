"""The ``holdfast install`` command, which adds Holdfast to an assistant's settings file. Start with ``command.py``."""
