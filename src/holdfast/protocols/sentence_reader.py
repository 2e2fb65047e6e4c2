"""Protocol for a sentence reader: a small model that analyzes one of the user's sentences together with the previous turn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Owner: TypeAlias = Literal["user", "other", "assistant", "world"]
Area: TypeAlias = Literal[
    "identity",
    "health",
    "family",
    "work",
    "home",
    "possession",
    "preference",
    "instruction",
    "event",
    "plan",
    "skill",
    "opinion",
    "other",
]
When: TypeAlias = Literal["stable", "dated", "planned", "past"]
Meant: TypeAlias = Literal["fact", "joke", "hypothesis", "quoted"]
Act: TypeAlias = Literal["question", "request", "statement", "reply", "smalltalk"]
Wish: TypeAlias = Literal["none", "off_record", "forget", "remember", "resume"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of analyzing one sentence, such as whose fact it states and whether it is worth keeping."""

    keep: float
    """Probability that the sentence is worth keeping, from 0 to 1."""
    owner: Owner
    """Whom the stated fact is about: the user, another person, the assistant, or the world in general."""
    negated: bool
    area: Area
    """Area of life, such as ``health`` or ``work``, or the sort of statement, such as ``plan`` or ``opinion``."""
    time: When
    meant: Meant
    act: Act
    reply: bool
    """True if the sentence is unclear without the turn before it."""
    wishes: Mapping[Wish, float]
    """Probability of each wish about memory, from 0 to 1."""
    start: int
    """Character position in the sentence at which the words that state the fact begin."""
    end: int
    """Character position in the sentence after the last word that states the fact."""
    worth: float
    """Probability, from 0 to 1, that the text is useful as a memory: definite, about the user's life, and clear by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Result of comparing an old statement with a new statement: three probabilities, whose sum is 1.

    ``leaves`` is the probability that the old statement stays valid. ``repeats`` is the probability that the new statement
    repeats the old statement. ``ends`` is the probability that the old statement is no longer true.
    """

    leaves: float
    repeats: float
    ends: float


class SentenceReader(Protocol):
    """Analyzes sentences and compares statements."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    def read(self, sentence: str, *, before: str = "") -> Reading:
        """Analyze one of the user's sentences and return the result. ``before`` is the previous turn, or an empty string."""
        ...

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old statement with a new statement of the same person.

        Return three probabilities: that the old statement stays valid, that the new statement repeats it, and that the new
        statement ends it (the old statement is no longer true).
        """
        ...
