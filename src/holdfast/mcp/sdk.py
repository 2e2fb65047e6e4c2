"""The parts of the package ``mcp`` that differ between its versions 1 and 2, with the names and arguments of version 2.

Version 2 is the normal case. Version 1 is supported because CrewAI and LangChain's MCP adapters need it: they cannot be
installed together with version 2. Version 1 supports no protocol versions after 2025.
"""

from typing import TYPE_CHECKING

import mcp

if TYPE_CHECKING or hasattr(mcp, "MCPError"):
    from mcp import MCPError, types
    from mcp.server import Server, ServerRequestContext
else:
    from holdfast.mcp.sdk_v1 import MCPError, Server, ServerRequestContext, types

__all__ = ["MCPError", "Server", "ServerRequestContext", "types"]
