"""Context blocks in the layout of a preset: sections that consist of a heading, lines and an ending.

Stored text is treated as data: each item becomes one line with its angle brackets escaped.
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

_STABLE_SOURCES = ("pinned", "fixed")
"""Sources whose sections do not change between turns.

If such sections come first, they form the stable part of the context. Prompt caches can reuse the stable part.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionWords:
    """The fixed phrases of a section in one language."""

    line: str
    opening: str = ""
    closing: str = ""


@cache
def section_words(name: str, language: str | None) -> SectionWords:
    """Return the fixed phrases of a section in a language. If there are none, return the English phrases.

    If there are no English phrases either, return those of another language.
    """
    table = tomllib.loads((resources.files("holdfast.prompts") / "sections.toml").read_text("utf-8"))[name]
    return SectionWords(**(table.get(language or "en") or table.get("en") or next(iter(table.values()))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _FilledSection:
    """A rendered section, with the hits that it shows and the hits that did not fit."""

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
    """Render the sections within a token budget. Empty sections are left out."""
    language = layout.language or language
    line_context = _LineContext(now=now, language=language)
    # Fixed text is always shown, so its tokens are reserved first.
    budget = max_tokens - sum(
        count_tokens(section_words(section.words, language).line) for section in layout.sections if section.source == "fixed"
    )
    parts: list[tuple[Section, _FilledSection]] = []
    for section in layout.sections:
        words = section_words(section.words, language)
        if section.source == "fixed":
            filled = _FilledSection(text=words.line)
        elif section.source == "state":
            filled = _state(words, budget, values)
        else:
            filled = _fill(section, words, gather(section), budget=budget, values=values, line_context=line_context)
        budget -= filled.tokens
        parts.append((section, filled))
    return with_persona(_joined(parts), persona)


def _joined(parts: Sequence[tuple[Section, _FilledSection]]) -> Context:
    """Join the sections that are not empty into one context."""
    shown = [(section, filled) for section, filled in parts if filled.text]
    stable = len(list(itertools.takewhile(lambda part: part[0].source in _STABLE_SOURCES, shown)))
    texts = [filled.text for _, filled in shown]
    whole = "\n\n".join(texts)
    return Context(
        text=whole,
        tokens=count_tokens(whole),
        stable="\n\n".join(texts[:stable]),
        changing="\n\n".join(texts[stable:]),
        hits=tuple(hit for _, filled in parts for hit in filled.shown),
        left_out=tuple(hit for _, filled in parts for hit in filled.left_out),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineContext:
    """Current time and language, which are needed to render a line."""

    now: datetime
    language: str | None


def _state(words: SectionWords, budget: int, values: Mapping[str, str]) -> _FilledSection:
    """Return the section that shows the host's state. It is empty if the state does not fit into the budget."""
    text = values.get("state", "")
    line = words.line.format(text=escape_line(text)) if text else ""
    cost = count_tokens(line)
    return _FilledSection(text=line, tokens=cost) if line and cost <= budget else _FilledSection()


def _fill(
    section: Section,
    words: SectionWords,
    hits: Sequence[Hit],
    *,
    budget: int,
    values: Mapping[str, str],
    line_context: _LineContext,
) -> _FilledSection:
    """Return the section with as many hits as fit into the budget."""
    frame = words.opening.format(**{name: escape_line(value) for name, value in values.items()})
    used = count_tokens(f"{frame}\n{words.closing}")
    lines: list[str] = []
    shown: list[Hit] = []
    left_out: list[Hit] = []
    for hit in hits:
        if section.source == "relevant" and not hit.is_relevant:
            left_out.append(hit)
            continue
        line = _line(hit, words.line, number=len(lines) + 1, whole=section.source == "pinned", line_context=line_context)
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


def _line(hit: Hit, template: str, *, number: int, whole: bool, line_context: _LineContext) -> str:
    """Render a hit as a line. With ``whole``, the line breaks of its text are kept."""
    memory = hit.memory
    text = "\n".join(map(escape_line, hit.text.strip().splitlines())) if whole else escape_line(hit.text)
    key = escape_line(memory.key) if memory and memory.key else ""
    line = template.format(
        text=text,
        key=key,
        number=number,
        topic=escape_line(memory.topic or "") if memory else "",
        app=escape_line(memory.scope.app or "") if memory else "",
        date=(memory.created_at if memory else hit.at).date().isoformat(),
        since=hit.at.date().isoformat(),
        ago=ago(hit.at, line_context.now, line_context.language),
    )
    return line.replace("- : ", "- ") if not key else line
