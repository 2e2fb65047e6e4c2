"""The rules by which statements are told from the rest, read once from the files in ``words``."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from math import inf
from typing import Any, Literal, TypeAlias

from holdfast.learning.statements.classifier import Probe, probe
from holdfast.learning.statements.weights import CueScale, cue_scale

StatementKind: TypeAlias = Literal["fact", "decision", "event"]
StatementType: TypeAlias = Literal["personal", "preference", "knowledge", "event"]

LANGUAGES = ("en", "es")
_GROUP = re.compile(r"<([a-z_0-9]+)>")
_SUBJECTS: Mapping[str, Mapping[str, str]] = {"en": {"i": "i", "am": "i'm", "have": "i've"}, "es": {"am": "soy"}}
_SPACE = re.compile(r"\s+")
_MAX_DEPTH = 4
"""Groups may name groups, a few levels down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRule:
    """One way of saying something that lasts."""

    key: str
    kind: StatementKind
    type: StatementType
    importance: float
    temporary: bool
    discovery: bool
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None
    unless: re.Pattern[str] | None

    def fits(self, clause: str, start: int = 0) -> bool:
        """Tell whether a clause, folded, says such a thing, beginning at ``start``."""
        return bool(
            self.pattern.match(clause, start)
            and (self.needs is None or self.needs.search(clause))
            and (self.unless is None or not self.unless.search(clause))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulebook:
    """What one language knows of statements."""

    language: str
    rules: tuple[StatementRule, ...]
    filler: re.Pattern[str]
    """What people say before a statement."""
    asked: re.Pattern[str]
    """A request to remember what follows."""
    asked_after: re.Pattern[str]
    """A request to remember what went before."""
    correction: re.Pattern[str]
    when: re.Pattern[str]
    prefix: re.Pattern[str]
    """Words that may stand before a statement and belong to it: "for the archive", "every Sunday"."""
    elided: Mapping[str, re.Pattern[str]]
    """What may be said without its subject, by the subject to read before it."""
    signs: Mapping[str, re.Pattern[str]]
    scale: CueScale
    """What is weighed where no rule fits."""
    probe: Probe | None
    """A second opinion; None where only rules are asked."""

    def find(self, clause: str) -> StatementRule | None:
        """Return the first rule that fits a folded clause, which may have words before it or lack its subject."""
        rule = self._first(clause, 0)
        for start in self._after_prefix(clause):
            rule = rule or self._first(clause, start)
        for subject, pattern in self.elided.items():
            if rule is None and pattern.match(clause):
                rule = self._first(f"{subject} {clause}", 0)
        return rule

    def _after_prefix(self, clause: str) -> list[int]:
        """Return where a statement may begin after words that belong to it."""
        prefix = self.prefix.match(clause)
        return [] if prefix is None else [space.end() for space in _SPACE.finditer(clause, 0, prefix.end())]

    def _first(self, clause: str, start: int) -> StatementRule | None:
        return next((rule for rule in self.rules if rule.fits(clause, start)), None)

    def shows(self, sign: str, text: str) -> bool:
        """Tell whether a folded text shows a sign, such as ``joke`` or ``question``."""
        return bool(self.signs[sign].search(text))


@lru_cache
def rulebook(language: str) -> Rulebook:
    """Return the rules of a language."""
    data = tomllib.loads((files("holdfast.learning") / "words" / f"{language}.toml").read_text("utf-8"))
    words = _expand(data["words"])
    leads, subject = data["leads"], data["subject"]
    rules = [_rule(row, words) for row in sorted(data["rule"], key=lambda row: not row.get("first", False))]
    return Rulebook(
        language=data["language"],
        rules=tuple(rules),
        filler=_any(leads["filler"], words, end=r"[\s,.!:;…–—-]*"),
        asked=_any(leads["asked"], words),
        asked_after=_any(leads["asked_after"], words),
        correction=_any(leads["correction"], words),
        when=re.compile(words["when"]),
        prefix=re.compile(subject["prefix"]),
        elided={first: re.compile(subject[name]) for name, first in _SUBJECTS[data["language"]].items()},
        signs={name: re.compile(_fill(pattern, words)) for name, pattern in data["signs"].items()},
        scale=cue_scale(data["cues"], words),
        probe=probe(data["language"]),
    )


@lru_cache
def rules_only(language: str) -> Rulebook:
    """Return the rules of a language that weigh nothing: its small words mean other things in another language."""
    nothing = CueScale(threshold=inf, name=0.0, number=0.0, thin=0.0, cues=())
    return replace(rulebook(language), scale=nothing, probe=None)


def _rule(row: Mapping[str, Any], words: Mapping[str, str]) -> StatementRule:
    return StatementRule(
        key=row["key"],
        kind=row.get("kind", "fact"),
        type=row.get("type", "personal"),
        importance=float(row["importance"]),
        temporary=row.get("temporary", False),
        discovery=row.get("discovery", False),
        pattern=_any(row["patterns"], words),
        needs=re.compile(_fill(row["needs"], words)) if "needs" in row else None,
        unless=re.compile(_fill(row["unless"], words)) if "unless" in row else None,
    )


def _any(patterns: Sequence[str], words: Mapping[str, str], end: str = "") -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(_fill(pattern, words) for pattern in patterns)}){end}")


def _expand(words: Mapping[str, str]) -> dict[str, str]:
    expanded = dict(words)
    for _ in range(_MAX_DEPTH):
        expanded = {name: _fill(pattern, expanded) for name, pattern in expanded.items()}
    return expanded


def _fill(pattern: str, words: Mapping[str, str]) -> str:
    return _GROUP.sub(lambda match: words[match[1]], pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing worth keeping, as it was said."""

    text: str
    kind: StatementKind
    type: StatementType
    key: str
    """What it is about: name, work, diet, plan and so on, in the language of the statement."""
    importance: float
    language: str
    asked: bool = False
    """The speaker asked for it to be remembered."""
    temporary: bool = False
    """It holds until a day that is near."""
    corrects: bool = False
    """It was said to put right something said before."""
    discovery: bool = False
    observed: bool = False
    """The assistant said it of the user, who confirmed it."""
    weighed: bool = False
    """No rule fitted it; it was weighed and found worth keeping."""
    elided: bool = False
    """It was weighed, and its subject is left out: "been vegan since May"."""
    faint: bool = False
    """It was weighed and is not worth keeping by itself, but may belong to what was said beside it."""
