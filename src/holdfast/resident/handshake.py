"""Answer the MCP handshake before the server is loaded. A test checks that the server itself would give the same answer."""

from typing import Any, Final

from holdfast.version import __version__

VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""MCP protocol versions that this handshake supports, oldest first."""


def initialize_result(params: dict[str, Any], *, own_tools: bool = True) -> dict[str, Any]:
    """Return the result of ``initialize``. The instructions are in English, because the user's language is not yet known.

    If ``own_tools`` is False, the server does not offer Holdfast's own tools, and the result has no instructions.
    """
    import tomllib  # noqa: PLC0415  (only needed if nothing is running)
    from importlib import resources  # noqa: PLC0415  (as above)

    texts = tomllib.loads((resources.files("holdfast.prompts") / "mcp.toml").read_text("utf-8"))
    asked = params.get("protocolVersion")
    result = {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "capabilities": {
            "completions": {},
            "prompts": {"listChanged": False},
            "resources": {"subscribe": False, "listChanged": False},
            "tools": {"listChanged": False},
        },
        "serverInfo": {"name": "holdfast", "title": "Holdfast", "version": __version__},
    }
    return {**result, "instructions": texts["en"]["instructions"]} if own_tools else result
