"""Titles and file names of topic pages. File names are safe on every system and cannot point outside their folder."""

import hashlib
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

from holdfast.learning.topics.naming import slug, title
from holdfast.learning.topics.splitting import GENERAL
from holdfast.text.clean import fold, one_line

INDEX_FILE: Final = "index.txt"
PAGE_SUFFIX: Final = ".md"
_MAX_NAME_BYTES: Final = 120
"""Maximum number of bytes in a file name. Some encrypting file systems allow only 143."""
_MAX_PREFIX_CHARACTERS: Final = 24
_MAX_TITLE_CHARACTERS: Final = 80
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
    | {f"{port}{n}" for port in ("com", "lpt") for n in (*range(10), "¹", "²", "³")}
)
_RESERVED_STEMS: Final = frozenset({"index", "readme"})
"""File names, without extension, that are never topic pages: the index, and a note about the folder."""


def file_name(topic: str, taken: Collection[str] = ()) -> str:
    """Return a file name for a topic, without path separators or device names.

    The file name differs from all names in ``taken``, even if case is ignored.
    """
    spelled = "".join(
        character if _is_kept(character) else "-"
        for character in unicodedata.normalize("NFC", topic).lower()
        if not _is_dropped(character)
    )
    stem = "-".join(part for part in spelled.split("-") if part) or "topic"
    if stem in _DEVICES or stem in _RESERVED_STEMS:
        stem = f"topic-{stem}"
    digest = hashlib.sha256(topic.encode("utf-8", "surrogatepass")).hexdigest()
    used = {name_key(name) for name in taken}
    for length in (0, 4, 8, 64):
        name = _fit(stem, digest[:length])
        if name_key(name) not in used:
            return name
    raise AssertionError(topic)  # four names with a hash of this topic cannot all be taken


def _fit(stem: str, digest: str) -> str:
    """Build a file name from ``stem`` and the suffix ``digest``, which can be empty. The stem is cut to the byte limit.

    If the stem is cut and ``digest`` is empty, a hash of the stem becomes the suffix, so that the name stays unique.
    """
    room = _MAX_NAME_BYTES - len(digest) - 1
    cut = stem.encode()[:room].decode("utf-8", "ignore").rstrip("-")
    if cut != stem and not digest:
        return _fit(stem, hashlib.sha256(stem.encode()).hexdigest()[:8])
    return f"{cut}-{digest}{PAGE_SUFFIX}" if digest else f"{cut}{PAGE_SUFFIX}"


def _is_kept(character: str) -> bool:
    """Return True for characters that a file name keeps: letters, digits, underscores, combining marks, and symbols (emoji)."""
    return character.isalnum() or character == "_" or unicodedata.category(character) in ("Mn", "Mc", "So")


def _is_dropped(character: str) -> bool:
    """Return True for characters to drop: invisible characters, enclosing marks, and unassigned or private code points."""
    return unicodedata.category(character) in ("Cf", "Me", "Cs", "Co", "Cn") or character == "\ufe0f"


def name_key(name: str) -> str:
    """Normalize a file name for comparison, because some file systems ignore case or store accents in another form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_page(name: str) -> bool:
    """Return True if a file with this name is a topic's page."""
    stem, dot, extension = name.rpartition(".")
    return dot + extension.lower() == PAGE_SUFFIX and not name.startswith((".", "~")) and stem.lower() not in _RESERVED_STEMS


def page_title(topic: str) -> str:
    """Return the title of a topic's page."""
    return one_line(title(topic)) or one_line(topic) or topic


def topic_called(name: str, known: Iterable[str] = ()) -> str:
    """Return the known topic with this name or title. If there is none, return a name for a new topic."""
    folded = fold(name)
    topics = list(known)
    for spelling in (lambda topic: topic, page_title):
        found = next((topic for topic in topics if fold(spelling(topic)) == folded), None)
        if found is not None:
            return found
    return slug(name, max_words=10) or one_line(name)[:_MAX_TITLE_CHARACTERS] or "topic"


def general(topic: str) -> str:
    """Return the name of the general topic of a split page.

    The general topic gets the lines that fit none of the other new topics.
    """
    return f"{slug(topic, max_words=10, max_characters=_MAX_PREFIX_CHARACTERS) or 'topic'}-{GENERAL}"
