"""Energy: what memory work draws, and waiting with it while there is little left.

A robot or a battery-run assistant says how full it is. Under a fifth, background work stays queued, and goes on
when there is more again; nothing is lost by waiting.
"""

import logging
import threading
from collections.abc import Callable

from holdfast.chat import Usage
from holdfast.protocols import Store

log = logging.getLogger("holdfast")

LEAST = 0.2
"""The level under which work waits."""
_PER_CALL = {"digest": 12.0, "compact": 25.0, "split": 25.0, "rollup": 15.0, "base": 20.0}
_BY_RULES = 0.1


def energy_of(kind: str, usage: Usage) -> float:
    """Return what a job of this kind has drawn, in units: a call to a model is what counts."""
    return _PER_CALL.get(kind, 10.0) * usage.calls if usage.calls else _BY_RULES


class Energy:
    """Whether there is energy for memory work, and how much of it that has drawn."""

    def __init__(self, store: Store, level: Callable[[], float] | None = None) -> None:
        self._store = store
        self._level = level
        self._lock = threading.Lock()
        self._polled = self.consumed() if level is not None else 0.0
        self._waiting = False

    def level(self) -> float:
        """Return how full the host says it is, 0 to 1; one that does not say is full."""
        if self._level is None:
            return 1.0
        try:
            return max(0.0, min(1.0, float(self._level())))
        except Exception:  # the edge to the host's code: not knowing must not stop memory for good
            log.exception("The host could not say how much energy is left; taking it for full")
            return 1.0

    def suffices(self) -> bool:
        """Tell whether there is enough for background work; says so once each time it begins to wait."""
        enough = self.level() >= LEAST
        if not enough and not self._waiting:
            log.info("Energy is under %d%%: memory work waits", LEAST * 100)
        self._waiting = not enough
        return enough

    def consumed(self) -> float:
        """Return the units memory work has drawn since the store was made."""
        return sum(spend.energy for spend in self._store.spend())

    def consumed_since_last_poll(self) -> float:
        """Return the units drawn since this was last asked, or since the store was opened."""
        with self._lock:
            total = self.consumed()
            since, self._polled = total - self._polled, total
        return since
