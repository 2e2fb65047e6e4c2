"""A clock that stands still until it is told otherwise."""

from datetime import UTC, datetime, timedelta

from holdfast.runtime.clock import as_utc


class FrozenClock:
    """The time a test says it is."""

    def __init__(self, now: datetime | str = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self._now = as_utc(now)

    def now(self) -> datetime:
        """Return the moment the clock was set to."""
        return self._now

    def set(self, now: datetime | str) -> None:
        """Set the clock, also backwards."""
        self._now = as_utc(now)

    def advance(self, step: timedelta) -> datetime:
        """Let time pass; returns the new moment."""
        self._now += step
        return self._now
