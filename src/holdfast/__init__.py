"""Holdfast: persistent memory for AI assistants.

Give it a conversation and it remembers. Give it a message and it returns what the assistant should know now::

    import holdfast

    with holdfast.open() as memory:
        memory.remember("prefers tea", key="drink", user="ana")
        print(memory.recall("what does she drink?", user="ana")[0])
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from holdfast.agent import Agent, Answer
    from holdfast.aio import AsyncEngine, AsyncSession, open_async
    from holdfast.config import open_engine as open
    from holdfast.engine import Engine
    from holdfast.errors import HoldfastError
    from holdfast.presets.base import Preset
    from holdfast.session import Session
    from holdfast.types import ChangeRecord, Context, Finding, Hit, Job, Kind, Memory, Message, Receipt, Scope, SessionRecord

__all__ = [
    "Agent",
    "Answer",
    "AsyncEngine",
    "AsyncSession",
    "ChangeRecord",
    "Context",
    "Engine",
    "Finding",
    "Hit",
    "HoldfastError",
    "Job",
    "Kind",
    "Memory",
    "Message",
    "Preset",
    "Receipt",
    "Scope",
    "Session",
    "SessionRecord",
    "open",
    "open_async",
]

# Names are imported when first asked for, so that the command line starts at once.
_HOMES = {
    "Agent": "holdfast.agent",
    "Answer": "holdfast.agent",
    "AsyncEngine": "holdfast.aio",
    "AsyncSession": "holdfast.aio",
    "open_async": "holdfast.aio",
    "Engine": "holdfast.engine",
    "HoldfastError": "holdfast.errors",
    "Preset": "holdfast.presets.base",
    "Session": "holdfast.session",
    "open": "holdfast.config",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  (as above)

    home = import_module(_HOMES.get(name, "holdfast.types"))
    value = getattr(home, "open_engine" if name == "open" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
