"""Regular expressions that are compiled when they are first used.

Holdfast has several hundred of them, and most processes use a few. Compiling all of them would take a third of the time that a
command needs to start. A server compiles them after its start (:func:`compile_all`), so that the first background job does not
slow down requests.
"""

import re
import weakref
from typing import Any, Final, cast

from holdfast.runtime.priority import with_pauses

_ATTRIBUTES: Final = (
    "finditer", "findall", "flags", "fullmatch", "groupindex", "groups", "match", "pattern", "search", "split", "sub", "subn",
)  # fmt: skip


class _Regex:
    """A regular expression that is compiled when it is first used. It has the attributes of a compiled pattern.

    The first use stores these attributes in this object, so later uses do not call ``__getattr__``.
    """

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compile(), name)

    def compile(self) -> re.Pattern[str]:
        """Compile the pattern, and store its attributes in this object."""
        compiled = re.compile(self._source, self._flags)
        self.__dict__.update((attribute, getattr(compiled, attribute)) for attribute in _ATTRIBUTES)
        return compiled


_made: "weakref.WeakSet[_Regex]" = weakref.WeakSet()


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used. It has the methods of ``re.compile(source, flags)``.

    A mistake in the source is reported at the first use, not by this function. Functions of ``re``, such as ``re.sub``, do
    not accept this pattern.
    """
    made = _Regex(source, flags)
    _made.add(made)
    return cast("re.Pattern[str]", made)


def compile_all() -> None:
    """Compile all patterns of the loaded modules that were not used yet.

    In a thread with low priority, pause between two patterns while short requests run.
    """
    for pattern in with_pauses(list(_made)):
        if "match" not in vars(pattern):
            pattern.compile()
