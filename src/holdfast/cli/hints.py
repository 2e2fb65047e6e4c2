"""Explain an empty result: an unknown user, a scope without memories, or filters that leave nothing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.cli.options import Flags
from holdfast.cli.output import count
from holdfast.services import services
from holdfast.text.clean import clean_name, fold

if TYPE_CHECKING:
    from holdfast.engine import Engine

_NAMES_LIMIT = 10_000
"""Names compared with a mistyped one. In a larger store, a user beyond them is not called unknown."""


def unknown_user(memory: "Engine", user: str | None) -> str | None:
    """Return a hint if the store has no user of this name, with the most similar name; None if it has."""
    name = clean_name(user, what="user")
    if name is None:
        return None
    names = services(memory).store.user_names(limit=_NAMES_LIMIT + 1)
    if name in names or len(names) > _NAMES_LIMIT:
        return None
    from difflib import get_close_matches  # noqa: PLC0415  (only after a slip)

    folded = {fold(each): each for each in names}
    near = get_close_matches(fold(name), folded, n=1)
    meant = f" Did you mean {folded[near[0]]!r}?" if near else ""
    return f"There is no user {name!r} in this store.{meant} `holdfast users list` shows all."


def nothing_found(memory: "Engine", flags: Flags, *, said: bool, narrowed: Mapping[str, Any]) -> str:
    """Explain why a list or a recall is empty.

    ``said`` is whether messages are searched too; ``narrowed`` holds the options that leave something out.
    """
    stats = memory.stats()
    if not stats.memories and not (said and stats.messages):
        return 'Nothing is remembered yet. Try: holdfast remember "prefers tea" --key drink'
    unknown = unknown_user(memory, flags.user)
    if unknown is not None:
        return unknown
    if flags.user is None and stats.users:
        whose = f"{count(stats.memories, 'memory')} of {count(stats.users, 'user')}"
        return f"Nothing here is shared by all users; the store holds {whose}: name one with --user."
    given = [f"--{name.replace('_', '-')}" for name, value in narrowed.items() if value]
    if given:
        return f"Nothing was found with {', '.join(given)}; without {'it' if len(given) == 1 else 'them'} there may be more."
    scope = ", ".join(f"{part} {name!r}" for part, name in flags.scope.items() if name)
    whose = f" for {scope}" if scope else ""
    return f"Nothing was found{whose}. `holdfast stats` counts what is stored."
