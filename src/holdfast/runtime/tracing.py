"""Watching operations: spans for OpenTelemetry, after its conventions for memory, and times for whoever counts them.

Nothing is imported and next to nothing is done while nobody watches: a program that traces has OpenTelemetry's API
loaded already. What was said, asked or remembered is never part of a span, nor is an error's message.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sized
from functools import cache, wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

from holdfast.errors import HoldfastError

P = ParamSpec("P")
R = TypeVar("R")
Operation: TypeAlias = Literal["recall", "context", "remember", "forget", "digest"]
Listener: TypeAlias = Callable[[Operation, float], None]
"""Told of each operation that ended well, and the seconds it took."""

_CONVENTION: Mapping[Operation, str] = {
    "recall": "search_memory",
    "context": "search_memory",
    "remember": "upsert_memory",
    "forget": "delete_memory",
    "digest": "upsert_memory",
}
"""What the conventions call each operation, which is the span's name as well."""
_API = "opentelemetry.trace"
_listeners: list[Listener] = []


def listen(listener: Listener) -> Callable[[], None]:
    """Tell a listener of every operation in this process from now on; returns what ends that."""
    _listeners.append(listener)

    def stop() -> None:
        if listener in _listeners:
            _listeners.remove(listener)

    return stop


def watched(operation: Operation) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make an operation one that can be watched."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            api = sys.modules.get(_API)
            if api is None and not _listeners:
                return function(*args, **kwargs)
            began = time.perf_counter()
            result = function(*args, **kwargs) if api is None else _spanned(api, operation, function, *args, **kwargs)
            for listener in tuple(_listeners):
                listener(operation, time.perf_counter() - began)
            return result

        return call

    return decorate


def _spanned(api: Any, operation: Operation, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run an operation in a span of its own."""
    name = _CONVENTION[operation]
    attributes = {"gen_ai.operation.name": name, "holdfast.operation": operation}
    with _tracer(api).start_as_current_span(
        name, kind=api.SpanKind.INTERNAL, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            span.set_attribute("error.type", error.code if isinstance(error, HoldfastError) else type(error).__name__)
            span.set_status(api.StatusCode.ERROR)
            raise
        if span.is_recording():
            span.set_attributes(_outcome(result))
    return result


@cache
def _tracer(api: Any) -> Any:
    return api.get_tracer("holdfast")


def _outcome(result: object) -> dict[str, str | int]:
    """Return what may be told of a result: how many memories, or which one."""
    hits = getattr(result, "hits", result)
    if isinstance(hits, Sized) and not isinstance(hits, str | bytes):
        return {"gen_ai.memory.record.count": len(hits)}
    if isinstance(hits, int):
        return {"gen_ai.memory.record.count": hits}
    id = getattr(result, "id", None)
    return {"gen_ai.memory.record.id": id, "gen_ai.memory.record.count": 1} if isinstance(id, str) else {}
