"""What a preset says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from holdfast.errors import InvalidInput
from holdfast.types import Change, Kind, Message

Capture: TypeAlias = Callable[[Sequence[Message]], list[Change]]
"""Reads a conversation's messages and proposes changes; it never writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One assistant's way of remembering."""

    name: str
    kinds: tuple[Kind, ...]
    default_kind: str
    capture: Capture
    idle_after: timedelta = timedelta(minutes=7)
    """A session with no message for so long is closed and digested."""
    undo_window: timedelta = timedelta(days=30)
    """How long something forgotten can still be brought back."""
    message_retention: timedelta | None = None
    """How long raw messages are kept after their session was digested; None keeps them."""
    context_tokens: int = 800
    languages: tuple[str, ...] = ("en", "es")
    """The languages a short question may be in, besides the one it shows."""

    def kind(self, name: str | None) -> Kind:
        """Return a kind by its name, or the default one."""
        wanted = name or self.default_kind
        for kind in self.kinds:
            if kind.name == wanted:
                return kind
        known = ", ".join(kind.name for kind in self.kinds)
        raise InvalidInput(f"The preset {self.name!r} has no kind {wanted!r}; it has: {known}.")
