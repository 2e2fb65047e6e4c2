"""The query of a recall: text, reader and restrictions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.protocols import Space
from holdfast.text.periods import Period
from holdfast.types import Scope, Where


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """The query text of a recall, its reader, and its restrictions."""

    text: str
    reader: Scope
    now: datetime
    limit: int = 10
    kinds: Collection[str] | None = None
    where: Where | None = None
    as_of: datetime | None = None
    min_score: float = 0.0
    without_session: str | None = None
    """A session whose messages are excluded, because the caller already has them."""
    languages: tuple[str, ...] = ("en", "es")
    background_kinds: Collection[str] = ()
    """Kinds that are left out, because the messages they summarize are searched."""
    with_sources: bool = False
    """True to return messages even if a memory derived from them is a hit. The caller removes them later."""
    periods: Sequence[Period] = ()
    """The periods that the text names."""

    @property
    def spaces(self) -> tuple[Space, ...]:
        """Spaces to search. Messages have no kind and no metadata, so these restrict the search to memories."""
        memories: tuple[Space, ...] = ("memory", "archive") if self.as_of else ("memory",)
        if self.kinds is not None:
            return (*(memories if self.memory_kinds else ()), *(("message",) if "message" in self.kinds else ()))
        return memories if self.where else (*memories, "message")

    @property
    def memory_kinds(self) -> Collection[str] | None:
        """Kinds of memory to search, or None for all."""
        return None if self.kinds is None else set(self.kinds) - {"message"}
