"""A resident process that keeps one store and its models loaded, for the hooks and MCP servers of coding agents.

The process starts on demand, listens on a local socket that only its owner can reach, and ends when it is idle. Start
with ``process.py`` for the resident process, and with ``hook.py`` and ``relay.py`` for the two small programs that
connect to it. The modules ``endpoint``, ``wire``, ``launch``, ``hook`` and ``relay`` import nothing heavy, because a
hook runs at each prompt.
"""
