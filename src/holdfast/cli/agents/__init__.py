"""The commands for assistants and coding agents: ``mcp``, ``hook`` and ``resident``. Start with ``hook.py``."""
