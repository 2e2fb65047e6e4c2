"""Holdfast: persistent memory for AI assistants.

Give it conversations, and it remembers what matters. Give it a message, and it returns what the assistant should know::

    import holdfast

    with holdfast.open() as memory:
        ana = memory.for_user("ana")
        ana.remember("prefers tea", key="drink")
        print(ana.recall("what does she drink?")[0])
"""

from typing import TYPE_CHECKING, Any

from holdfast.version import __version__ as _version

__version__ = _version

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent, Answer
    from holdfast.aio import AsyncEngine, AsyncScopedMemory, AsyncSession, open_async
    from holdfast.config.opening import open
    from holdfast.engine import Engine
    from holdfast.errors import (
        AnswerInvalid,
        Conflict,
        ExtraMissing,
        Forbidden,
        HoldfastError,
        InvalidInput,
        KeyMissing,
        ModelBusy,
        ModelError,
        ModelUnavailable,
        ModelUnknown,
        NoChatModel,
        NotFound,
        NoTranscriber,
        RevisionConflict,
        SettingsError,
        SpendLimit,
        StoreBusy,
        StoreClosed,
        StoreCorrupt,
        StoreError,
        StoreForeign,
        StoreFull,
        StoreLocked,
        StoreTooNew,
        TextTooLong,
        Unauthorized,
        WeightsCorrupt,
        WeightsMissing,
        WeightsUnavailable,
    )
    from holdfast.exporters.save import ExportResult
    from holdfast.importers.run import ImportCounts, ImportResult
    from holdfast.presets.base import Preset
    from holdfast.scoped import ScopedMemory
    from holdfast.session import Session
    from holdfast.types import (
        ChangeRecord,
        Context,
        Explanation,
        Finding,
        Hit,
        Hits,
        Job,
        Kind,
        Memory,
        Message,
        NewMemory,
        NewMessage,
        Reason,
        Receipt,
        Redaction,
        Scope,
        SessionRecord,
        Spend,
        Stats,
        Trace,
        TracedCandidate,
        UserProfile,
        UserRecord,
    )

__all__ = [
    "Agent",
    "Answer",
    "AnswerInvalid",
    "AsyncEngine",
    "AsyncScopedMemory",
    "AsyncSession",
    "ChangeRecord",
    "Conflict",
    "Context",
    "Engine",
    "Explanation",
    "ExportResult",
    "ExtraMissing",
    "Finding",
    "Forbidden",
    "Hit",
    "Hits",
    "HoldfastError",
    "ImportCounts",
    "ImportResult",
    "InvalidInput",
    "Job",
    "KeyMissing",
    "Kind",
    "Memory",
    "Message",
    "ModelBusy",
    "ModelError",
    "ModelUnavailable",
    "ModelUnknown",
    "NewMemory",
    "NewMessage",
    "NoChatModel",
    "NoTranscriber",
    "NotFound",
    "Preset",
    "Reason",
    "Receipt",
    "Redaction",
    "RevisionConflict",
    "Scope",
    "ScopedMemory",
    "Session",
    "SessionRecord",
    "SettingsError",
    "Spend",
    "SpendLimit",
    "Stats",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreFull",
    "StoreLocked",
    "StoreTooNew",
    "TextTooLong",
    "Trace",
    "TracedCandidate",
    "Unauthorized",
    "UserProfile",
    "UserRecord",
    "WeightsCorrupt",
    "WeightsMissing",
    "WeightsUnavailable",
    "open",
    "open_async",
]

# Names are imported when first used, so that the command line starts quickly.
_HOMES = {
    "Agent": "holdfast.agent.agent",
    "Answer": "holdfast.agent.agent",
    "AsyncEngine": "holdfast.aio",
    "AsyncScopedMemory": "holdfast.aio",
    "AsyncSession": "holdfast.aio",
    "open_async": "holdfast.aio",
    "open": "holdfast.config.opening",
    "Engine": "holdfast.engine",
    "ExportResult": "holdfast.exporters.save",
    "ImportCounts": "holdfast.importers.run",
    "ImportResult": "holdfast.importers.run",
    "Preset": "holdfast.presets.base",
    "ScopedMemory": "holdfast.scoped",
    "Session": "holdfast.session",
}
_TYPES = frozenset(
    "ChangeRecord Context Explanation Finding Hit Hits Job Kind Memory Message NewMemory NewMessage Reason Receipt Redaction Scope SessionRecord Spend Stats Trace TracedCandidate UserProfile UserRecord".split()
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  (imported when first used)

    home = _HOMES.get(name) or ("holdfast.types" if name in _TYPES else "holdfast.errors")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
