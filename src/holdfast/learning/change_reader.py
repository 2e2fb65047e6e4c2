"""A sentence reader that keeps sentences that end a known memory, even if they seem unimportant on their own.

A sentence reader is a small model that analyzes one of the user's sentences together with the previous turn.
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
_PASSING: Final[frozenset[Area]] = frozenset({"event", "plan", "other", "opinion"})
"""Areas that say little about a sentence that ends a memory.

The area of the memory is used instead: "we moved" is about the home.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldChange:
    """A known memory that a sentence ends: its area of life and its key."""

    area: Area
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """A sentence reader that reads a sentence as worth keeping once it is known to end a memory."""

    inner: SentenceReader
    find: Callable[[Message, str], ToldChange | None]
    """Finds what a sentence of a message ends."""
    told: dict[str, ToldChange] = field(default_factory=dict)
    """Maps each sentence found so far, as ``plain_words`` returns it, to what it ends."""

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
        return replace(reading, keep=max(reading.keep, _KEEP), owner="user", act="statement", meant="fact", area=area)

    def ended_by(self, sentence: str) -> ToldChange | None:
        """Return the known memory that a sentence ends, according to :func:`ends_memory`. Otherwise return None.

        The sentence may also be a part of the sentence that was checked.
        """
        words = plain_words(sentence)
        if len(words.split()) < _MIN_WORDS:
            return self.told.get(words)
        return next((ended for told, ended in self.told.items() if words in told), None)

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old claim with a new claim of the same person.

        Return the probabilities that the new claim leaves the old claim valid, repeats it, or ends it.
        """
        return self.inner.compare(old, new)


def ends_memory(reader: SentenceReader, message: Message, sentence: str, *, before: str = "") -> bool:
    """Return True if a sentence that would be dropped ends a known memory. From then on, the reader rates it as worth keeping.

    Questions, jokes and other sentences that are not meant literally, and wishes not to be remembered end nothing. If
    ``reader`` is no ``ChangeReader``, the result is False.
    """
    if not isinstance(reader, ChangeReader) or len(sentence.split()) < _MIN_WORDS or sentence.rstrip().endswith("?"):
        return False
    reading = reader.inner.read(sentence, before=before)
    refused = max(reading.wishes["off_record"], reading.wishes["forget"]) >= _MAX_WISH
    if refused or reading.act not in ("statement", "reply") or reading.meant != "fact":
        return False
    ended = reader.find(message, sentence)
    if ended is not None:
        reader.told[plain_words(sentence)] = ended
    return ended is not None


def plain_words(sentence: str) -> str:
    """Return a sentence in lower case, without accents and without punctuation at its ends."""
    return fold(one_line(sentence)).strip(" .,;:!¡?¿")
