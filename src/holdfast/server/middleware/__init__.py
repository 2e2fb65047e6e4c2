"""Checks that run before every route, and the limits and logs of the process. Start with ``security.py``."""
