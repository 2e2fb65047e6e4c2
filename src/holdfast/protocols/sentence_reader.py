"""Protocol for a sentence reader: a small model that reads one of the user's sentences together with the previous turn."""

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
    """Whose fact it is: the user's, another person's, the assistant's, or a fact about the world."""
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
    """Position in the sentence at which the words that carry the fact begin."""
    end: int
    """Position after the last of these words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The probabilities that a new claim leaves an old claim valid, repeats it, or ends it. Their sum is 1."""

    leaves: float
    repeats: float
    ends: float


class SentenceReader(Protocol):
    """Analyzes sentences and compares claims."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    def read(self, sentence: str, *, before: str = "") -> Reading:
        """Analyze one of the user's sentences and return the result. ``before`` is the previous turn, or an empty string."""
        ...

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old claim with a new claim of the same person.

        Return the probabilities that the new claim leaves the old claim valid, repeats it, or ends it.
        """
        ...
