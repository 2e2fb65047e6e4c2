"""The MCP (Model Context Protocol) server, over stdio and over HTTP. Requires the extra ``holdfast[mcp]``.

Two generations of the protocol are supported: versions with a handshake (2025 and earlier), and the later stateless ones.
"""
