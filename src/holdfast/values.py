"""Check and clean the values of a memory before it is stored. Memories of a plain kind are checked, but stored exactly as given."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, get_args

from holdfast.errors import InvalidInput, TextTooLong
from holdfast.learning.changes.keys import split_key
from holdfast.presets.base import Preset
from holdfast.runtime.clock import as_utc
from holdfast.text.chunks import SEPARATOR
from holdfast.text.clean import (
    MAX_TEXT,
    clean_key,
    clean_label,
    clean_metadata,
    clean_namespace,
    clean_tags,
    clean_text,
    content_hash,
    exact_text,
)
from holdfast.text.index_terms import TextAndLanguage
from holdfast.text.language import detect_language
from holdfast.text.limits import Limits
from holdfast.text.secrets.fields import redact_put
from holdfast.types import Kind, Memory, MemoryOrigin, Put, Redaction, Scope
from holdfast.types.translatable import translatable

_MAX_CLOCK_DIFFERENCE = timedelta(days=1)
MAX_UNINDEXED_TEXT = 4 * MAX_TEXT
"""Maximum length, in characters, of a memory's text that is not indexed. Only memories of a plain kind may be this long.

A text is not indexed if the argument ``index`` names other texts, or is False.
"""
_MAX_INDEXED = 100
"""Maximum number of indexed texts per memory."""


def make_put(
    preset: Preset,
    scope: Scope,
    *,
    text: str,
    kind: str | None = None,
    key: str | None = None,
    namespace: Sequence[str] = (),
    topic: str | None = None,
    importance: float | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    pinned: bool | None = None,
    valid_from: datetime | str | None = None,
    expires_at: datetime | str | None = None,
    created_at: datetime | str | None = None,
    index: Sequence[str] | bool = True,
    sources: Sequence[str] = (),
    origin: MemoryOrigin = "explicit",
    trust: float = 1.0,
    redact: bool = True,
    if_revision: int | None = None,
) -> Put:
    """Convert the arguments of ``remember`` to a ``Put``, which describes the memory to store."""
    if key is None and preset.default_key is not None and preset.kind(kind).keyed == "many":
        found, text = split_key(text)
        key = found or preset.default_key
    return Put(
        scope=scope,
        kind=preset.kind(kind).name,
        text=text,
        key=key,
        namespace=clean_namespace(namespace),
        topic=topic,
        importance=importance,
        tags=tuple(tags),
        metadata=metadata or {},
        origin=origin,
        trust=trust,
        sources=tuple(sources),
        pinned=pinned,
        valid_from=None if valid_from is None else as_utc(valid_from, what="valid_from"),
        expires_at=None if expires_at is None else as_utc(expires_at, what="expires_at"),
        created_at=None if created_at is None else as_utc(created_at, what="created_at"),
        indexed=index_texts(index),
        redact=redact,
        if_revision=if_revision,
    )


def index_texts(index: Sequence[str] | bool) -> tuple[str, ...] | None:  # noqa: FBT001  (the value of an argument)
    """Convert the argument ``index`` to the texts to index. Blank texts are left out.

    True becomes None, which means that the memory's own text is indexed. False becomes an empty tuple, so that nothing is
    indexed.
    """
    if index is True:
        return None
    if index is False:
        return ()
    if isinstance(index, str) or not isinstance(index, Sequence):
        raise InvalidInput("index is a list of texts, True for the memory's own text, or False for none.")
    if len(index) > _MAX_INDEXED:
        raise InvalidInput(f"index has {len(index)} texts; the limit is {_MAX_INDEXED}.")
    cleaned = tuple(clean_text(each, what="a text of index", may_be_empty=True).replace(SEPARATOR, " ") for each in index)
    if sum(map(len, cleaned)) > MAX_TEXT:
        raise TextTooLong(f"The texts of index have more than {MAX_TEXT:,} characters.")
    return tuple(each for each in cleaned if each.strip())


def check_expiry(expires_at: datetime | None, now: datetime) -> None:
    """Raise ``InvalidInput`` if an expiry time is more than one day in the past. One day is allowed because clocks differ."""
    if expires_at is not None and expires_at < now - _MAX_CLOCK_DIFFERENCE:
        raise InvalidInput(f"expires_at {expires_at:%Y-%m-%d %H:%M} UTC is in the past. Nothing was stored.")


def cleaned(kind: Kind, put: Put, known: Memory | None = None) -> tuple[Put, tuple[Redaction, ...]]:
    """Return two values: a copy of a ``Put`` with its values checked and normalized, and the secrets that were replaced in it.

    ``known`` is the memory that the ``Put`` revises, or None for a new memory. Secrets are replaced only in fields whose
    value differs from ``known``. In a plain kind, or if ``put.redact`` is False, they are not replaced at all.
    """
    limit = MAX_TEXT if put.indexed is None else MAX_UNINDEXED_TEXT
    clean = replace(
        put,
        text=exact_text(put.text, limit=limit) if kind.plain else clean_text(put.text),
        key=clean_key(put.key, exact=kind.plain),
        topic=clean_label(put.topic, what="topic"),
        tags=clean_tags(put.tags),
        metadata=clean_metadata(put.metadata, exact=kind.plain),
    )
    return redact_put(clean, known) if put.redact and not kind.plain else (clean, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A ``Put`` that is ready to be written in a transaction: checked, cleaned and with its language detected."""

    put: Put
    redacted: tuple[Redaction, ...]
    """The secrets that were replaced in the change."""
    searched: TextAndLanguage
    """The text to index for the memory, and the language of the text."""

    def stored_as(self, memory: Memory) -> Memory:
        """Return a copy of ``memory`` that lists the redacted secrets. ``memory`` is the stored result of this change."""
        return replace(memory, redacted=self.redacted) if self.redacted else memory


def prepare(preset: Preset, limits: Limits, put: Put, known: Memory | None = None) -> Prepared:
    """Check a ``Put`` against the size limits, and clean it, before the transaction that writes it.

    ``known`` is the memory that the ``Put`` revises, or None for a new memory. The limits apply to the text, the texts to
    index, the tags and the metadata. There are three exceptions:

    - An unchanged text is not checked, so that other fields of a memory that is too long can still be changed.
    - The text of a plain kind is not checked if the ``Put`` has separate texts to index.
    - The metadata of a plain kind is not checked.
    """
    kind = preset.kind(put.kind)
    if not (kind.plain and put.indexed is not None) and (known is None or put.text != known.text):
        limits.check_text(put.text)
    for text in put.indexed or ():
        limits.check_text(text, what="a text of index")
    limits.check_tags(put.tags)
    if not kind.plain:
        limits.check_metadata(clean_metadata(put.metadata))  # before the search for secrets, which takes long for many names
    return prepare_unlimited(preset, put, known)


def prepare_unlimited(preset: Preset, put: Put, known: Memory | None = None) -> Prepared:
    """Clean a ``Put`` before the transaction that writes it, as :func:`prepare` does, but without the configured size limits.

    Imports use this. The fixed limits of a store still apply.
    """
    kind = preset.kind(put.kind)
    clean, redacted = cleaned(kind, put, known)
    language = clean.language or detect_language(clean.text) or (known.language if known else None)
    indexed = clean.indexed if clean.indexed is not None or known is None or "indexed" in put.emptied else known.indexed
    own = key(kind, clean)
    text = SEPARATOR.join(indexed) if indexed is not None else f"{own}: {clean.text}" if own else clean.text
    return Prepared(put=replace(clean, language=language, redact=False), redacted=redacted, searched=(text, language))


def identity(kind: Kind, put: Put) -> str:
    """Return a hash of the kind, key, text and namespace of the memory that a ``Put`` describes.

    Within a scope, memories with the same hash count as the same memory. Case, accents and surrounding punctuation of kind,
    key and text are ignored, except in a plain kind.
    """
    own_key = key(kind, put)
    if kind.plain:
        return _hash(kind.name, own_key, put.text, *put.namespace)
    folded = content_hash(kind.name, own_key, put.text)
    return _hash(folded, *put.namespace) if put.namespace else folded


def _hash(*parts: str | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def key(kind: Kind, put: Put) -> str | None:
    """Return the key to store with a memory. Normally, this is the key in the ``Put``, or None if the ``Put`` has no key.

    In a kind with one value per key, a ``Put`` without a key gets the kind's name as its key. Raise ``InvalidInput`` if the
    ``Put`` has a key but the kind has no keys.
    """
    if kind.keyed == "no" and put.key is not None:
        raise InvalidInput(
            translatable(
                "memory.keyless", "Memories of kind {kind!r} have no key; leave it out, or use kind 'fact'.", kind=kind.name
            )
        )
    return kind.name if put.key is None and kind.keyed == "one" else put.key


def origin(given: MemoryOrigin) -> MemoryOrigin:
    """Return ``given`` if it is a valid origin of a memory. Otherwise raise ``InvalidInput``."""
    if given not in get_args(MemoryOrigin):
        raise InvalidInput(f"origin must be one of {', '.join(get_args(MemoryOrigin))}, not {given!r}.")
    return given


def trust(value: float) -> float:
    """Return the trust as a float. Raise InvalidInput if it is not a number from 0 to 1."""
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"trust must be a number from 0 to 1, not {value!r}.")
    return float(value)


def importance(value: float) -> float:
    """Return the importance as a float. Raise InvalidInput if it is not a number from 0 to 10."""
    if not isinstance(value, int | float) or not 0 <= value <= 10:
        raise InvalidInput(f"importance must be a number from 0 to 10, not {value!r}.")
    return float(value)
