"""What a topic's page is called: its title, and a file name that is safe on every system and cannot leave its folder."""

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
"""Some file systems that encrypt names take no more than 143 bytes."""
_MAX_PREFIX_CHARACTERS: Final = 24
_MAX_TITLE_CHARACTERS: Final = 80
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
    | {f"{port}{n}" for port in ("com", "lpt") for n in (*range(10), "¹", "²", "³")}
)
_RESERVED_STEMS: Final = frozenset({"index", "readme"})
"""The index's own name, and the one people give to a note about the folder; neither is a topic's page."""


def file_name(topic: str, taken: Collection[str] = ()) -> str:
    """Return the name of a topic's file: one plain part, never a device, and none of those ``taken`` in any case."""
    spelled = "".join(sign if _stays(sign) else "-" for sign in unicodedata.normalize("NFC", topic).lower() if not _joins(sign))
    stem = "-".join(part for part in spelled.split("-") if part) or "topic"
    if stem in _DEVICES or stem in _RESERVED_STEMS:
        stem = f"topic-{stem}"
    mark = hashlib.sha256(topic.encode("utf-8", "surrogatepass")).hexdigest()
    used = {name_key(name) for name in taken}
    for length in (0, 4, 8, 64):
        name = _fitting(stem, mark[:length])
        if name_key(name) not in used:
            return name
    raise AssertionError(topic)  # four files called after a hash of this very topic


def _fitting(stem: str, mark: str) -> str:
    """Cut a name that is too long for some file system; what was cut is told apart by a mark."""
    room = _MAX_NAME_BYTES - len(mark) - 1
    cut = stem.encode()[:room].decode("utf-8", "ignore").rstrip("-")
    if cut != stem and not mark:
        return _fitting(stem, hashlib.sha256(stem.encode()).hexdigest()[:8])
    return f"{cut}-{mark}{PAGE_SUFFIX}" if mark else f"{cut}{PAGE_SUFFIX}"


def _stays(sign: str) -> bool:
    """Letters, digits, the marks that belong to them, and pictures stay."""
    return sign.isalnum() or sign == "_" or unicodedata.category(sign) in ("Mn", "Mc", "So")


def _joins(sign: str) -> bool:
    """Tell whether a sign is not seen at all."""
    return unicodedata.category(sign) in ("Cf", "Me", "Cs", "Co", "Cn") or sign == "\ufe0f"


def name_key(name: str) -> str:
    """Return a file name for comparing: some systems know no case, and write accents in another way."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_page(name: str) -> bool:
    """Tell whether a file of this name is a topic's page."""
    stem, dot, ending = name.rpartition(".")
    return (
        dot + ending.lower() == PAGE_SUFFIX
        and bool(stem)
        and not name.startswith((".", "~"))
        and stem.lower() not in _RESERVED_STEMS
    )


def page_title(topic: str) -> str:
    """Return the title of a topic's page."""
    return one_line(title(topic)) or one_line(topic) or topic


def topic_called(name: str, known: Iterable[str] = ()) -> str:
    """Return the topic a title means: a known one, or a new one of that name."""
    wanted = fold(name)
    topics = list(known)
    for spelling in (lambda topic: topic, page_title):
        found = next((topic for topic in topics if fold(spelling(topic)) == wanted), None)
        if found is not None:
            return found
    return slug(name, max_words=10) or one_line(name)[:_MAX_TITLE_CHARACTERS] or "topic"


def general(topic: str) -> str:
    """Return the page that lines go to when their topic was split and none of its parts is theirs."""
    return f"{slug(topic, max_words=10, max_characters=_MAX_PREFIX_CHARACTERS) or 'topic'}-{GENERAL}"
