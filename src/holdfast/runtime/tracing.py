"""Tracing: records each operation as an OpenTelemetry span, and reports its duration to listeners.

Spans are named by OpenTelemetry's conventions for memory operations. They contain no messages, queries, memories or error
messages. If OpenTelemetry is not loaded and there are no listeners, the overhead is negligible and nothing is imported.
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
"""Function that is called after each successful operation, with the operation and its duration in seconds."""

_CONVENTION: Mapping[Operation, str] = {
    "recall": "search_memory",
    "context": "search_memory",
    "remember": "upsert_memory",
    "forget": "delete_memory",
    "digest": "upsert_memory",
}
"""Maps each operation to its name in OpenTelemetry's conventions, which is also the name of the span."""
_API = "opentelemetry.trace"
_listeners: list[Listener] = []


def listen(listener: Listener) -> Callable[[], None]:
    """Call ``listener`` after every operation in this process from now on. Return a function that removes the listener."""
    _listeners.append(listener)

    def stop() -> None:
        if listener in _listeners:
            _listeners.remove(listener)

    return stop


def watched(operation: Operation) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that measures each call of a function as ``operation``.

    Each call gets a tracing span, and its duration is passed to the listeners (see :func:`listen`).
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            api = sys.modules.get(_API)
            if api is None and not _listeners:
                return function(*args, **kwargs)
            started = time.perf_counter()
            result = function(*args, **kwargs) if api is None else _spanned(api, operation, function, *args, **kwargs)
            for listener in tuple(_listeners):
                listener(operation, time.perf_counter() - started)
            return result

        return call

    return decorate


def _spanned(api: Any, operation: Operation, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run an operation in its own span."""
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
    """Return the span attributes for the result of an operation: the number of memories and, for a single memory, its id."""
    hits = getattr(result, "hits", result)
    if isinstance(hits, Sized) and not isinstance(hits, str | bytes):
        return {"gen_ai.memory.record.count": len(hits)}
    if isinstance(hits, int):
        return {"gen_ai.memory.record.count": hits}
    id = getattr(result, "id", None)
    return {"gen_ai.memory.record.id": id, "gen_ai.memory.record.count": 1} if isinstance(id, str) else {}
