"""The version of this package; it imports nothing."""

__version__ = "0.1.0"
