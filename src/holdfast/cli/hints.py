"""Explains why a result is empty: the user is unknown, the scope has no memories, or the filters exclude everything."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.cli.options import Flags
from holdfast.cli.output import count
from holdfast.errors import NotFound
from holdfast.services import services
from holdfast.text.clean import clean_name, fold

if TYPE_CHECKING:
    from holdfast.engine import Engine

_NAMES_LIMIT = 10_000
"""Maximum number of user names to compare with a mistyped one. In a store with more users, no hint is given."""


def unknown_user(memory: "Engine", user: str | None) -> str | None:
    """Return a hint if the store has no user with this name; otherwise None.

    An example is "There is no user 'anna' in this store. Did you mean 'ana'?". In a store with more than 10,000 users,
    return None.
    """
    name = clean_name(user, what="user")
    if name is None:
        return None
    names = services(memory).store.user_names(limit=_NAMES_LIMIT + 1)
    if name in names or len(names) > _NAMES_LIMIT:
        return None
    from difflib import get_close_matches  # noqa: PLC0415  (only after a typo)

    folded = {fold(each): each for each in names}
    near = get_close_matches(fold(name), folded, n=1)
    meant = f" Did you mean {folded[near[0]]!r}?" if near else ""
    return f"There is no user {name!r} in this store.{meant} Run `holdfast users list` to see all."


def check_user(memory: "Engine", user: str | None, *, outcome: str) -> None:
    """Raise NotFound with a hint if the store has no user with this name.

    ``outcome`` is added to the message, such as "Nothing was exported.".
    """
    hint = unknown_user(memory, user)
    if hint is not None:
        raise NotFound(f"{hint} {outcome}")


def nothing_found(memory: "Engine", flags: Flags, *, messages_searched: bool, filters: Mapping[str, Any]) -> str:
    """Return a text that explains why a list or a recall is empty.

    ``messages_searched`` is True if messages were also searched. ``filters`` are the command-line options that narrow
    the result.
    """
    stats = memory.stats()
    if not stats.memories and not (messages_searched and stats.messages):
        return 'There are no memories yet. Try: holdfast remember "prefers tea" --key drink'
    unknown = unknown_user(memory, flags.user)
    if unknown is not None:
        return unknown
    if flags.user is None and stats.users:
        whose = f"{count(stats.memories, 'memory')} of {count(stats.users, 'user')}"
        return f"No memory is shared by all users. The store holds {whose}: select one with --user."
    given = [f"--{name.replace('_', '-')}" for name, value in filters.items() if value]
    if given:
        return f"Nothing was found with {', '.join(given)}. Try again without {'it' if len(given) == 1 else 'them'}."
    scope = ", ".join(f"{part} {name!r}" for part, name in flags.scope.items() if name)
    whose = f" for {scope}" if scope else ""
    return f"Nothing was found{whose}. Run `holdfast stats` to see what the store holds."
