"""Middleware: security checks, limits, logging and threads. Start with ``security.py``."""
