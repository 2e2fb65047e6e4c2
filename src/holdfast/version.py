"""The version of this package. This module imports nothing."""

__version__ = "0.1.0"
