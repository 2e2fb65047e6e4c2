"""Messages about components that a recall could not use, such as the embedder, in the same words in every interface.

A notice is a sentence for people. The Python API, the command line, HTTP, MCP, ``/health`` and ``holdfast doctor`` all show
the same sentence.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from holdfast.runtime.wait_budget import wait_budget
from holdfast.types import Context, Hit, Hits
from holdfast.types.translatable import translatable

P = ParamSpec("P")

RECALL_TIMEOUT: Final = 0.3
"""Default maximum time in seconds that a recall waits for models and indexes outside this process."""


def words_only(problem: str) -> str:
    """Return the notice that a query was searched by words and not by meaning. ``problem`` is the reason."""
    return translatable("notice.words_only", f"Searched by words only: {{problem}}{_full_stop(problem)}", problem=problem)


def not_embedded_yet(count: int) -> str:
    """Return the notice that ``count`` items have no vectors yet and can only be found by words."""
    items = "1 item is" if count == 1 else "{n:,} items are"
    return translatable("notice.not_embedded", f"{items} not searchable by meaning yet.", n=count)


def embedding_again(model: str) -> str:
    """Return the notice that a model's vectors are being computed again because the stored ones no longer match."""
    return translatable(
        "notice.embedding_again",
        "{model} returns other vectors than before under the same name, so all texts are embedded again. "
        "Until that is done, some are found by words only.",
        model=model,
    )


def not_reranked(problem: str) -> str:
    """Return the notice that hits were not reranked. ``problem`` is the reason."""
    return translatable("notice.not_reranked", f"Not reranked: {{problem}}{_full_stop(problem)}", problem=problem)


def _full_stop(problem: str) -> str:
    return "" if problem.endswith((".", "!", "?")) else "."


class _Limited(Protocol):
    """An object whose recalls have a time limit."""

    recall_timeout: float


S = TypeVar("S", bound=_Limited)


def with_hit_notices(recall: "Callable[Concatenate[S, P], list[Hit]]") -> "Callable[Concatenate[S, P], Hits]":
    """Decorate a recall: limit the time that it may wait for models, and add its notices to the hits."""

    @wraps(recall)
    def limited(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Hits:
        with wait_budget(self.recall_timeout) as budget:
            hits = recall(self, *args, **kwargs)
            return Hits(hits, notices=budget.notices)

    return limited


def with_context_notices(context: "Callable[Concatenate[S, P], Context]") -> "Callable[Concatenate[S, P], Context]":
    """Decorate a function that builds a context block: limit the time that it may wait, and add its notices to the block."""

    @wraps(context)
    def limited(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Context:
        with wait_budget(self.recall_timeout) as budget:
            block = context(self, *args, **kwargs)
            return replace(block, notices=budget.notices) if budget.notices else block

    return limited
