"""A clock that tests control."""

from datetime import UTC, datetime, timedelta

from holdfast.runtime.clock import as_utc


class FrozenClock:
    """A clock that stands still until it is set or advanced."""

    def __init__(self, now: datetime | str = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self._now = as_utc(now)

    def now(self) -> datetime:
        """Return the clock's current time."""
        return self._now

    def set(self, now: datetime | str) -> None:
        """Set the clock. It may go backwards."""
        self._now = as_utc(now)

    def advance(self, step: timedelta) -> datetime:
        """Advance the clock and return the new time."""
        self._now += step
        return self._now
