"""English texts that a user interface can show in another language."""

from collections.abc import Mapping
from typing import Any, Self, TypeAlias

Value: TypeAlias = str | int | float
"""A value inside a text. It may be a translatable text itself."""


class Translatable(str):
    """An English text with a code and values.

    It is used like any other string. A user interface in another language has its own template for the code, and fills
    in the values. Formatting, joining and cutting return plain strings without a code.
    """

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, Value]

    def __new__(cls, text: str, code: str, values: Mapping[str, Value]) -> Self:
        """Create a text. ``text`` is the complete English text; ``code`` and ``values`` are for translations."""
        made = super().__new__(cls, text)
        made.code, made.values = code, dict(values)
        return made

    def __str__(self) -> str:
        """Return this object itself, not a plain string. So ``str(error)`` keeps the code if the error's text is translatable."""
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the arguments for creating a copy, used by ``copy`` and ``pickle``."""
        return (str.__str__(self), self.code, self.values)


def translatable(code: str, template: str, /, **values: Value) -> Translatable:
    """Create a translatable text. ``template`` is in English, with the names of the values in braces.

    ``code`` names the text in the translations. Texts with the same code mean the same and have values of the same names.
    Their templates may differ, for example in singular and plural.
    """
    return Translatable(template.format_map(values), code, values)


def text_code(text: str | None) -> dict[str, Any] | None:
    """Return the code and values of a text as JSON values, or None if the text has no code.

    A value that is a translatable text becomes an object with its ``text``, ``code`` and ``values``.
    """
    if not isinstance(text, Translatable):
        return None
    values = {name: _encode(value) for name, value in text.values.items()}
    return {"code": text.code, "values": values}


def _encode(value: Value) -> Any:
    code = text_code(value) if isinstance(value, str) else None
    return {"text": str.__str__(value), **code} if isinstance(value, str) and code else value


def with_code(text: str, code: Mapping[str, Any] | None) -> str:
    """Rebuild a text from its English words and the result of :func:`text_code`."""
    if code is None:
        return text
    return Translatable(text, str(code["code"]), {name: _decode(value) for name, value in code["values"].items()})


def _decode(value: Any) -> Value:
    if isinstance(value, Mapping):
        return with_code(str(value["text"]), value)
    return value if isinstance(value, str | int | float) else str(value)


def without(text: str, part: str) -> str:
    """Return ``text`` with every occurrence of ``part`` removed.

    If the text is translatable, ``part`` is also removed from its values.
    """
    short = text.replace(part, "")
    if not isinstance(text, Translatable):
        return short
    values = {name: without(value, part) if isinstance(value, str) else value for name, value in text.values.items()}
    return Translatable(short, text.code, values)
