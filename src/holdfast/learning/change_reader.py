"""A sentence reader that keeps sentences that end a known memory, even if they seem unimportant on their own.

A sentence reader is a small model that analyzes one of the user's sentences together with the previous turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from holdfast.protocols.sentence_reader import Area, Comparison, Reading, SentenceReader
from holdfast.text.clean import fold, one_line

_KEEP: Final = 0.9999
_MIN_WORDS: Final = 3
_PASSING: Final[frozenset[Area]] = frozenset({"event", "plan", "other", "opinion"})
"""Areas of a sentence that only tells how something changed. What it changed names the area better: "we moved" is about the home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldChange:
    """A known memory that a sentence ends: its area of life and its key."""

    area: Area
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """A sentence reader that rates the given sentences as worth keeping, because each of them ends a known memory."""

    inner: SentenceReader
    told: Mapping[str, ToldChange]
    """Maps each sentence, as ``plain_words`` returns it, to what it ends."""

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
        """Return the known memory that a sentence ends, if the sentence is one of the given sentences or a part of one."""
        words = plain_words(sentence)
        if len(words.split()) < _MIN_WORDS:
            return self.told.get(words)
        return next((ended for told, ended in self.told.items() if words in told), None)

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old claim with a new claim of the same person.

        Return the probabilities that the new claim leaves the old claim valid, repeats it, or ends it.
        """
        return self.inner.compare(old, new)


def plain_words(sentence: str) -> str:
    """Return a sentence in lower case, without accents and without punctuation at its ends."""
    return fold(one_line(sentence)).strip(" .,;:!¡?¿")
