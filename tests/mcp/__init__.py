"""The MCP server, called by the protocol's own client."""
