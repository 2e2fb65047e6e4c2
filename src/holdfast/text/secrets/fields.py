"""Redact the fields of a memory or message, and list the replaced secrets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.text.secrets.redact import redact
from holdfast.types import Memory, Put, Redaction


class Redactor:
    """Replaces the secrets in the fields of one write. ``found`` lists the replaced secrets."""

    def __init__(self) -> None:
        self._found: dict[Redaction, None] = {}

    @property
    def found(self) -> tuple[Redaction, ...]:
        """The secrets that were replaced, in the order of the fields."""
        return tuple(self._found)

    def text(self, field: str, value: str, *, label: str | None = None) -> str:
        """Return a text without secrets. ``field`` is the field that contains the text; it is recorded with each secret.

        ``label`` is the text before the value: after the label "password", the value "sunshine" is a secret.
        """
        whole = redact(f"{label}: {value}") if label else None
        if whole is not None and whole.text.startswith(f"{label}: "):
            return self._replaced(field, whole.text.removeprefix(f"{label}: "), whole.found)
        alone = redact(value)
        return self._replaced(field, alone.text, alone.found)

    def name(self, field: str, value: str | None) -> str | None:
        """Return a name without secrets. If ``value`` is None, return None.

        ``field`` is the field that contains the name. It is recorded with each secret.
        """
        return None if value is None else self.text(field, value)

    def indexed(self, texts: tuple[str, ...] | None, *, label: str | None) -> tuple[str, ...] | None:
        """Return the texts for the search index, with their secrets replaced. If ``texts`` is None, return None.

        ``label`` is the text before each of the texts, as in :meth:`text`.
        """
        return None if texts is None else tuple(self.text("index", text, label=label) for text in texts)

    def metadata(self, metadata: Mapping[str, Any], *, within: str = "metadata") -> dict[str, Any]:
        """Return metadata without secrets in its names and values. If two names become equal, the second gets a number.

        ``within`` is the path of the metadata. A secret in a value is recorded with the path of the value, and a secret in a
        name with the words "metadata name".
        """
        redacted: dict[str, Any] = {}
        for name, value in metadata.items():
            base = kept = self.text("metadata name", name)
            number = 1
            while kept in redacted:
                number += 1
                kept = f"{base} {number}"
            redacted[kept] = self._value(f"{within}.{base}", kept, value)
        return redacted

    def _value(self, field: str, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(field, value, label=name)
        if isinstance(value, dict):
            return self.metadata(value, within=field)
        return [self._value(field, name, entry) for entry in value] if isinstance(value, list) else value

    def _replaced(self, field: str, text: str, kinds: tuple[str, ...]) -> str:
        self._found.update(dict.fromkeys(Redaction(field=field, kind=kind) for kind in kinds))
        return text


def redact_put(put: Put, known: Memory | None = None) -> tuple[Put, tuple[Redaction, ...]]:
    """Replace the secrets in the fields of a ``Put``. Return the new ``Put``, and the replaced secrets.

    ``known`` is the stored memory that the ``Put`` revises, or None. Fields that have the same value in ``known`` stay
    unchanged, because the user may have stored a secret there on purpose. There are two exceptions: the text stays unchanged
    only if the key is the same, too, and secrets in the reason are always replaced.
    """
    redactor = Redactor()
    key = put.key if known and known.key == put.key else redactor.name("key", put.key)
    is_known = known is not None and (known.text, known.key) == (put.text, put.key)
    redacted = replace(
        put,
        key=key,
        text=put.text if is_known else redactor.text("text", put.text, label=key),
        topic=put.topic if known and known.topic == put.topic else redactor.name("topic", put.topic),
        tags=put.tags if known and known.tags == put.tags else tuple(redactor.text("tags", tag) for tag in put.tags),
        metadata=put.metadata if known and known.metadata == put.metadata else redactor.metadata(put.metadata),
        indexed=put.indexed if known and known.indexed == put.indexed else redactor.indexed(put.indexed, label=key),
        reason=redactor.name("reason", put.reason),
    )
    return redacted, redactor.found
