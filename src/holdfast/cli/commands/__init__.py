"""One module per group of commands; ``holdfast.cli.app`` imports each when it is called. Start with ``memories.py``."""
