"""The components of an engine, and internal access to them.

``Services`` is not public API: :class:`holdfast.Engine` hides it. The server, the command line, MCP and the benchmarks
use :func:`services`. This module imports nothing at run time, which keeps the command line fast.
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
    """Chat model with its spending limits."""
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
    """Runs background work."""

    def __repr__(self) -> str:
        return f"<Services on {self.store.location}>"


class _Built(Protocol):
    """An object built from services: an engine."""

    @property
    def _services(self) -> Services: ...


def services(engine: _Built) -> Services:
    """Return the components of an engine. For this package only."""
    return engine._services  # noqa: SLF001  (the only access from outside the engine)
