"""Energy limits for memory work, which is the work of Holdfast's background jobs.

A battery-powered host reports its battery level. Below 20%, background work stays queued until the level rises. A host
may also report its total energy use. Memory work is then limited to a share of the total, and jobs that need a model
wait until the share allows them. Jobs that use only rules need almost no energy and keep running. Energy is counted in
abstract units: a model call of a digest counts as 12.
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
"""Battery level, from 0 to 1, below which background work waits."""
MAX_SHARE = 0.05
"""Maximum share of the host's energy that memory work (Holdfast's background jobs) may use."""
_UNITS_PER_CALL = {"digest": 12.0, "compact": 25.0, "split": 25.0, "rollup": 15.0, "base": 20.0}
"""Energy units per model call, by kind of job."""
_DEFAULT_UNITS_PER_CALL = 10.0
_UNITS_BY_RULES = 0.1
"""Energy units of a job without model calls."""
_REPORTED = "energy"
"""Name of the setting that stores two amounts of energy, in units.

The first is the total that the host has reported. The second is what memory work had used before the first report.
"""


_REPORTED_LEVEL = "energy-level"
"""Name of the setting that stores the battery level that the host has reported."""


def energy_of(kind: str, usage: Usage) -> float:
    """Return the energy units that a job of this kind has used, computed from the number of model calls in ``usage``.

    A job without model calls used only rules, which cost a fixed number of units.
    """
    return _UNITS_PER_CALL.get(kind, _DEFAULT_UNITS_PER_CALL) * usage.calls if usage.calls else _UNITS_BY_RULES


class Energy:
    """Tracks the battery level of the host and the energy use of memory work, which is Holdfast's background work."""

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
        """Return the host's battery level from 0 to 1. Return 1 if the host does not report a level."""
        if self._level is None:
            reported = self._store.setting(_REPORTED_LEVEL)
            return 1.0 if not reported else float(reported)
        try:
            return max(0.0, min(1.0, float(self._level())))
        except Exception:  # the host's callback may raise anything; memory work must not stop for good
            log.exception("The host's energy callback failed. Assuming a full battery")
            return 1.0

    def report_level(self, level: float | None) -> None:
        """Store the battery level for all processes that use the store. If ``level`` is None, remove the stored level.

        If the host gave a function for the level (the argument ``energy`` of ``holdfast.open``), that function is used
        instead of the stored level.
        """
        if level is not None and (isinstance(level, bool) or not isinstance(level, int | float) or not 0 <= level <= 1):
            raise InvalidInput(f"The battery level must be a number from 0 to 1, not {level!r}.")
        with self._store.write(durable=False) as tx:
            tx.set_setting(_REPORTED_LEVEL, "" if level is None else str(float(level)))

    def suffices(self) -> bool:
        """Return True if the battery level is high enough for background work."""
        return self.level() >= MIN_LEVEL

    def affordable(self, kinds: Collection[str]) -> list[str]:
        """Return the kinds of jobs that may run now. Log once when jobs start to wait.

        No job may run while the battery is low. A kind of job must also wait if one model call for it would exceed the share
        of the host's energy that memory work may use.
        """
        if not self.suffices():
            self._note(f"The battery is below {MIN_LEVEL:.0%}. Background work waits")
            return []
        room = self._room()
        allowed = [kind for kind in kinds if _UNITS_PER_CALL.get(kind, _DEFAULT_UNITS_PER_CALL) <= room]
        self._note(
            None
            if len(allowed) == len(kinds)
            else f"Memory has used its {self.max_share:.0%} of all energy. Background work waits"
        )
        return allowed

    def _room(self) -> float:
        """Return the energy units that memory work may still use.

        Return infinity if the host reports no energy use, or if memory work uses no model.
        """
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
        """Add to the total energy use of the host. ``units`` is the energy that the host has used since its last report.

        The host's energy use includes the energy that memory work has used.
        """
        if isinstance(units, bool) or not isinstance(units, int | float) or not math.isfinite(units) or units < 0:
            raise InvalidInput(f"Energy must be a number of units from 0 up, not {units!r}.")
        with self._store.write(durable=False) as tx:
            used, before = _reported(tx) or (0.0, _consumed(tx))
            tx.set_setting(_REPORTED, json.dumps([used + units, before]))

    def share(self) -> float | None:
        """Return memory work's share of all energy used since the host's first report.

        Return None if the host has not reported.
        """
        reported = _reported(self._store)
        if reported is None:
            return None
        used, before = reported
        consumed = self.consumed() - before
        return consumed / max(used, consumed) if consumed else 0.0

    def consumed(self) -> float:
        """Return the energy units that memory work has used since the store was created."""
        return _consumed(self._store)

    def by_operation(self, *, since: str = "") -> dict[str, float]:
        """Return the energy units that each kind of job has used, starting with the day ``since`` (such as ``2026-03-01``)."""
        units: dict[str, float] = {}
        for spend in self._store.spend(since=since):
            units[spend.purpose] = units.get(spend.purpose, 0.0) + spend.energy
        return units

    def consumed_since_last_poll(self) -> float:
        """Return the energy units that memory work has used since the last call, or since the store was opened."""
        with self._lock:
            total = self.consumed()
            since, self._polled = total - self._polled, total
        return since


def _consumed(reads: Reads) -> float:
    return sum(spend.energy for spend in reads.spend())


def _reported(reads: Reads) -> tuple[float, float] | None:
    """Return two amounts of energy, in units. Return None if the host has not reported any energy.

    The first is the total that the host reported. The second is the energy that memory work had used before the host's
    first report.
    """
    stored = reads.setting(_REPORTED)
    if stored is None:
        return None
    used, before = json.loads(stored)
    return float(used), float(before)
