"""Checked access to the fields of a JSON object from a file. Errors name the place in the file."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.runtime.clock import as_utc
from holdfast.types.translatable import translatable

MAX_YEAR_SECONDS = 253_402_300_799
"""Seconds since 1970 at the end of the year 9999."""


class Fields:
    """The fields of a JSON object. ``place`` names the object in errors, such as ``line 7``."""

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidInput(
                translatable(
                    "import.not_object", "{place}: expected a JSON object, found {found}.", place=place, found=_name_of(value)
                )
            )
        self.values: Mapping[str, Any] = value
        self.place = place

    def fail(self, problem: str) -> InvalidInput:
        """Return an InvalidInput error that names the place in the file."""
        return InvalidInput(translatable("import.at", "{place}: {problem}", place=self.place, problem=problem))

    def text(self, name: str) -> str:
        """Return the text in a required field. The text can be empty."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self.fail(translatable("field.text", "{name!r} must be text, not {found}.", name=name, found=_name_of(value)))
        return value

    def name(self, name: str) -> str:
        """Return the text in a required field. Raise InvalidInput if it is blank."""
        value = self.text(name)
        if not value.strip():
            raise self.fail(translatable("field.empty", "{name!r} is empty.", name=name))
        return value

    def maybe(self, name: str) -> str | None:
        """Return the text in an optional field, or None if the field is missing."""
        return None if self.values.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts in an optional field that contains a list of texts. Return an empty tuple if the field is missing."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(each, str) for each in value):
            raise self.fail(translatable("field.texts", "{name!r} must be a list of texts.", name=name))
        return tuple(value)

    def number(self, name: str, default: float | None = None) -> float:
        """Return the number in a field. If the field is missing, return ``default``.

        Raise InvalidInput if the value is not a number, or if the field is missing and ``default`` is None.
        """
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(
                translatable("field.number", "{name!r} must be a number, not {found}.", name=name, found=_name_of(value))
            )
        return value

    def flag(self, name: str) -> bool:
        """Return the boolean in an optional field, or False if the field is missing."""
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise self.fail(
                translatable("field.boolean", "{name!r} must be true or false, not {found}.", name=name, found=_name_of(value))
            )
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """Return the JSON object in an optional field, or an empty dict if the field is missing."""
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.fail(
                translatable("field.object", "{name!r} must be an object, not {found}.", name=name, found=_name_of(value))
            )
        return dict(value)

    def objects(self, name: str) -> list["Fields"]:
        """Return the objects in an optional field that contains a list of objects. Return an empty list if the field is missing."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.fail(translatable("field.list", "{name!r} must be a list, not {found}.", name=name, found=_name_of(value)))
        return [Fields(each, f"{self.place}, {name}[{number}]") for number, each in enumerate(value)]

    def chosen(self, name: str, choices: Sequence[str], default: str | None = None) -> Any:
        """Return the text in a field, or ``default`` if the field is missing. Raise InvalidInput if it is not one of ``choices``."""
        value = self.values.get(name, default)
        if value not in choices:
            raise self.fail(
                translatable(
                    "field.choice",
                    "{name!r} must be one of {choices}, not {found!r}.",
                    name=name,
                    choices=", ".join(choices),
                    found=value,
                )
            )
        return value

    def time(self, name: str) -> datetime:
        """Return the time in a required field, given as ISO 8601 text or as seconds since 1970."""
        found = self.maybe_time(name)
        if found is None:
            raise self.fail(translatable("field.missing", "{name!r} is missing.", name=name))
        return found

    def maybe_time(self, name: str) -> datetime | None:
        """Return the time in an optional field, given as ISO 8601 text or as seconds since 1970. None if the field is missing."""
        try:
            return moment(self.values.get(name))
        except InvalidInput as error:
            raise self.fail(translatable("field.problem", "{name!r}: {problem}", name=name, problem=str(error))) from error


def moment(value: object) -> datetime | None:
    """Return a time from ISO 8601 text or from seconds since 1970. Return None for None or an empty text."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidInput(translatable("field.time", "{found} is not a time.", found=repr(value)))
    if isinstance(value, str):
        return as_utc(value.strip())
    if not 0 <= value <= MAX_YEAR_SECONDS:
        raise InvalidInput(translatable("field.seconds", "{found} is not a number of seconds since 1970.", found=str(value)))
    return datetime.fromtimestamp(value, UTC)


def digest(*parts: object) -> str:
    """Return a short hash of the given values. Used as the id of a record, so that the id does not depend on a file's name."""
    return hashlib.sha256("\n".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:16]


def _name_of(value: object) -> str:
    number = translatable("type.number", "a number")
    names = {
        type(None): translatable("type.nothing", "nothing"),
        str: translatable("type.text", "text"),
        bool: translatable("type.boolean", "a boolean"),
        int: number,
        float: number,
        list: translatable("type.list", "a list"),
    }
    return names.get(type(value), translatable("type.object", "an object"))
