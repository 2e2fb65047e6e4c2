"""The caller of an MCP request: an engine, a principal and a scope."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

from holdfast.access.keys import Principal, ScopeParts, may_change
from holdfast.agent.tools import language_for
from holdfast.engine import Engine
from holdfast.types import Scope

McpTexts: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCaller:
    """The engine, principal and scope of one request."""

    memory: Engine
    principal: Principal
    parts: ScopeParts
    project: str | None = None
    """Name of the project, if the app in ``parts`` is a project. Then new memories about the user are stored without an app."""

    @property
    def may_write(self) -> bool:
        """True if the caller is allowed to change memories."""
        return self.principal.level != "read"

    @property
    def language(self) -> str:
        """Language of the server's texts: the user's language, else the preset's, else English."""
        return language_for(self.memory, self.parts["user"]) or "en"

    @property
    def texts(self) -> McpTexts:
        """The server's texts in the caller's language."""
        return mcp_texts(self.language)

    def owns(self, scope: Scope) -> bool:
        """Return True if the caller is allowed to change items in this scope.

        A caller whose key is bound to a scope is not allowed to change shared items.
        """
        return may_change(self.principal, scope)


@cache
def mcp_texts(language: str | None) -> McpTexts:
    """Return the MCP server's instructions, titles and other texts in a language. Without a translation, return English texts."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "mcp.toml").read_text("utf-8"))
    texts: McpTexts | None = table.get((language or "en").partition("-")[0].casefold())
    return texts if isinstance(texts, dict) else table["en"]
