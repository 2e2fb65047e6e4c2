"""The MCP (Model Context Protocol) server, over stdio and over HTTP. Requires the extra ``holdfast[mcp]``.

Both generations of the protocol are supported: the one with a handshake (2025 and earlier) and its stateless successor.
"""
