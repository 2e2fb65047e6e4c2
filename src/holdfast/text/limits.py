"""Size limits for one write, taken from the settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.errors import TextTooLong
from holdfast.types.translatable import translatable

__all__ = ["Limits"]

_MAX_NAMES = 1000
"""Maximum number of names (keys) in the metadata of a memory, including those of nested objects."""

_MAX_TAGS = 1000
"""Maximum number of tags of a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Maximum sizes of a message and of a memory. For memories of plain kinds, only the limits of the store apply."""

    max_text: int = 250_000
    """Maximum number of characters of a message, or of the searched text of a memory."""
    max_metadata: int = 64_000
    """Maximum number of characters of metadata as JSON."""

    def check_text(self, text: Any, *, what: str = "text") -> None:
        """Raise ``TextTooLong`` if a text is too long. Values that are not strings are ignored.

        The error message names the text with ``what``.
        """
        if isinstance(text, str) and len(text) > self.max_text:
            raise TextTooLong(
                translatable(
                    "text.long",
                    "{what} has {n:,} characters; the limit is {limit:,}. Nothing was stored. Split it into parts, or raise the setting max_text.",
                    what=what,
                    n=len(text),
                    limit=self.max_text,
                )
            )

    def check_tags(self, tags: Sequence[str]) -> None:
        """Raise ``TextTooLong`` if a memory has too many tags."""
        if len(tags) > _MAX_TAGS:
            raise TextTooLong(f"tags has {len(tags):,} tags; the limit is {_MAX_TAGS:,}. Nothing was stored. Give fewer tags.")

    def check_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Raise ``TextTooLong`` if metadata has too many names or characters. The metadata must already be clean."""
        names = _count_names(metadata)
        if names > _MAX_NAMES:
            raise TextTooLong(
                f"metadata has {names:,} names; the limit is {_MAX_NAMES:,}. Nothing was stored. Use fewer names, or store the data as text."
            )
        size = len(json.dumps(metadata, ensure_ascii=False)) if metadata else 0
        if size > self.max_metadata:
            raise TextTooLong(
                f"metadata has {size:,} characters as JSON; the limit is {self.max_metadata:,}. Nothing was stored. "
                "Use a plain kind for large values, or raise the setting max_metadata."
            )


def _count_names(value: Any) -> int:
    if isinstance(value, Mapping):
        return len(value) + sum(map(_count_names, value.values()))
    return sum(map(_count_names, value)) if isinstance(value, list) else 0
