"""``holdfast serve`` and the workers of all tenants. Start with ``command.py``, then ``processes.py``."""
