"""The query of a recall: its text, its reader and its filters. Also functions that compute some of the filters."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from holdfast.presets.base import Preset
from holdfast.protocols import Space, Store, Vectors
from holdfast.text.dialogue_acts import is_about_asking
from holdfast.text.periods import Period
from holdfast.types import MIN_TRUST, Scope, Where

_MAX_KEYWORDS: Final = 2
"""Maximum number of words of a keyword query, such as "café"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """The text of a recall, its reader (the scope that may see the results), and its filters."""

    text: str
    reader: Scope
    now: datetime
    limit: int = 10
    kinds: Collection[str] | None = None
    where: Where | None = None
    namespace: tuple[str, ...] | None = None
    namespace_prefix: tuple[str, ...] = ()
    vector: "Vectors | None" = None
    """The vector of the query, if the caller has computed it. Then the text is not embedded."""
    distinct: bool = True
    """False to also return hits that repeat a better hit."""
    beyond: bool = False
    """True to also return the relevant hits beyond ``limit``. It needs ``distinct``."""
    as_of: datetime | None = None
    min_score: float = 0.0
    without_session: str | None = None
    """Id of a session whose messages are excluded, because the caller already has them."""
    languages: tuple[str, ...] = ("en", "es")
    background_kinds: Collection[str] = ()
    """Kinds of summaries to exclude, because the summarized messages are searched themselves."""
    with_sources: bool = False
    """True to return a message even if a memory derived from it is also a hit.

    The caller removes such messages after reranking.
    """
    min_trust: float = MIN_TRUST
    """Minimum trust of a hit. Text of tools, web pages and files is below it, and so are quotations in a user's message."""
    outside: bool = False
    """True to search only text below ``min_trust``, False to search only the other text."""
    periods: Sequence[Period] = ()
    """Periods of time that the query text names, such as "last week"."""

    def admits(self, trust: float) -> bool:
        """Return True if the query may return text with this trust."""
        return (trust < self.min_trust) is self.outside

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to search for. In that case, a context block has the newest memories."""
        return not self.text.strip() and self.vector is None

    @property
    def lists_questions(self) -> bool:
        """True if the query asks for the questions of a period and names no subject: "what did I ask you yesterday?"."""
        return any(period.alone for period in self.periods) and is_about_asking(self.text)

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The spaces to search: live memories, messages or retired memories.

        If the query filters by metadata or namespace, messages are not searched. If it filters by kinds, messages are
        searched only if the kinds include ``message``. Retired memories are searched only if the query is about an earlier
        time.
        """
        memories: tuple[Space, ...] = ("memory", "archive") if self.as_of else ("memory",)
        if self.kinds is not None:
            return (*(memories if self.memory_kinds else ()), *(("message",) if "message" in self.kinds else ()))
        filtered = self.where or self.namespace is not None or self.namespace_prefix
        return memories if filtered else (*memories, "message")

    @property
    def memory_kinds(self) -> Collection[str] | None:
        """Kinds of memory to search, or None for all."""
        return None if self.kinds is None else set(self.kinds) - {"message"}


def is_keyword(text: str) -> bool:
    """Return True if a query is only a word or two, such as "café". Such a query names a subject, but asks nothing about it."""
    return len(text.split()) <= _MAX_KEYWORDS


def with_shared_apps(store: Store, reader: Scope) -> Scope:
    """Return the reader's scope, extended by the apps that share their memories with the reader's app."""
    return replace(reader, also_apps=tuple(store.apps_sharing_with(reader.app))) if reader.app else reader


def background_kinds(preset: Preset) -> list[str]:
    """Return the kinds of summaries that recall leaves out. Recall finds the summarized messages instead.

    If the preset deletes messages after some time, the result is empty, because recall then needs the summaries.
    """
    return [kind.name for kind in preset.kinds if kind.background and preset.message_retention is None]
