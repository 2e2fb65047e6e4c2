"""The memory for any assistant that speaks the Model Context Protocol: over stdio, and over HTTP beside the server.

Needs the extra ``holdfast[mcp]``. Both protocol eras are served: the handshake of 2025 and before, and the stateless
one that followed it.
"""
