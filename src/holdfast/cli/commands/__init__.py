"""The commands, one module per group, imported by ``holdfast.cli.app`` when called. Start with ``memories.py``."""
