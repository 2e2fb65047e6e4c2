"""Regular expressions that are compiled when they are first used.

Holdfast has several hundred of them, and most processes use a few. Compiling all of them would take a third of the time that a
command needs to start.
"""

import re
from typing import Any, Final, cast

_ATTRIBUTES: Final = (
    "finditer", "findall", "flags", "fullmatch", "groupindex", "groups", "match", "pattern", "search", "split", "sub", "subn",
)  # fmt: skip


class _Regex:
    """Looks like a compiled pattern.

    The first use compiles it and stores the attributes of the compiled pattern here, so later uses do not call ``__getattr__``.
    """

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        self.__dict__.update((attribute, getattr(compiled, attribute)) for attribute in _ATTRIBUTES)
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern with the methods of ``re.compile(source, flags)``, which is compiled when it is first used.

    A mistake in the source is reported at that use, not here. The functions of ``re``, such as ``re.sub``, do not take it.
    """
    return cast("re.Pattern[str]", _Regex(source, flags))
