"""A system prompt laid out in the words of a preset: sections with a heading, lines and an end.

Stored text is data here as everywhere: each line of it is folded to one and its angle brackets are escaped.
"""

import itertools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources

from holdfast.presets.base import PromptLayout, Section
from holdfast.recall.context_block import with_persona
from holdfast.text.clean import count_tokens, escape_line
from holdfast.text.dates import ago
from holdfast.types import Context, Hit

_STEADY = ("pinned", "fixed")
"""Sources whose sections do not change from turn to turn; those that stand first are the context's stable part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionWords:
    """The words of one section in one language."""

    line: str
    opening: str = ""
    closing: str = ""


@cache
def section_words(name: str, language: str | None) -> SectionWords:
    """Return a section's words in a language; in English, or in the first it has, where it has none."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "sections.toml").read_text("utf-8"))[name]
    return SectionWords(**(table.get(language or "en") or table.get("en") or next(iter(table.values()))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _FilledSection:
    """A section with its lines."""

    text: str = ""
    tokens: int = 0
    shown: tuple[Hit, ...] = ()
    left_out: tuple[Hit, ...] = ()


def render_sections(
    layout: PromptLayout,
    gather: Callable[[Section], Sequence[Hit]],
    *,
    max_tokens: int,
    values: Mapping[str, str],
    now: datetime,
    language: str | None = None,
    persona: str | None = None,
) -> Context:
    """Fill the sections within a token budget; one that stays empty is left out."""
    spoken = layout.language or language
    # Words that are always there come first in the budget, wherever they stand.
    budget = max_tokens - sum(
        count_tokens(section_words(section.words, spoken).line) for section in layout.sections if section.source == "fixed"
    )
    parts: list[tuple[Section, _FilledSection]] = []
    for section in layout.sections:
        words = section_words(section.words, spoken)
        if section.source == "fixed":
            parts.append((section, _FilledSection(text=words.line)))
            continue
        filled = (
            _state(words, budget, values)
            if section.source == "state"
            else _fill(section, words, gather(section), budget=budget, values=values, told=_LineContext(now=now, language=spoken))
        )
        budget -= filled.tokens
        parts.append((section, filled))
    filled_ones = [(section, filled) for section, filled in parts if filled.text]
    steady = len(list(itertools.takewhile(lambda part: part[0].source in _STEADY, filled_ones)))
    texts = [filled.text for _, filled in filled_ones]
    whole = "\n\n".join(texts)
    context = Context(
        text=whole,
        tokens=count_tokens(whole),
        stable="\n\n".join(texts[:steady]),
        changing="\n\n".join(texts[steady:]),
        hits=tuple(hit for _, filled in parts for hit in filled.shown),
        left_out=tuple(hit for _, filled in parts for hit in filled.left_out),
    )
    return with_persona(context, persona)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineContext:
    """When, and in which language, a line is told."""

    now: datetime
    language: str | None


def _state(words: SectionWords, budget: int, values: Mapping[str, str]) -> _FilledSection:
    """Return the state the host gave, in one line."""
    text = values.get("state", "")
    line = words.line.format(text=escape_line(text)) if text else ""
    cost = count_tokens(line)
    return _FilledSection(text=line, tokens=cost) if line and cost <= budget else _FilledSection()


def _fill(
    section: Section, words: SectionWords, hits: Sequence[Hit], *, budget: int, values: Mapping[str, str], told: _LineContext
) -> _FilledSection:
    """Return a section with as many of its hits as fit."""
    frame = words.opening.format(**{name: escape_line(value) for name, value in values.items()})
    used = count_tokens(f"{frame}\n{words.closing}")
    lines: list[str] = []
    shown: list[Hit] = []
    left_out: list[Hit] = []
    for hit in hits:
        line = _line(hit, words.line, number=len(lines) + 1, whole=section.source == "pinned", told=told)
        cost = count_tokens(line + "\n")
        if used + cost > budget:
            left_out.append(hit)
            continue
        used += cost
        lines.append(line)
        shown.append(hit)
    if not lines:
        return _FilledSection(left_out=tuple(left_out))
    text = "\n".join(part for part in (frame, *lines, words.closing) if part)
    return _FilledSection(text=text, tokens=used, shown=tuple(shown), left_out=tuple(left_out))


def _line(hit: Hit, form: str, *, number: int, whole: bool, told: _LineContext) -> str:
    """Return a hit in the form of a line; only a ``whole`` document keeps its own lines."""
    found = hit.memory
    text = "\n".join(map(escape_line, hit.text.strip().splitlines())) if whole else escape_line(hit.text)
    key = escape_line(found.key) if found and found.key else ""
    line = form.format(
        text=text,
        key=key,
        number=number,
        topic=escape_line(found.topic or "") if found else "",
        app=escape_line(found.scope.app or "") if found else "",
        date=(found.created_at if found else hit.at).date().isoformat(),
        since=hit.at.date().isoformat(),
        ago=ago(hit.at, told.now, told.language),
    )
    return line.replace("- : ", "- ") if not key else line
