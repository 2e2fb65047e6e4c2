"""Check what a model says against the messages it comes from. ``check.py`` is the entry point."""
