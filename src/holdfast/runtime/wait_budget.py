"""The time that a recall may wait for models and indexes, and notices about the models and indexes that it could not use.

The budget belongs to the current context (:mod:`contextvars`). Code outside a recall, such as a background job, has no
budget: it waits as long as the model's own timeout allows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class WaitBudget:
    """Limits how long one recall may wait for models and indexes, and collects notices about those that it could not use."""

    def __init__(self, seconds: float) -> None:
        self.limit = seconds
        """Time that the recall may wait in total, in seconds."""
        self._waited = 0.0
        self._notices: dict[str, None] = {}

    @property
    def remaining(self) -> float:
        """Seconds that the recall may still wait."""
        return max(0.0, self.limit - self._waited)

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages for people about models and indexes that the recall could not use. Each message is listed once."""
        return tuple(self._notices)

    def spend(self, seconds: float) -> None:
        """Record time that was spent waiting."""
        self._waited += seconds

    def note(self, notice: str) -> None:
        """Add a notice."""
        self._notices[notice] = None


_current: ContextVar[WaitBudget | None] = ContextVar("holdfast_wait_budget", default=None)


def current_budget() -> WaitBudget | None:
    """Return the budget of the current recall, or None outside a recall."""
    return _current.get()


@contextmanager
def wait_budget(seconds: float) -> Iterator[WaitBudget]:
    """Limit the waiting time of a recall that runs inside the ``with`` block.

    If this recall runs inside another recall, both share the budget of the outer one.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    token = _current.set(budget := WaitBudget(seconds))
    try:
        yield budget
    finally:
        _current.reset(token)


def note(notice: str) -> None:
    """Add a notice to the current recall. Outside a recall, do nothing."""
    budget = _current.get()
    if budget is not None:
        budget.note(notice)
