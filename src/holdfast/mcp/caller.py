"""Who is calling: a memory, a scope and a right, for the length of one request."""

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
    """One client's view of one memory."""

    memory: Engine
    principal: Principal
    parts: ScopeParts

    @property
    def may_write(self) -> bool:
        """Whether memories may be changed."""
        return self.principal.level != "read"

    @property
    def language(self) -> str:
        """The language to speak: the user's own, the preset's, or English."""
        return language_for(self.memory, self.parts["user"]) or "en"

    @property
    def words(self) -> McpTexts:
        """The server's words in that language."""
        return mcp_words(self.language)

    def owns(self, scope: Scope) -> bool:
        """Tell whether what this scope holds may be changed: a key changes what is its own, not what all share."""
        return may_change(self.principal, scope)


@cache
def mcp_words(language: str | None) -> McpTexts:
    """Return the words in a language; in English where it has none."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "mcp.toml").read_text("utf-8"))
    own = table.get((language or "en").partition("-")[0].casefold())
    words: McpTexts = own if isinstance(own, dict) else table["en"]
    return words
