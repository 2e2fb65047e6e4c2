"""Find and redact secrets such as passwords and API keys. Start with ``redact.py``."""
