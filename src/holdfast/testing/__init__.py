"""Test doubles for users of Holdfast, and test suites for custom stores and embedders.

::

    from holdfast.testing import FrozenClock, HashEmbedder, ScriptedChat

    memory = holdfast.open(path, embedder=HashEmbedder(), clock=FrozenClock("2026-03-01"), worker="none")

To test a custom store, subclass :class:`StoreSuite`; to test a custom embedder, subclass :class:`EmbedderSuite`. The
suites need pytest. The test doubles work without it.
"""

from typing import TYPE_CHECKING, Any

from holdfast.testing.chat import RecordedCall, ScriptedChat
from holdfast.testing.clock import FrozenClock
from holdfast.testing.vectors import HashEmbedder

if TYPE_CHECKING:
    from holdfast.testing.embedders import EmbedderSuite
    from holdfast.testing.stores import StoreSuite

__all__ = ["EmbedderSuite", "FrozenClock", "HashEmbedder", "RecordedCall", "ScriptedChat", "StoreSuite"]

# The suites are imported on first use: they need pytest, which users of the doubles may not have.
_MODULES = {"EmbedderSuite": "holdfast.testing.embedders", "StoreSuite": "holdfast.testing.stores"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'holdfast.testing' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  (as above)

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
