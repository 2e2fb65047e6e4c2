"""Estimate the probability that a clause is worth keeping, with a linear model over cheap features.

Some features are the rules and cues (telling words) that match the clause. Others are the clause's length, names and
numbers, the pattern of its function words, and the classes of its other words. ``words/classifier_<language>.toml`` lists
the function words and the classes. The weights were trained on labeled messages.
``python -m holdfast_bench.learning.train_classifier`` writes them to ``words/classifier.json``.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from math import exp

BIAS = "bias"
_TOKEN = re.compile(r"[\w'@.+/-]*\w|[^\w\s]")
_PLURALS = ("s", "'s", "es")
_MAX_LOGIT = 30.0
_MAX_COUNTED_WORDS = 20
_WEIGHT_RANGE = (-3.0, 8.0)
"""Range to which the total weight of a clause's cues is clipped before it is used as a feature."""
_SUFFICIENT_WEIGHT = 3.0
"""A clause whose cues have at least this total weight is worth keeping by the cues alone, even if no rule matches it."""
_NEAR_WEIGHT = 2.0
"""A clause whose cues have at least this total weight, but less than ``_SUFFICIENT_WEIGHT``, is nearly worth keeping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseReading:
    """A clause with the rules and cues that match it. This is the input of the classifier."""

    text: str
    folded: str
    ruled: bool
    """True if a rule matches the clause."""
    passing: bool
    """True if the clause holds only for the moment or is uncertain."""
    cues: tuple[str, ...]
    weight: float
    """Total weight of the clause's cues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseClassifier:
    """The classifier of one language: its word lists and its trained weights."""

    function: frozenset[str]
    endings: tuple[str, ...]
    classes: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]

    def probability(self, reading: ClauseReading) -> float:
        """Return the probability, from 0 to 1, that a clause is worth keeping."""
        total = self.weights.get(BIAS, 0.0)
        total += sum(self.weights.get(name, 0.0) * value for name, value in self.features(reading).items())
        return 1 / (1 + exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, total))))

    def features(self, reading: ClauseReading) -> dict[str, float]:
        """Return a dictionary that maps the name of each feature of a clause to its value."""
        said = reading.folded.rstrip(" .")  # a final full stop carries no information
        tokens = [(match[0], reading.text[match.start() : match.end()]) for match in _TOKEN.finditer(said)]
        shapes = [self._shape(word, written, first=place == 0) for place, (word, written) in enumerate(tokens)]
        seen = dict.fromkeys([*_rule_features(reading), *_ngrams(shapes, "s"), *self._class_features(tokens, shapes)], 1.0)
        return {**seen, **_measures(reading, tokens, sum(shape in self.function for shape in shapes))}

    def count_known_words(self, folded: str) -> int:
        """Return the number of words in a folded text that belong to this language's lists."""
        words = [match[0] for match in _TOKEN.finditer(folded)]
        return sum(word in self.function or bool(self._classes_of(word)) for word in words)

    def classes_in(self, folded: str) -> frozenset[str]:
        """Return the classes of the words in a folded text."""
        return frozenset(kind for match in _TOKEN.finditer(folded) for kind in self._classes_of(match[0]))

    def _class_features(self, tokens: Sequence[tuple[str, str]], shapes: Sequence[str]) -> Iterator[str]:
        """Yield features of word classes: each single class, and sequences of classes in the order of the words."""
        kinds = [self._classes_of(word) for word, _ in tokens]
        yield from (f"k {kind}" for each in kinds for kind in each)
        in_order = [each[0].upper() if each else self._plain(shape) for each, shape in zip(kinds, shapes, strict=True)]
        yield from _ngrams(in_order, "c")

    def _plain(self, shape: str) -> str:
        return shape if shape in ("<N>", "<C>") or shape in self.function else "_"

    def _classes_of(self, word: str) -> tuple[str, ...]:
        stems = (word, *(word[: -len(end)] for end in _PLURALS if word.endswith(end)))
        return next((self.classes[stem] for stem in stems if stem in self.classes), ())

    def _shape(self, word: str, written: str, *, first: bool) -> str:
        """Return a function word or punctuation mark unchanged. For any other word, return a code for its shape.

        The shape is a number (``<N>``), a capitalized word (``<C>``), a known ending such as ``<ing>``, or any word (``<w>``).
        """
        if word in self.function or not (word[0].isalnum() or word[0] == "_"):
            return word
        if any(char.isdigit() for char in word):
            return "<N>"
        if not first and written[:1].isupper():
            return "<C>"
        return next((f"<{end}>" for end in self.endings if word.endswith(end) and len(word) > len(end) + 2), "<w>")


@lru_cache
def clause_classifier(language: str) -> ClauseClassifier:
    """Return the classifier of a language."""
    words = files("holdfast.learning") / "words"
    data = tomllib.loads((words / f"classifier_{language}.toml").read_text("utf-8"))
    classes: dict[str, tuple[str, ...]] = {}
    for name, members in data["classes"].items():
        for word in members.split():
            classes[word] = (*classes.get(word, ()), name)
    return ClauseClassifier(
        function=frozenset(data["function"].split()),
        endings=tuple(data["endings"].split()),
        classes=classes,
        weights=json.loads((words / "classifier.json").read_text("utf-8"))[language],
    )


def _ngrams(shapes: Sequence[str], mark: str) -> Iterator[str]:
    """Yield features of a sequence: each element, each pair of neighboring elements, and the first two elements."""
    yield from (f"{mark} {shape}" for shape in shapes)
    yield from (f"{mark}{mark} {one} {other}" for one, other in pairwise(["^", *shapes, "$"]))
    yield f"{mark}^ {' '.join(shapes[:2])}"


def _rule_features(reading: ClauseReading) -> Iterator[str]:
    """Yield features of the rules and cues that match a clause."""
    yield from (f"q {cue}" for cue in reading.cues)
    sufficient = reading.weight >= _SUFFICIENT_WEIGHT
    if reading.passing:
        yield "d passing"
    elif reading.ruled:
        yield "d rule"
        if sufficient:
            yield "d both"
    elif sufficient:
        yield "d cues"
    if not reading.ruled and _NEAR_WEIGHT <= reading.weight < _SUFFICIENT_WEIGHT:
        yield "d near"
    if not reading.ruled and reading.weight <= 0:
        yield "d nothing"


def _measures(reading: ClauseReading, tokens: Iterable[tuple[str, str]], function_words: int) -> dict[str, float]:
    words = [(word, written) for word, written in tokens if word[0].isalnum()]
    names = sum(written[:1].isupper() and not written.startswith(("I'", "I’")) and written != "I" for _, written in words[1:])
    low, high = _WEIGHT_RANGE
    return {
        "g length": min(len(words), _MAX_COUNTED_WORDS) / 10,
        "g tiny": float(len(words) < 4),
        "g short": float(len(words) < 6),
        "g long": float(len(words) > 9),
        "g number": float(any(char.isdigit() for char in reading.folded)),
        "g name": float(names > 0),
        "g names": min(names, 3) / 2,
        "g small": function_words / max(1, len(words)),
        "g commas": min(3, reading.folded.count(",")) / 2,
        "g shout": float("!" in reading.folded),
        "g weight": max(low, min(high, reading.weight)) / 4,
    }
