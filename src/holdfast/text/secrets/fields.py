"""Redact the fields of a memory or message, and report what was replaced."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.text.clean import clean_metadata, clean_name, clean_tags, clean_text
from holdfast.text.secrets.redact import redact
from holdfast.types import Memory, Put, Redaction


class Redactor:
    """Redacts the fields of one write. ``found`` lists what was replaced."""

    def __init__(self) -> None:
        self._found: dict[Redaction, None] = {}

    @property
    def found(self) -> tuple[Redaction, ...]:
        """The secrets that were replaced, in the order of the fields."""
        return tuple(self._found)

    def text(self, field: str, value: str, *, label: str | None = None) -> str:
        """Return a text without secrets.

        The label stands before the text: after the label "password", the text "sunshine" is a secret.
        """
        whole = redact(f"{label}: {value}") if label else None
        if whole is not None and whole.text.startswith(f"{label}: "):
            return self._replaced(field, whole.text.removeprefix(f"{label}: "), whole.found)
        alone = redact(value)
        return self._replaced(field, alone.text, alone.found)

    def name(self, field: str, value: str | None) -> str | None:
        """Return a name without secrets. None stays None."""
        return None if value is None else self.text(field, value)

    def metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return metadata without secrets in its names and values. Two names that become equal get numbers."""
        redacted: dict[str, Any] = {}
        for name, value in metadata.items():
            kept = self.text("metadata name", name)
            field, number = f"metadata.{kept}", 1
            while kept in redacted:
                number += 1
                kept = f"{field.removeprefix('metadata.')} {number}"
            redacted[kept] = self._value(field, kept, value)
        return redacted

    def _value(self, field: str, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(field, value, label=name)
        return [self._value(field, name, entry) for entry in value] if isinstance(value, list) else value

    def _replaced(self, field: str, text: str, kinds: tuple[str, ...]) -> str:
        self._found.update(dict.fromkeys(Redaction(field=field, kind=kind) for kind in kinds))
        return text


def redact_put(put: Put, known: Memory | None = None) -> tuple[Put, tuple[Redaction, ...]]:
    """Return a change with clean fields and without secrets, and what was replaced.

    A field that has the value of the ``known`` memory stays as it is. Otherwise a new revision would replace a secret that was
    stored on purpose.
    """
    clean = replace(
        put,
        text=clean_text(put.text),
        key=clean_name(put.key, what="key"),
        topic=clean_name(put.topic, what="topic"),
        tags=clean_tags(put.tags),
        metadata=clean_metadata(put.metadata),
    )
    if not put.redact:
        return clean, ()
    redactor = Redactor()
    key = clean.key if known and known.key == clean.key else redactor.name("key", clean.key)
    is_known = known is not None and (known.text, known.key) == (clean.text, clean.key)
    redacted = replace(
        clean,
        key=key,
        text=clean.text if is_known else redactor.text("text", clean.text, label=key),
        topic=clean.topic if known and known.topic == clean.topic else redactor.name("topic", clean.topic),
        tags=clean.tags if known and known.tags == clean.tags else tuple(redactor.text("tags", tag) for tag in clean.tags),
        metadata=clean.metadata if known and known.metadata == clean.metadata else redactor.metadata(clean.metadata),
        reason=redactor.name("reason", put.reason),
    )
    return redacted, redactor.found
