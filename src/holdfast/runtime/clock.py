"""The system clock, and parsing of times and time zones."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from holdfast.errors import InvalidInput
from holdfast.types.translatable import translatable


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


def as_utc(moment: datetime | str, *, what: str = "time") -> datetime:
    """Return a time in UTC. Text is parsed as ISO 8601. A time without a zone is treated as UTC.

    Raise ``InvalidInput`` if the time is not valid. ``what`` is the name of the time in the error message.
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise InvalidInput(
                f"{what} {moment!r} is not an ISO 8601 date or time. Write it like 2026-03-01 or 2026-03-01T14:30."
            ) from error
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{what} must be a datetime or ISO 8601 text, not {type(moment).__name__}.")
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise InvalidInput(f"{what} {moment} is outside the years 1 to 9999.") from error


def zone(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidInput(
            translatable("user.zone", "{name!r} is not a time zone; use an IANA name such as Europe/Madrid.", name=name)
        ) from error


def end_of_day(moment: datetime, timezone: str) -> datetime:
    """Return the end of the local day that contains ``moment``, as a time in UTC."""
    local = moment.astimezone(zone(timezone))
    midnight = datetime.combine(local.date() + timedelta(days=1), time.min, tzinfo=local.tzinfo)
    return midnight.astimezone(UTC)
