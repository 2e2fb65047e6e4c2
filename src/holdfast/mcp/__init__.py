"""The MCP (Model Context Protocol) server, over stdio and over HTTP. Requires the extra ``holdfast-memory[mcp]``.

Two generations of the protocol are supported: versions with a handshake (2025 and earlier), and later stateless
versions. The package ``mcp`` may have version 1 or 2; ``sdk.py`` hides the difference. Version 1 supports only the
first generation.
"""
