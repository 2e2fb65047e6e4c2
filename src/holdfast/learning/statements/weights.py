"""Weighing a clause that no rule fits: small cues add up to whether it tells something lasting of the speaker's life.

A cue is a pattern with a weight, read from ``words``. Cues of the group ``tie`` bind a clause to the speaker; only the
strongest of them counts, and without one nothing is kept. All others are added up, and names and numbers weigh in.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TIE = "tie"
_THIN = "thin"
_NAME = re.compile(r"(?<=[\w,;)] )(?!I\b)[A-ZÁÉÍÓÚÑ][\w&.'’-]*[\w]")
"""A capital in the middle of a clause; "I" is not a name."""
_NUMBER = re.compile(r"\d")
_MAX_NAMES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One sign that a clause is worth keeping, or is not."""

    name: str
    group: str
    weight: float
    pattern: re.Pattern[str]
    key: str | None
    """What a clause that shows this cue is about, where the cue tells."""
    written: bool
    """It reads the clause as written: accents tell "saqué" from "saque", and a capital tells a name."""

    def shows(self, text: str, folded: str) -> bool:
        """Tell whether a clause, as written and folded, shows the cue."""
        return self.pattern.search(text if self.written else folded) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class CueScore:
    """How much a clause weighs, and what it seems to be about."""

    weight: float
    key: str | None
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CueScale:
    """The cues of one language, and how much it takes to be kept."""

    threshold: float
    name: float
    number: float
    thin: float
    """What is taken off where only thin cues, and no name or number, speak for a clause: "my tea is gone"."""
    cues: tuple[Cue, ...]

    def weigh(self, text: str, folded: str) -> CueScore:
        """Return what a clause, as written and folded, weighs; nothing when it has no tie to the speaker."""
        shown = [cue for cue in self.cues if cue.shows(text, folded)]
        tie = max((cue.weight for cue in shown if cue.group == _TIE), default=0.0)
        if tie <= 0:
            return CueScore(weight=0.0, key=None, cues=())
        rest = sum(cue.weight for cue in shown if cue.group != _TIE)
        substance = self._substance(text)
        if not substance and all(cue.group in (_TIE, _THIN) or cue.weight < 0 for cue in shown):
            rest -= self.thin
        key = next((cue.key for cue in shown if cue.key is not None and cue.weight > 0), None)
        return CueScore(weight=tie + rest + substance, key=key, cues=tuple(cue.name for cue in shown))

    def keeps(self, text: str, folded: str) -> bool:
        """Tell whether a clause weighs enough to be kept."""
        return self.weigh(text, folded).weight >= self.threshold

    def _substance(self, text: str) -> float:
        names = min(sum(1 for _ in _NAME.finditer(text)), _MAX_NAMES)
        return self.name * (names > 0) + (self.number if _NUMBER.search(text) else 0.0)


def cue_scale(data: Mapping[str, Any], fill: Mapping[str, str]) -> CueScale:
    """Return the scale that the ``cues`` table of a language describes; ``fill`` holds the groups its patterns name."""
    return CueScale(
        threshold=float(data["threshold"]),
        name=float(data["name"]),
        number=float(data["number"]),
        thin=float(data["thin"]),
        cues=tuple(_cues(data["cue"], fill)),
    )


def _cues(rows: Sequence[Mapping[str, Any]], fill: Mapping[str, str]) -> Iterator[Cue]:
    for row in rows:
        pattern = re.sub(r"<([a-z_0-9]+)>", lambda match: fill[match[1]], row["pattern"])
        yield Cue(
            name=row["name"],
            group=row.get("group", ""),
            weight=float(row["weight"]),
            pattern=re.compile(pattern),
            key=row.get("key"),
            written=row.get("written", False),
        )
