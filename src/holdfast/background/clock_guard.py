"""Protects data from a wrong clock.

Purging cannot be undone, so a clock that jumps ahead must not cause it. The store records the time up to which the clock is
trusted. Data is purged according to that time, not according to the clock. If the clock jumps ahead by more than seven days,
the trusted time stands still. It moves on when the clock has run for three more days, or when a person confirms the clock.
Expired memories are still hidden according to the clock.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.errors import StoreError
from holdfast.protocols import Clock, MemoryFilter, SessionFilter, Store
from holdfast.types import Finding
from holdfast.types.translatable import translatable

log = logging.getLogger("holdfast")
_RECORD = "clock"
"""Name of the store setting with the trusted time."""
_MAX_GAP = timedelta(days=7)
"""Longest time between two uses of a store that does not count as a jump."""
_AGREEMENT = timedelta(days=3)
"""Time for which the clock must run on after a jump ahead before the new time is trusted."""
_TOLERANCE = timedelta(hours=2)
"""If the clock goes back by more than this after a jump ahead, the jump was wrong."""
_PRECISION = timedelta(hours=1)
"""The clock record in the store is updated only if it changes by at least this much."""


@dataclass(frozen=True, slots=True)
class ClockRecord:
    """The trusted time of a store, and the time of an unconfirmed jump of the clock.

    Normally, ``trusted`` is the time that the clock showed last, and ``jumped_to`` is None. After a jump, ``trusted``
    is the last time before the jump, and ``jumped_to`` is the time that the clock showed after the jump.
    """

    trusted: datetime
    jumped_to: datetime | None = None


def observe(record: ClockRecord, now: datetime) -> ClockRecord:
    """Return the new clock record after the clock has shown the time ``now``.

    Normally, ``now`` becomes the trusted time. If ``now`` is more than seven days after the trusted time, ``now`` is recorded
    as a jump, and the trusted time stays. The jump is accepted when the clock has run on for three days. It is dropped when
    the clock goes back.
    """
    trusted, jumped_to = record.trusted, record.jumped_to
    if jumped_to is not None:
        if now < jumped_to - _TOLERANCE:
            jumped_to = None  # the clock went back, so the jump was wrong
        elif now - jumped_to < _AGREEMENT:
            return record
        else:
            trusted, jumped_to = jumped_to, None
    return ClockRecord(trusted, now) if now - trusted > _MAX_GAP else ClockRecord(now)


class ClockGuard:
    """Keeps the trusted time of a store: reads it, updates it from the clock, and checks the clock against it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def trusted_now(self) -> datetime:
        """Read the clock, update the ``ClockRecord`` in the store, and return the trusted time.

        Purging must use this time instead of the clock.
        """
        before = self._read()
        after = observe(before, self._clock.now())
        if after.jumped_to is not None and before.jumped_to is None:
            log.warning("%s", _explained(after))
        self._write(after, unless=lambda stored: stored is not None and _is_close(stored, after))
        return after.trusted

    def confirm(self) -> datetime:
        """Record the current time as trusted, because a person has confirmed that the clock is right. Return the time."""
        now = self._clock.now()
        self._write(ClockRecord(now))
        return now

    def check(self) -> Finding:
        """Return a finding for ``holdfast doctor``. It says whether the clock has jumped ahead of the trusted time."""
        record = observe(self._read(), self._clock.now())
        if record.jumped_to is None:
            return Finding(check="clock", ok=True, detail=translatable("clock.ok", "agrees with the store"))
        remedy = translatable(
            "clock.trust", "If the date is right: holdfast doctor --trust-clock. Otherwise set the clock; nothing was lost."
        )
        return Finding(check="clock", ok=False, detail=_explained(record), remedy=remedy)

    def _read(self) -> ClockRecord:
        stored = _parse(self._store.setting(_RECORD))
        return stored or ClockRecord(self._last_use() or self._clock.now())

    def _last_use(self) -> datetime | None:
        """Return the time of the newest session or memory. This time is trusted if the store has no clock record yet."""
        sessions = self._store.sessions(SessionFilter(limit=1))
        memories = self._store.memories(MemoryFilter(statuses=None, limit=1))
        times = [session.last_at for session in sessions] + [memory.updated_at for memory in memories]
        return max(times, default=None)

    def _write(self, record: ClockRecord, *, unless: Callable[[ClockRecord | None], bool] = lambda stored: False) -> None:
        if unless(_parse(self._store.setting(_RECORD))):
            return
        try:
            with self._store.write(durable=False) as tx:
                tx.set_setting(_RECORD, _format(record))
        except StoreError as error:  # a full disk must not keep a store from being opened
            log.warning("The record of the clock could not be written: %s", error)


def _is_close(stored: ClockRecord, record: ClockRecord) -> bool:
    return stored.jumped_to == record.jumped_to and abs(record.trusted - stored.trusted) < _PRECISION


def _explained(record: ClockRecord) -> str:
    return translatable(
        "clock.jumped",
        "The clock jumped from {start} to {end}. Nothing is purged until it agrees for {n} days or you confirm it",
        start=f"{record.trusted:%Y-%m-%d}",
        end=f"{record.jumped_to:%Y-%m-%d}",
        n=_AGREEMENT.days,
    )


def _format(record: ClockRecord) -> str:
    jumped_to = record.jumped_to.isoformat() if record.jumped_to else None
    return json.dumps({"trusted": record.trusted.isoformat(), "jumped_to": jumped_to})


def _parse(stored: str | None) -> ClockRecord | None:
    if stored is None:
        return None
    try:
        fields = json.loads(stored)
        jumped_to = fields["jumped_to"]
        return ClockRecord(
            datetime.fromisoformat(fields["trusted"]), None if jumped_to is None else datetime.fromisoformat(jumped_to)
        )
    except (ValueError, KeyError, TypeError):  # a damaged record is replaced
        return None
