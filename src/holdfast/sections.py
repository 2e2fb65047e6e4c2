"""A system prompt laid out in the words of a preset: sections with a heading, lines and an end.

Stored text is data here as everywhere: each line of it is folded to one and its angle brackets are escaped.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from holdfast.presets.base import Layout, Section
from holdfast.text.clean import count_tokens, escape_line
from holdfast.types import Context, Hit


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


def render_sections(
    layout: Layout,
    gather: Callable[[Section], Sequence[Hit]],
    *,
    max_tokens: int,
    values: Mapping[str, str],
    language: str | None = None,
) -> Context:
    """Fill the sections within a token budget; one that stays empty is left out."""
    budget = max_tokens
    parts: list[tuple[Section, str]] = []
    kept: list[Hit] = []
    left_out: list[Hit] = []
    for section in layout.sections:
        words = section_words(section.words, layout.language or language)
        text, used, shown, rest = _fill(section, words, gather, budget, values)
        left_out += rest
        if text:
            budget -= used
            parts.append((section, text))
            kept += shown
    stable = "\n\n".join(text for section, text in parts if section.source == "pinned")
    changing = "\n\n".join(text for section, text in parts if section.source != "pinned")
    whole = "\n\n".join(text for _, text in parts)
    return Context(
        text=whole, tokens=count_tokens(whole), stable=stable, changing=changing, hits=tuple(kept), left_out=tuple(left_out)
    )


def _fill(
    section: Section, words: SectionWords, gather: Callable[[Section], Sequence[Hit]], budget: int, values: Mapping[str, str]
) -> tuple[str, int, list[Hit], list[Hit]]:
    """Return a section's text, its tokens, and the hits that are in it and that did not fit."""
    if section.source == "state":
        text = values.get("state", "")
        line = words.line.format(text=escape_line(text)) if text else ""
        return (line, count_tokens(line), [], []) if line and count_tokens(line) <= budget else ("", 0, [], [])
    frame = words.opening.format(**{name: escape_line(value) for name, value in values.items()})
    used = count_tokens(f"{frame}\n{words.closing}")
    lines: list[str] = []
    shown: list[Hit] = []
    left_out: list[Hit] = []
    for hit in gather(section):
        line = _line(hit, words.line, number=len(lines) + 1, whole=section.source == "pinned")
        cost = count_tokens(line + "\n")
        if used + cost > budget:
            left_out.append(hit)
            continue
        used += cost
        lines.append(line)
        shown.append(hit)
    if not lines:
        return "", 0, [], left_out
    return "\n".join(part for part in (frame, *lines, words.closing) if part), used, shown, left_out


def _line(hit: Hit, form: str, *, number: int, whole: bool) -> str:
    """Return a hit in the form of a line; only a ``whole`` document keeps its own lines."""
    found = hit.memory
    text = "\n".join(map(escape_line, hit.text.strip().splitlines())) if whole else escape_line(hit.text)
    key = escape_line(found.key) if found and found.key else ""
    date = (found.created_at if found else hit.at).date().isoformat()
    line = form.format(text=text, key=key, date=date, number=number)
    return line.replace("- : ", "- ") if not key else line
