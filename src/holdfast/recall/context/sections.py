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

from holdfast.learning.summaries.importance import importance_of
from holdfast.learning.summaries.lasting import is_lasting
from holdfast.presets.base import PromptLayout, Section
from holdfast.recall.context.block import with_persona
from holdfast.recall.traces.search_log import leave_out
from holdfast.text.clean import count_tokens, escape_line, one_line
from holdfast.text.dates import ago
from holdfast.types import Context, Hit

_STABLE_SOURCES = ("pinned", "fixed", "all", "newest")
"""Sources of sections that usually stay the same between turns.

If such sections come first, they form the stable part of the context, which prompt caches can reuse. A section whose hits
come from a recall is not stable, because it depends on the query.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionWords:
    """The fixed phrases of a section in one language."""

    line: str
    opening: str = ""
    closing: str = ""


@cache
def section_words(name: str, language: str | None) -> SectionWords:
    """Return the fixed phrases of a section in a language. If there is no translation, return the English phrases.

    If there are no English phrases either, return the phrases of another language.
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
    """Render the sections of a layout within a token budget. Empty sections are left out.

    ``gather`` returns the hits for a section. ``values`` contains the texts for the placeholders in the sections, such as the
    name of the app. ``persona`` is the host's own text, which comes before the sections.
    """
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
    stable = len(list(itertools.takewhile(lambda part: _is_stable(*part), shown)))
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


def _is_stable(section: Section, filled: _FilledSection) -> bool:
    """Return True if a section does not depend on the query.

    A section whose hits have reasons depends on the query, because only the hits of a recall have reasons.
    """
    return section.source in _STABLE_SOURCES and not any(hit.why for hit in filled.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineContext:
    """Current time and language, which are needed to render a line."""

    now: datetime
    language: str | None


def _state(words: SectionWords, budget: int, values: Mapping[str, str]) -> _FilledSection:
    """Return the section that shows the state of the host application. It is empty if the state does not fit into the budget."""
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
    """Return the section with the hits that fit into the budget. The section is empty if no hit fits.

    Messages that do not come from the user are left out, and so are hits whose ``left_out_by`` is already set. A section of
    relevant hits also leaves out hits that are not relevant. ``words`` are the fixed phrases of the section, and ``values``
    are the texts for the placeholders in these phrases.
    """
    frame = words.opening.format(**{name: escape_line(value) for name, value in values.items()})
    used = count_tokens(f"{frame}\n{words.closing}")
    lines: list[str] = []
    shown: list[Hit] = []
    left_out: list[Hit] = [hit for hit in hits if hit.left_out_by is not None]
    hits = [hit for hit in hits if hit.left_out_by is None]
    fitting = _most_important(section, words, hits, budget=budget - used, line_context=line_context)
    for hit in hits:
        foreign = hit.message is not None and hit.provenance != "user"  # these layouts do not label their lines
        too_weak = section.source == "relevant" and not hit.is_relevant
        if foreign or too_weak or (fitting is not None and hit.id not in fitting):
            left_out.append(leave_out(hit, "origin" if foreign else "floor" if too_weak else "budget"))
            continue
        shortened = _shortened(hit.text if hit.message is None else _quoted(hit, line_context.language), section.max_characters)
        shortened += _later(hit, line_context.language)
        line = _line(hit, shortened, words.line, number=len(lines) + 1, whole=section.source == "pinned", context=line_context)
        cost = count_tokens(line + "\n")
        if used + cost > budget:
            left_out.append(leave_out(hit, "budget"))
            continue
        used += cost
        lines.append(line)
        shown.append(hit)
    if not lines:
        return _FilledSection(left_out=tuple(left_out))
    text = "\n".join(part for part in (frame, *lines, words.closing) if part)
    return _FilledSection(text=text, tokens=used, shown=tuple(shown), left_out=tuple(left_out))


def _most_important(
    section: Section, words: SectionWords, hits: Sequence[Hit], *, budget: int, line_context: _LineContext
) -> set[str] | None:
    """Return the ids of the hits that a section shows, the most important that fit into the budget. Return None for no choice.

    A choice is made only if the section lists all memories and not all of them fit. In every other case, the result is None,
    and the section takes its hits in their order. This includes a section whose hits were selected by a search, because there
    are too many memories to list.
    """
    if section.source != "all" or any(hit.why for hit in hits):
        return None
    costs = {
        hit.id: count_tokens(
            _line(hit, hit.text + _later(hit, line_context.language), words.line, number=1, whole=False, context=line_context)
            + "\n"
        )
        for hit in hits
    }
    if sum(costs.values()) <= budget:
        return None
    chosen: set[str] = set()
    for hit in sorted(hits, key=_importance, reverse=True):
        if costs[hit.id] <= budget:
            budget -= costs[hit.id]
            chosen.add(hit.id)
    return chosen


def _importance(hit: Hit) -> tuple[bool, float, datetime]:
    """Return the sort key of a memory: lasting facts (such as health) first, then by importance, then newest first."""
    memory = hit.memory
    if memory is None:
        return False, 0.0, hit.at
    return is_lasting(memory), max(memory.importance, importance_of(str(memory))), memory.valid_from


def _quoted(hit: Hit, language: str | None) -> str:
    """Return a line that reports what the user said in a message, such as ``The user said: "..."``.

    If the message answers a question, the line includes the question. If a newer memory has replaced what the message says,
    the line includes that memory.
    """
    words = _message_words(language)
    said = words["answered" if hit.asked else "said"].format(text=one_line(hit.text).strip(), asked=one_line(hit.asked or ""))
    return said if hit.successor is None else f"{said} ({words['since']}: {one_line(str(hit.successor))})"


def _later(hit: Hit, language: str | None) -> str:
    """Return the later sentences that may have made a hit outdated, as an addition to its line. Empty if there are none."""
    return f" ({_message_words(language)['later']}: {'; '.join(hit.later)})" if hit.later else ""


@cache
def _message_words(language: str | None) -> Mapping[str, str]:
    table = tomllib.loads((resources.files("holdfast.prompts") / "sections.toml").read_text("utf-8"))["message"]
    words: Mapping[str, str] = table.get(language or "en") or table["en"]
    return words


def _shortened(text: str, max_characters: int | None) -> str:
    """Return a text of at most ``max_characters``, cut at a word."""
    if max_characters is None or len(text) <= max_characters:
        return text
    head = text[: max_characters - 1]
    return f"{head.rpartition(' ')[0] or head}…"


def _line(hit: Hit, shown: str, template: str, *, number: int, whole: bool, context: _LineContext) -> str:
    """Render a hit as a line. ``shown`` is the text to show, and ``template`` is the format of the line.

    ``number`` is the position of the line in the section. With ``whole``, the line breaks of the text are kept.
    """
    memory = hit.memory
    text = "\n".join(map(escape_line, shown.strip().splitlines())) if whole else escape_line(shown)
    key = escape_line(memory.key) if memory and memory.key else ""
    line = template.format(
        text=text,
        key=key,
        number=number,
        topic=escape_line(memory.topic or "") if memory else "",
        app=escape_line(memory.scope.app or "") if memory else "",
        date=(memory.created_at if memory else hit.at).date().isoformat(),
        since=hit.at.date().isoformat(),
        ago=ago(hit.at, context.now, context.language),
    )
    return line.replace("- : ", "- ") if not key else line
