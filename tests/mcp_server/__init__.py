"""The MCP server, asked by the protocol's own client. (Not called ``mcp``: that is the name of the client's package.)"""
