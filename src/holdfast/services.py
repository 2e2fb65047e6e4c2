"""The components an engine is built from, and the internal accessor for them.

``Services`` is not public API: :class:`holdfast.Engine` shows none of it. The surfaces of this package (server,
command line, MCP, benchmarks) reach it with :func:`services`. This module imports nothing at run time, so that the
command line can import it before it knows whether a store will be opened.
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
    from holdfast.models.chat_budget import BudgetedChat
    from holdfast.presets.base import Preset
    from holdfast.protocols import Clock, Store
    from holdfast.recall.embedding import Embedding
    from holdfast.recall.reader import Reader
    from holdfast.recall.reranking import Reranking
    from holdfast.topic_files import FolderMirrors


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The components of one engine."""

    store: "Store"
    preset: "Preset"
    clock: "Clock"
    embedding: "Embedding"
    chat: "BudgetedChat"
    """The chat model, with its spending limits."""
    energy: "Energy"
    digester: "Digester"
    """Closes sessions and extracts memories from them."""
    condenser: "Condenser"
    jobs: "JobRunner"
    reranking: "Reranking"
    reader: "Reader"
    """Recall and context."""
    topic_files: "FolderMirrors"
    """Topic pages as Markdown files, kept in sync with the store."""
    housekeeping: "Housekeeping"
    scheduler: "Scheduler"
    """Background work."""

    def __repr__(self) -> str:
        return f"<Services on {self.store.location}>"


class _Built(Protocol):
    """Something built from services: an engine."""

    @property
    def _services(self) -> Services: ...


def services(engine: _Built) -> Services:
    """Return the components of an engine. For this package only."""
    return engine._services  # noqa: SLF001  (this is the one door to it)
