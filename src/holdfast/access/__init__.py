"""Who may do what: API keys, permissions, and stored responses for idempotency keys. Start with ``keys.py``."""
