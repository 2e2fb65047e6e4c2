"""The components of an engine, and a function for internal access to them.

``Services`` is not public API: :class:`holdfast.Engine` hides it. The server, the command line, MCP and the benchmarks
use :func:`services`. This module imports nothing at run time, so that the command line starts fast.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.background.condense import Condenser
    from holdfast.background.digest import Digester
    from holdfast.background.energy import Energy
    from holdfast.background.housekeeping import Housekeeping
    from holdfast.background.jobs import JobRunner
    from holdfast.background.scheduler import Scheduler
    from holdfast.consent.wishes import Wishes
    from holdfast.models.chat_budget import BudgetedChat
    from holdfast.presets.base import Preset
    from holdfast.protocols import Clock, SentenceReader, Store
    from holdfast.recall.embedding import Embedding
    from holdfast.recall.reader import Reader
    from holdfast.recall.reranking import Reranking
    from holdfast.text.limits import Limits
    from holdfast.topic_files import FolderMirrors


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The components of one engine."""

    store: "Store"
    preset: "Preset"
    clock: "Clock"
    limits: "Limits"
    """Maximum sizes of messages and memories."""
    embedding: "Embedding"
    chat: "BudgetedChat"
    """The chat model, wrapped so that spending limits apply."""
    energy: "Energy"
    digester: "Digester"
    """Closes sessions and extracts memories from them."""
    condenser: "Condenser"
    jobs: "JobRunner"
    reranking: "Reranking"
    reader: "Reader"
    """Recalls memories and messages, and builds context blocks."""
    sentence_reader: "SentenceReader | None"
    """Model that decides which of the user's sentences are worth keeping. None if rules decide."""
    wishes: "Wishes"
    """Obeys the users' wishes about memory."""
    topic_files: "FolderMirrors"
    """Mirrors topic pages as Markdown files and keeps them in sync with the store."""
    housekeeping: "Housekeeping"
    scheduler: "Scheduler"
    """Runs background work."""

    def __repr__(self) -> str:
        return f"<Services on {self.store.location}>"


class _Built(Protocol):
    """Interface of an engine for :func:`services`: an object with the attribute ``_services``."""

    @property
    def _services(self) -> Services: ...


def services(engine: _Built) -> Services:
    """Return the components of an engine. Only code of this package may call this."""
    return engine._services  # noqa: SLF001  (the only access from outside the engine)
