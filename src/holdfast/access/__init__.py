"""Access control: access keys, permissions, and stored responses for idempotency keys. Start with ``keys.py``."""
