"""The ``holdfast serve`` command, and the worker for all tenants. Start with ``command.py``, then ``processes.py``."""
