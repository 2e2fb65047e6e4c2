"""Energy: what memory work draws, and waiting with it while there is little left or memory has had its share.

A robot or a battery-run assistant says how full it is. Under a fifth, background work stays queued, and goes on
when there is more again; nothing is lost by waiting. A host may also tell what it has used in all: then memory keeps
to its share of that, and work that would ask a model waits until the share allows it. Rules draw next to nothing
and go on.
"""

import json
import logging
import math
import threading
from collections.abc import Callable, Collection

from holdfast.chat import Usage
from holdfast.errors import InvalidInput
from holdfast.protocols import Reads, Store

log = logging.getLogger("holdfast")

MIN_LEVEL = 0.2
"""The level under which work waits."""
MAX_SHARE = 0.05
"""The part of all energy that memory may draw."""
_PER_CALL = {"digest": 12.0, "compact": 25.0, "split": 25.0, "rollup": 15.0, "base": 20.0}
_DEFAULT_PER_CALL = 10.0
_BY_RULES = 0.1
_REPORTED = "energy"
"""The setting that keeps what the host has reported, and what memory had drawn before the first report."""


def energy_of(kind: str, usage: Usage) -> float:
    """Return what a job of this kind has drawn, in units: a call to a model is what counts."""
    return _PER_CALL.get(kind, _DEFAULT_PER_CALL) * usage.calls if usage.calls else _BY_RULES


class Energy:
    """Whether there is energy for memory work, how much of it that has drawn, and what part of all that is."""

    def __init__(
        self,
        store: Store,
        level: Callable[[], float] | None = None,
        *,
        asks_model: bool = True,
        max_share: float = MAX_SHARE,
    ) -> None:
        self.max_share = max_share
        self._store = store
        self._level = level
        self._asks_model = asks_model
        self._lock = threading.Lock()
        self._polled = self.consumed()
        self._waits_for: str | None = None

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
        """Tell whether the host is full enough for background work."""
        return self.level() >= MIN_LEVEL

    def affordable(self, kinds: Collection[str]) -> list[str]:
        """Return the kinds of work that need not wait; says so once each time some begin to."""
        if not self.suffices():
            self._note(f"Energy is under {MIN_LEVEL:.0%}: memory work waits")
            return []
        room = self._room()
        allowed = [kind for kind in kinds if _PER_CALL.get(kind, _DEFAULT_PER_CALL) <= room]
        self._note(None if len(allowed) == len(kinds) else f"Memory has had its {self.max_share:.0%} of all energy: work waits")
        return allowed

    def _room(self) -> float:
        """Return the units memory may still draw within its share; no limit where nothing is told or no model is asked."""
        reported = _reported(self._store)
        if reported is None or not self._asks_model:
            return math.inf
        used, before = reported
        return self.max_share * used - (self.consumed() - before)

    def _note(self, reason: str | None) -> None:
        if reason is not None and reason != self._waits_for:
            log.info(reason)
        self._waits_for = reason

    def used(self, units: float) -> None:
        """Take in what the host has used in all since it last told, memory's own work included."""
        if isinstance(units, bool) or not isinstance(units, int | float) or not math.isfinite(units) or units < 0:
            raise InvalidInput(f"Energy is told as a number of units from 0 up, not {units!r}.")
        with self._store.write(durable=False) as tx:
            used, before = _reported(tx) or (0.0, _drawn(tx))
            tx.set_setting(_REPORTED, json.dumps([used + units, before]))

    def share(self) -> float | None:
        """Return what part of all energy memory has drawn since the host first told; None before that."""
        reported = _reported(self._store)
        if reported is None:
            return None
        used, before = reported
        drawn = self.consumed() - before
        return drawn / max(used, drawn) if drawn else 0.0

    def consumed(self) -> float:
        """Return the units memory work has drawn since the store was made."""
        return _drawn(self._store)

    def by_operation(self, *, since: str = "") -> dict[str, float]:
        """Return the units each sort of work has drawn, from a day (``2026-03-01``) on: ``digest`` makes memories."""
        drawn: dict[str, float] = {}
        for spend in self._store.spend(since=since):
            drawn[spend.purpose] = drawn.get(spend.purpose, 0.0) + spend.energy
        return drawn

    def consumed_since_last_poll(self) -> float:
        """Return the units drawn since this was last asked, or since the store was opened."""
        with self._lock:
            total = self.consumed()
            since, self._polled = total - self._polled, total
        return since


def _drawn(reads: Reads) -> float:
    return sum(spend.energy for spend in reads.spend())


def _reported(reads: Reads) -> tuple[float, float] | None:
    """Return what the host has used since it first told, and what memory had drawn before that."""
    stored = reads.setting(_REPORTED)
    if stored is None:
        return None
    used, before = json.loads(stored)
    return float(used), float(before)
