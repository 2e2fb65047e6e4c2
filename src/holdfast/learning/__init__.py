"""A conversation becomes proposed changes; nothing is written here. Start with ``capture.py``."""
