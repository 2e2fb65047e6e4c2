"""The data for reading one message of the user, including the turns before it."""

from dataclasses import dataclass, field

from holdfast.learning.statements.own_text import own_sentences
from holdfast.learning.statements.rulebook import Rulebook
from holdfast.protocols.sentence_reader import Reading, SentenceReader

__all__ = ["Context"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The data for reading one message: the turn before it, the user's earlier messages, the rules, and the sentence reader."""

    before: str
    books: tuple[Rulebook, ...]
    """The rules of all languages. The rules of the message's language come first."""
    reader: SentenceReader
    language: str | None
    earlier: tuple[str, ...] = ()
    """The user's last messages before this one, in order. Memories may quote them."""
    known: dict[str, Reading] = field(default_factory=dict)
    """Results of the sentence reader so far, by text. They are cached so that no text is analyzed twice."""

    def read(self, text: str) -> Reading:
        """Analyze one of the user's texts, together with the previous turn, and return the result."""
        if text not in self.known:
            self.known[text] = self.reader.read(text, before=self.before)
        return self.known[text]

    def earlier_sentences(self) -> list[str]:
        """Return the user's own sentences in the earlier messages, in order."""
        return [each for text in self.earlier for each in own_sentences(text, self.language)]

    def off_record(self, text: str) -> float:
        """Return the probability that a text asks not to be kept."""
        return self.read(text).wishes["off_record"]
