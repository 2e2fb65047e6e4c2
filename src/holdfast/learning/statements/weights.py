"""Weigh a clause: a high weight means that it says something lasting about the speaker's life.

A cue is a pattern with a weight, read from ``learning/words``. Cues of the group ``tie`` relate a clause to the speaker.
Only the strongest tie counts, and a clause without a tie has the weight 0. The weights of all other cues, of names and
of numbers are added.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TIE = "tie"
_THIN = "thin"
_NAME = re.compile(r"(?<=[\w,;)] )(?!I\b)[A-ZÁÉÍÓÚÑ][\w&.'’-]*[\w]")
"""Matches a capitalized word in the middle of a clause, except "I"."""
_NUMBER = re.compile(r"\d")
_MAX_NAMES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A sign that a clause is worth keeping or, if its weight is negative, that it is not."""

    name: str
    group: str
    weight: float
    pattern: re.Pattern[str]
    key: str | None
    """Key of a statement with this cue; None if the cue does not determine the key."""
    written: bool
    """True if the cue is matched against the unfolded clause, where accents and capitals matter ("saqué" is not "saque")."""

    def shows(self, text: str, folded: str) -> bool:
        """Return True if the cue matches a clause, which is given as written and in folded form."""
        return self.pattern.search(text if self.written else folded) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class CueScore:
    """Weight and key of a clause, and the names of its cues."""

    weight: float
    key: str | None
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CueScale:
    """The cues of one language, and the weights of names and numbers."""

    name: float
    number: float
    thin: float
    """Weight deducted from a clause with only thin (weak) cues and no name or number: "my tea is gone"."""
    cues: tuple[Cue, ...]

    def weigh(self, text: str, folded: str) -> CueScore:
        """Return the weight of a clause, given as written and in folded form. It is 0 if no cue of the group ``tie`` matches."""
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

    def _substance(self, text: str) -> float:
        names = min(sum(1 for _ in _NAME.finditer(text)), _MAX_NAMES)
        return self.name * (names > 0) + (self.number if _NUMBER.search(text) else 0.0)


def cue_scale(data: Mapping[str, Any], fill: Mapping[str, str]) -> CueScale:
    """Build the scale from the ``cues`` table of a language. ``fill`` holds the word groups that the patterns refer to."""
    return CueScale(
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
