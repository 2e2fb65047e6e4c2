"""A resident process that keeps one store and its models loaded, for the hooks and MCP servers of coding agents.

It starts on demand, listens on a local socket that only its owner can reach, and ends after a while without use. Start with
``process.py`` for the resident process, ``hook.py`` and ``relay.py`` for the two short programs that connect to it. The modules
``endpoint``, ``wire``, ``launch``, ``hook`` and ``relay`` import nothing heavy, because a hook runs at each prompt.
"""
