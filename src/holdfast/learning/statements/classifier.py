"""A second opinion on a clause: how likely it is that it tells something worth keeping, by its shape and its words.

A linear model over what is cheap to see: which rules and cues a clause shows, how long it is, whether it has names and
numbers, the pattern of its small words, and what its other words are about. How words are read is in
``words/probe_<language>.toml``; what weighs how much was learnt from labelled talk and is in ``words/classifier.json``
(made by ``python -m holdfast_bench.learning.train_classifier``).
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
_ENOUGH, _NEAR = 3.0, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseReading:
    """A clause, with what the rules and the cues say of it."""

    text: str
    folded: str
    ruled: bool
    """A rule fits it."""
    passing: bool
    """It holds for the moment only, or is not certain."""
    cues: tuple[str, ...]
    weight: float
    """What its cues weigh together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What one language's words tell the model, and what it has learnt."""

    function: frozenset[str]
    endings: tuple[str, ...]
    classes: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]

    def chance(self, reading: ClauseReading) -> float:
        """Return how likely a clause is worth keeping, from 0 to 1."""
        total = self.weights.get(BIAS, 0.0)
        total += sum(self.weights.get(name, 0.0) * value for name, value in self.features(reading).items())
        return 1 / (1 + exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, total))))

    def features(self, reading: ClauseReading) -> dict[str, float]:
        """Return what the model sees of a clause."""
        said = reading.folded.rstrip(" .")  # who ends with a full stop says nothing else by it
        tokens = [(match[0], reading.text[match.start() : match.end()]) for match in _TOKEN.finditer(said)]
        shapes = [self._shape(word, written, first=place == 0) for place, (word, written) in enumerate(tokens)]
        seen = dict.fromkeys([*_judged(reading), *_pattern(shapes, "s"), *self._about(tokens, shapes)], 1.0)
        return {**seen, **_measured(reading, tokens, sum(shape in self.function for shape in shapes))}

    def known(self, folded: str) -> int:
        """Return how many words of a folded text this language has."""
        words = [match[0] for match in _TOKEN.finditer(folded)]
        return sum(word in self.function or bool(self._classes_of(word)) for word in words)

    def about(self, folded: str) -> frozenset[str]:
        """Return the classes of a folded text's words."""
        return frozenset(kind for match in _TOKEN.finditer(folded) for kind in self._classes_of(match[0]))

    def _about(self, tokens: Sequence[tuple[str, str]], shapes: Sequence[str]) -> Iterator[str]:
        """Yield what the words are about, one by one and in the order they stand."""
        kinds = [self._classes_of(word) for word, _ in tokens]
        yield from (f"k {kind}" for each in kinds for kind in each)
        in_order = [each[0].upper() if each else self._plain(shape) for each, shape in zip(kinds, shapes, strict=True)]
        yield from _pattern(in_order, "c")

    def _plain(self, shape: str) -> str:
        return shape if shape in ("<N>", "<C>") or shape in self.function else "_"

    def _classes_of(self, word: str) -> tuple[str, ...]:
        stems = (word, *(word[: -len(end)] for end in _PLURALS if word.endswith(end)))
        return next((self.classes[stem] for stem in stems if stem in self.classes), ())

    def _shape(self, word: str, written: str, *, first: bool) -> str:
        """Return a small word as it is, and of any other word only what it looks like."""
        if word in self.function or not (word[0].isalnum() or word[0] == "_"):
            return word
        if any(char.isdigit() for char in word):
            return "<N>"
        if not first and written[:1].isupper():
            return "<C>"
        return next((f"<{end}>" for end in self.endings if word.endswith(end) and len(word) > len(end) + 2), "<w>")


@lru_cache
def probe(language: str) -> Probe:
    """Return the probe of a language."""
    words = files("holdfast.learning") / "words"
    data = tomllib.loads((words / f"classifier_{language}.toml").read_text("utf-8"))
    classes: dict[str, tuple[str, ...]] = {}
    for name, members in data["classes"].items():
        for word in members.split():
            classes[word] = (*classes.get(word, ()), name)
    return Probe(
        function=frozenset(data["function"].split()),
        endings=tuple(data["endings"].split()),
        classes=classes,
        weights=json.loads((words / "classifier.json").read_text("utf-8"))[language],
    )


def _pattern(shapes: Sequence[str], mark: str) -> Iterator[str]:
    """Yield the shapes of a clause, pairs of them, and how it begins."""
    yield from (f"{mark} {shape}" for shape in shapes)
    yield from (f"{mark}{mark} {one} {other}" for one, other in pairwise(["^", *shapes, "$"]))
    yield f"{mark}^ {' '.join(shapes[:2])}"


def _judged(reading: ClauseReading) -> Iterator[str]:
    """Yield what rules and cues make of a clause."""
    yield from (f"q {cue}" for cue in reading.cues)
    enough = reading.weight >= _ENOUGH
    if reading.passing:
        yield "d passing"
    elif reading.ruled:
        yield "d rule"
        if enough:
            yield "d both"
    elif enough:
        yield "d cues"
    if not reading.ruled and _NEAR <= reading.weight < _ENOUGH:
        yield "d near"
    if not reading.ruled and reading.weight <= 0:
        yield "d nothing"


def _measured(reading: ClauseReading, tokens: Iterable[tuple[str, str]], function_words: int) -> dict[str, float]:
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
