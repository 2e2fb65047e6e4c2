"""A sentence reader that also keeps sentences that make a known memory outdated, such as "we moved".

A sentence reader is a small model that analyzes one of the user's sentences together with the previous turn. On its own, it
may rate such a sentence as not worth keeping.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.protocols.sentence_reader import Area, Comparison, Reading, SentenceReader
from holdfast.text.clean import fold, one_line
from holdfast.types import Message

_KEEP: Final = 0.9999
_MIN_WORDS: Final = 3
_MAX_WISH: Final = 0.5
_MIN_KEEP: Final = 0.03
"""Minimum probability, according to the sentence reader, that a sentence about nobody in particular is worth keeping."""
_PASSING: Final[frozenset[Area]] = frozenset({"event", "plan", "other", "opinion"})
"""Areas of life, such as ``event``, that say too little about a sentence that makes a memory outdated.

Such a sentence gets the area of the outdated memory instead: "we moved" is about the home.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldChange:
    """A known memory that a sentence makes outdated, described by its area of life (such as ``work``) and its key."""

    area: Area
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """A sentence reader that rates a sentence as worth keeping if the sentence makes a known memory outdated."""

    inner: SentenceReader
    find: Callable[[Message, str], ToldChange | None]
    """Function that returns the known memory that a sentence of a message makes outdated, or None."""
    told: dict[str, ToldChange] = field(default_factory=dict)
    """The sentences that were found to make a known memory outdated, each mapped to that memory.

    The keys are sentences as :func:`plain_words` returns them.
    """

    @property
    def name(self) -> str:
        """Name of the underlying sentence reader."""
        return self.inner.name

    def read(self, sentence: str, *, before: str = "") -> Reading:
        """Analyze one of the user's sentences and return the result. ``before`` is the previous turn, or an empty string."""
        reading = self.inner.read(sentence, before=before)
        ended = self.ended_by(sentence)
        if ended is None:
            return reading
        area = ended.area if reading.area in _PASSING else reading.area
        rated = replace(reading, keep=max(reading.keep, _KEEP), worth=max(reading.worth, _KEEP))
        return replace(rated, owner="user", act="statement", meant="fact", area=area)

    def ended_by(self, sentence: str) -> ToldChange | None:
        """Return the known memory that a sentence makes outdated, or None.

        The result is None unless :func:`ends_memory` has returned True for this sentence, or for one that contains it or that it
        contains.
        """
        words = plain_words(sentence)
        if len(words.split()) < _MIN_WORDS:
            return self.told.get(words)
        return next((ended for told, ended in self.told.items() if words in told or told in words), None)

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old statement with a new statement of the same person.

        Return the probabilities that the new statement leaves the old one valid, repeats it, or makes it outdated.
        """
        return self.inner.compare(old, new)


def ends_memory(reader: SentenceReader, message: Message, sentence: str, *, before: str = "") -> bool:
    """Return True if a sentence makes a known memory outdated. ``before`` is the previous turn.

    If so, the sentence is also recorded in ``reader``, which from then on rates the sentence as worth keeping.

    The result is False for questions, for wishes not to be remembered, and for jokes and other sentences that are not meant
    literally. It is also False for most sentences about nobody in particular, such as "that sounds great", for very short
    sentences, and if ``reader`` is not a ``ChangeReader``.
    """
    if not isinstance(reader, ChangeReader) or len(sentence.split()) < _MIN_WORDS or sentence.rstrip().endswith("?"):
        return False
    reading = reader.inner.read(sentence, before=before)
    refused = max(reading.wishes["off_record"], reading.wishes["forget"]) >= _MAX_WISH
    if refused or reading.act not in ("statement", "reply") or reading.meant != "fact":
        return False
    if reading.owner in ("world", "assistant") and reading.keep < _MIN_KEEP:
        return False
    ended = reader.find(message, sentence)
    if ended is not None:
        reader.told[plain_words(sentence)] = ended
    return ended is not None


def plain_words(sentence: str) -> str:
    """Return a sentence in lower case, without accents and without punctuation at its ends."""
    return fold(one_line(sentence)).strip(" .,;:!¡?¿")
