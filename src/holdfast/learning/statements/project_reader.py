"""A sentence reader for work on a project. It keeps facts about the project as well as facts about the user."""

import re
from dataclasses import dataclass, replace
from typing import Final

from holdfast.protocols.sentence_reader import Comparison, Reading, SentenceReader
from holdfast.runtime.regex import regex

_KEEP: Final = 0.9999
"""Probability of being worth keeping that a fact about the project gets.

The underlying model was trained on personal conversations and gives such a fact only 0 to 0.3.
"""
_COMPARES: Final = regex(
    r"\b(?!(?:rather|other|over|under|after) )(?:\w+er|worse|more \w+|less \w+) than\b|\b(?:m[aá]s|menos) \w+ que\b|\b(?:mejor|peor) que\b",
    re.IGNORECASE,
)
"""Matches a comparison, such as "PostgreSQL is faster than MySQL". Such a sentence is usually not about the project."""


@dataclass(frozen=True, slots=True)
class ProjectReader:
    """A sentence reader that also keeps facts about how a project is built, run and organized: "the API runs on port 8080".

    Temporary states ("the tests are failing") and facts about the world are not kept.
    """

    inner: SentenceReader

    @property
    def name(self) -> str:
        """Name of the underlying sentence reader."""
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
        if not is_project_fact:
            return reading
        return replace(reading, keep=max(reading.keep, _KEEP), worth=max(reading.worth, _KEEP), owner="user", meant="fact")

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old statement with a new statement of the same person.

        Return the probabilities that the new statement leaves the old one valid, repeats it, or makes it outdated.
        """
        return self.inner.compare(old, new)


def in_project(reader: SentenceReader) -> bool:
    """Return True if a sentence reader is a :class:`ProjectReader` or wraps one."""
    inner: object = reader
    while inner is not None and not isinstance(inner, ProjectReader):
        inner = getattr(inner, "inner", None)
    return inner is not None
