"""Parse the options of ``holdfast hook`` and ``holdfast mcp`` without the packages that the command line needs."""

import os
from typing import Final, NamedTuple

from holdfast.resident.endpoint import StoreOptions

_SCOPE: Final = ("user", "app", "agent")
_STORE: Final = ("store", "preset", "settings", "tenant")
_VALUES: Final = frozenset((*_SCOPE, *_STORE, "env-file", "client", "wait"))
_FLAGS: Final = frozenset(("project", "shared"))


class Arguments(NamedTuple):
    """The parsed arguments of ``holdfast hook``, ``holdfast mcp`` or the resident process."""

    positional: tuple[str, ...]
    values: dict[str, str]
    flags: frozenset[str]

    @property
    def scope(self) -> dict[str, str | bool | None]:
        """The requested scope, as sent to the resident process: user, app, agent, and the flags ``project`` and ``shared``."""
        flags = {flag: flag in self.flags for flag in ("project", "shared")}
        return {**{part: self.values.get(part) for part in _SCOPE}, **flags}

    @property
    def options(self) -> StoreOptions:
        """The options that select a store, with absolute paths."""
        given = {name: self.values.get(name) for name in _STORE}
        return StoreOptions(
            store=absolute(given["store"]),
            preset=given["preset"],
            settings=absolute(given["settings"]),
            tenant=given["tenant"],
        )


def parse(words: list[str]) -> Arguments | None:
    """Parse the words of a command line. Return None if an option is unknown or has no value.

    This parser is small, so that it starts quickly. If it returns None, the caller runs the complete command line, which
    explains errors.
    """
    positional: list[str] = []
    values: dict[str, str] = {}
    flags: set[str] = set()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("-"):
            positional.append(word)
        elif word.startswith("--") and name in _FLAGS and not equals:
            flags.add(name)
        elif word.startswith("--") and name in _VALUES:
            given = value if equals else next(rest, None)
            if not given:
                return None
            values[name] = given
        else:
            return None
    return Arguments(positional=tuple(positional), values=values, flags=frozenset(flags))


def absolute(path: str | None) -> str | None:
    """Return an absolute path. A URL is returned unchanged."""
    return path if path is None or "://" in path else os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
