"""The needles of an erasure: byte strings from every erased text, name and value. The final scan searches the files for needles."""

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.types import ChangeRecord, Memory, Message, SessionRecord

MIN_BYTES = 5
"""Minimum length of a needle in bytes. Shorter ones would be found in unrelated data, such as vectors."""
_MAX_NEEDLES = 256
"""Maximum number of long needles, and of short needles, that a scan searches for. If there are more, every n-th one is used."""
_NEEDLE_CHARACTERS = 48


@dataclass(frozen=True, slots=True)
class PendingScan:
    """A scan that is still to be done. It searches the files for erased data, to complete a pending receipt."""

    needles: Sequence[bytes]
    """Byte strings from the erased data. The files must not contain them."""
    outside: Sequence[Callable[[], tuple[Sequence[Path], Sequence[str]]]] = ()
    """Functions that try again to remove erased data from files outside the store, such as topic pages.

    Each returns the files to scan, and messages about the problems that remain. Empty if no such file is left to clear.
    """


def message_texts(message: Message) -> Iterator[str]:
    """Yield all texts of a message, and the names stored with it."""
    yield from filter(None, (message.text, message.speaker, message.client_id, message.asked))
    yield from _strings(message.payload)


def memory_texts(memory: Memory) -> Iterator[str]:
    """Yield all texts of one revision of a memory: its text, key, topic, reason, indexed texts, tags, namespace and metadata."""
    yield from filter(None, (memory.text, memory.key, memory.topic, memory.reason))
    yield from memory.indexed or ()
    yield from (_quoted(tag) for tag in memory.tags)
    yield from memory.namespace
    yield from _strings(memory.metadata)


def change_texts(changes: Iterable[ChangeRecord]) -> Iterator[str]:
    """Yield the reasons recorded with the changes of a memory."""
    return (change.reason for change in changes if change.reason)


def session_texts(session: SessionRecord) -> Iterator[str]:
    """Yield the id of a session, and the names and texts in its metadata.

    The id counts as a text, because a caller can choose it. Names and texts of the metadata are escaped as in JSON.
    """
    yield session.id
    yield from _strings(session.metadata)


def make_needles(texts: Iterable[str]) -> list[bytes]:
    """Return needles for erased texts. The final scan searches the files for these byte strings.

    A needle is the first 48 characters of a text, as bytes. Very short texts are left out. If there are too many
    needles (see ``_MAX_NEEDLES``), only every n-th one is returned.
    """
    beginnings = {text[:_NEEDLE_CHARACTERS].encode("utf-8", "replace") for text in texts}
    found = sorted((each for each in beginnings if len(each) >= MIN_BYTES), key=lambda each: (-len(each), each))
    long = list(itertools.takewhile(lambda each: len(each) >= _NEEDLE_CHARACTERS, found))
    return [*_selection(long), *_selection(found[len(long) :])]


def _selection(needles: Sequence[bytes]) -> Sequence[bytes]:
    return needles[:: max(1, math.ceil(len(needles) / _MAX_NEEDLES))]


def _strings(value: object) -> Iterator[str]:
    """Yield all names and strings in a JSON value, escaped as in the stored JSON."""
    if isinstance(value, str):
        yield _quoted(value)[1:-1]
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield _quoted(str(name))
            yield from _strings(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _strings(part)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
