"""Slashes in ids and names that are part of a path, such as ``/apps/github.com%2Facme%2Fshop/memories``.

ASGI servers decode a path before it is matched with the routes. An encoded slash would then separate two parts of the path.
So each encoded slash is replaced by a mark before the path is matched. After that, each mark in a matched part becomes a
slash again.
"""

import re
from collections.abc import Iterable, MutableMapping
from typing import Any
from urllib.parse import quote, unquote

from starlette.convertors import Convertor
from starlette.routing import BaseRoute, Route

_ENCODED_SLASH = re.compile("%2f", re.IGNORECASE)
_MARK = "\uffff"
"""Stands for an encoded slash. Unicode assigns no character to this code point, so no name contains it."""


class _WithSlashes(Convertor[Any]):
    """A converter of a path parameter that turns each ``_MARK`` (see :func:`mark_slashes`) back into a slash."""

    regex = ".*"  # not used: the regular expression of a route is made before its converters are replaced

    def __init__(self, inner: Convertor[Any]) -> None:
        self._inner = inner

    def convert(self, value: str) -> Any:
        return self._inner.convert(value.replace(_MARK, "/"))

    def to_string(self, value: Any) -> str:
        return self._inner.to_string(value)


def accept_encoded_slashes(routes: Iterable[BaseRoute]) -> None:
    """Let the path parameters of routes contain encoded slashes. The routes are changed in place.

    :func:`mark_slashes` must have replaced the slashes in the path of the request.
    """
    for route in routes:
        if isinstance(route, Route):
            for name, convertor in route.param_convertors.items():
                if not isinstance(convertor, _WithSlashes):
                    route.param_convertors[name] = _WithSlashes(convertor)


def mark_slashes(scope: MutableMapping[str, Any]) -> None:
    """Replace each encoded slash (``%2F``) in the path of a request by the character ``_MARK``.

    Otherwise the decoded slash would separate two parts of the path. ``scope`` is the ASGI scope of the request.
    """
    raw = (scope.get("raw_path") or b"").decode("latin-1")
    if _ENCODED_SLASH.search(raw) and unquote(raw) == scope["path"]:
        scope["path"] = unquote(_ENCODED_SLASH.sub(quote(_MARK), raw))
