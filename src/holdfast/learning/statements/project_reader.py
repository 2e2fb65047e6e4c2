"""Read sentences from work on a project, where facts about the project count as much as facts about the user."""

import re
from dataclasses import dataclass, replace
from typing import Final

from holdfast.protocols.sentence_reader import Comparison, Reading, SentenceReader
from holdfast.runtime.regex import regex

_KEEP: Final = 0.9999
"""Probability that a fact about the project is worth keeping. The reader was trained on personal talk and gives it .00 to .30."""
_COMPARES: Final = regex(
    r"\b(?!(?:rather|other|over|under|after) )(?:\w+er|worse|more \w+|less \w+) than\b|\b(?:m[aá]s|menos) \w+ que\b|\b(?:mejor|peor) que\b",
    re.IGNORECASE,
)
"""A comparison, such as "PostgreSQL is faster than MySQL". It is about the world, unless it is also about the user."""


@dataclass(frozen=True, slots=True)
class ProjectReader:
    """A sentence reader that also keeps facts about how a project is built, run and organized: "the API runs on port 8080".

    Temporary states ("the tests are failing") and facts about the world are not kept.
    """

    inner: SentenceReader

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.inner.name

    def read(self, sentence: str, *, before: str = "") -> Reading:
        """Analyze one of the user's sentences and return the result. ``before`` is the previous turn, or an empty string."""
        reading = self.inner.read(sentence, before=before)
        is_project_fact = (
            reading.area == "work"
            and reading.time == "stable"
            and reading.act in ("statement", "reply")
            and reading.meant in ("fact", "quoted")  # pasted text was cut away before
            and reading.owner != "assistant"
            and not (reading.owner == "world" and _COMPARES.search(sentence))
        )
        return replace(reading, keep=max(reading.keep, _KEEP), owner="user") if is_project_fact else reading

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old claim with a new claim of the same person.

        Return the probabilities that the new claim leaves the old claim valid, repeats it, or ends it.
        """
        return self.inner.compare(old, new)
