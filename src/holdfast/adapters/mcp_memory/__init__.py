"""The knowledge graph of MCP's official memory server: its nine tools, with the same arguments and results.

No extra is needed. ``holdfast mcp --tools graph`` serves the tools. :class:`KnowledgeGraph` has the same calls in
Python.
"""

from holdfast.adapters.mcp_memory.graph import Entity, Graph, KnowledgeGraph, Relation
from holdfast.adapters.mcp_memory.tools import GraphTool, graph_tools

__all__ = ["Entity", "Graph", "GraphTool", "KnowledgeGraph", "Relation", "graph_tools"]
