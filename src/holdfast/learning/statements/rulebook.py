"""Load the rules that recognize statements from the files in ``learning/words``, one file per language."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from holdfast.runtime.regex import regex

StatementKind: TypeAlias = Literal["fact", "decision", "event"]
StatementType: TypeAlias = Literal["personal", "preference", "knowledge", "event"]

LANGUAGES = ("en", "es")
SINGLE_KEYS = frozenset(
    "name nombre birthday cumpleanos contact contacto home ubicacion work trabajo study estudios diet dieta language idioma".split()
)
"""Keys of attributes that are stored separately. A sentence with several of them becomes several statements."""
_GROUP = regex(r"<([a-z_0-9]+)>")
_SUBJECTS: Mapping[str, Mapping[str, str]] = {"en": {"i": "i", "am": "i'm", "have": "i've"}, "es": {"am": "soy"}}
_WHITESPACE = regex(r"\s+")
_MAX_DEPTH = 4
"""Maximum nesting depth of word groups. A word group is a named part of a pattern, and can refer to other groups."""
_MAX_DOUBT_WORDS = 6
"""Number of words at the beginning of a clause that are searched for doubt, such as "maybe".

With such a word, the whole clause counts as vague.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRule:
    """A pattern for one type of statement, such as "I live in ...", with the properties of the resulting memory."""

    key: str
    kind: StatementKind
    type: StatementType
    importance: float
    temporary: bool
    instructs: bool
    """True for an instruction about all replies, which is kept even if the sentence reader takes it for a single request."""
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None
    unless: re.Pattern[str] | None

    def fits(self, clause: str, start: int = 0) -> bool:
        """Return True if the rule matches a clause from the position ``start``.

        The clause must be in lower case and without accents.
        """
        return bool(
            self.pattern.match(clause, start)
            and (self.needs is None or self.needs.search(clause))
            and (self.unless is None or not self.unless.search(clause))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulebook:
    """The rules of one language."""

    language: str
    rules: tuple[StatementRule, ...]
    filler: re.Pattern[str]
    """Matches introductory words that are not part of a statement, such as "by the way"."""
    asked: re.Pattern[str]
    """Matches a request to remember the text that follows it."""
    asked_after: re.Pattern[str]
    """Matches a request to remember the text that precedes it."""
    correction: re.Pattern[str]
    when: re.Pattern[str]
    prefix: re.Pattern[str]
    """Matches words at the beginning of a statement that belong to it, such as "for the archive" or "every Sunday"."""
    elided: Mapping[str, re.Pattern[str]]
    """Maps words that speakers often omit, such as "i've", to a pattern of clauses without them ("been vegan since May").

    If no rule matches such a clause, the rules are tried again with the words inserted.
    """
    signs: Mapping[str, re.Pattern[str]]

    def find(self, clause: str) -> StatementRule | None:
        """Return the first rule that matches a clause, or None. The clause must be in lower case and without accents.

        If no rule matches the whole clause, the rules are tried on the text after a prefix such as "every Sunday". If no rule
        matches that text, words that people often omit, such as "I've", are put before the clause, and the rules are tried
        again.
        """
        rule = self._first(clause, 0)
        for start in self._after_prefix(clause):
            rule = rule or self._first(clause, start)
        for subject, pattern in self.elided.items():
            if rule is None and pattern.match(clause):
                rule = self._first(f"{subject} {clause}", 0)
        return rule

    def states(self, clause: str) -> bool:
        """Return True if a rule matches a clause, and the clause is neither temporary nor vague.

        The clause must be in lower case and without accents.
        """
        rule = self.find(clause)
        return rule is not None and not self.is_passing(clause, rule)

    def is_passing(self, clause: str, rule: StatementRule) -> bool:
        """Return True if a clause that ``rule`` matches is not worth keeping, because it is only temporary or vague.

        The clause must be folded (lower case, without accents).
        """
        return self.shows("momentary", clause) or (rule.kind != "decision" and self._is_vague(clause))

    def _is_vague(self, clause: str) -> bool:
        return self.shows("vague", " ".join(clause.split(",", maxsplit=1)[0].split()[:_MAX_DOUBT_WORDS]))

    def _after_prefix(self, clause: str) -> list[int]:
        """Return the positions in a clause at which a statement can begin after a prefix such as "every Sunday".

        There is one position after each word of the prefix. The list is empty if the clause has no prefix.
        """
        prefix = self.prefix.match(clause)
        return [] if prefix is None else [space.end() for space in _WHITESPACE.finditer(clause, 0, prefix.end())]

    def _first(self, clause: str, start: int) -> StatementRule | None:
        return next((rule for rule in self.rules if rule.fits(clause, start)), None)

    def shows(self, sign: str, text: str) -> bool:
        """Return True if a text matches the pattern named ``sign``, such as ``joke`` or ``question``.

        The text must be folded (lower case, without accents).
        """
        return bool(self.signs[sign].search(text))


@lru_cache
def rulebook(language: str) -> Rulebook:
    """Return the rulebook of a language."""
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
        when=regex(words["when"]),
        prefix=regex(subject["prefix"]),
        elided={first: regex(subject[name]) for name, first in _SUBJECTS[data["language"]].items()},
        signs={name: regex(_fill(pattern, words)) for name, pattern in data["signs"].items()},
    )


def rulebooks(language: str | None) -> tuple[Rulebook, ...]:
    """Return the rulebooks of all languages, starting with the rulebook of the given language.

    The other rulebooks are included because a detected language can be wrong.
    """
    return tuple(rulebook(code) for code in sorted(LANGUAGES, key=lambda code: code != language))


def _rule(row: Mapping[str, Any], words: Mapping[str, str]) -> StatementRule:
    return StatementRule(
        key=row["key"],
        kind=row.get("kind", "fact"),
        type=row.get("type", "personal"),
        importance=float(row["importance"]),
        temporary=row.get("temporary", False),
        instructs=row.get("instructs", False),
        pattern=_any(row["patterns"], words),
        needs=regex(_fill(row["needs"], words)) if "needs" in row else None,
        unless=regex(_fill(row["unless"], words)) if "unless" in row else None,
    )


def _any(patterns: Sequence[str], words: Mapping[str, str], end: str = "") -> re.Pattern[str]:
    return regex(f"(?:{'|'.join(_fill(pattern, words) for pattern in patterns)}){end}")


def _expand(words: Mapping[str, str]) -> dict[str, str]:
    expanded = dict(words)
    for _ in range(_MAX_DEPTH):
        expanded = {name: _fill(pattern, expanded) for name, pattern in expanded.items()}
    return expanded


def _fill(pattern: str, words: Mapping[str, str]) -> str:
    return _GROUP.sub(lambda match: words[match[1]], pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement worth keeping, as it was written."""

    text: str
    kind: StatementKind
    type: StatementType
    key: str
    """The attribute that the statement describes, such as name, work, diet or plan, in the language of the statement."""
    importance: float
    language: str
    asked: bool = False
    """True if the speaker asked the assistant to remember the statement."""
    temporary: bool = False
    """True if the statement is true only until a day in the near future."""
    corrects: bool = False
    """True if the statement corrects an earlier statement."""
    observed: bool = False
    """True if the statement is an observation of the assistant that the user confirmed."""
    ruled: bool = True
    """True if a rule found the statement, so that its subject is known. False if only the sentence reader found it."""
    said: str = ""
    """The speaker's own words, without added dates or context. Empty if they equal the text."""
    context: str = ""
    """The words of other sentences or messages at the beginning of the text, such as the question that the speaker answers."""
    happened: bool = False
    """True if the statement reports a past event, so that a date in it is the date of the event."""
    elided: bool = False
    """True if the text has no subject of its own, as in "been vegan since May", or begins with words of another sentence."""
