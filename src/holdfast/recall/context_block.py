"""The default context block: pinned memories first, then relevant hits, within a token budget.

Stored text cannot close the block or open another one. Each hit becomes one line, and angle brackets in its text are
escaped. The tags of the block contain a nonce, a secret value that stored text cannot know.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from holdfast.text.clean import count_tokens, escape_line
from holdfast.types import Context, Hit

_MAX_LINE_CHARACTERS = 600
_MAX_QUESTION_CHARACTERS = 160
"""Maximum length of the question that is shown with a message that answers it."""
_MIN_ANSWER_SCORE = 0.15
"""Minimum score of the best hit for a heading that promises an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWords:
    """The fixed phrases of a context block in one language."""

    intro: str
    pinned: str
    relevant: str
    related: str
    said: str
    asked: str
    since: str


@cache
def block_words(language: str | None) -> BlockWords:
    """Return the phrases for a language, or the English ones if that language has none."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "block.toml").read_text("utf-8"))
    return BlockWords(**table.get(language or "en", table["en"]))


def render_block(
    pinned: Sequence[Hit],
    relevant: Sequence[Hit],
    *,
    max_tokens: int,
    nonce: str,
    language: str | None = None,
    persona: str | None = None,
) -> Context:
    """Render hits as a block of at most ``max_tokens``. A hit that does not fit is skipped; shorter hits after it may fit.

    Hits that are not relevant are left out. If even the best hit probably does not answer the question, the heading says so.
    """
    words = block_words(language)
    opening, closing = f'<memory id="{nonce}">\n{words.intro}', f'</memory id="{nonce}">'
    heading = max(words.relevant, words.related, key=count_tokens)
    budget = max_tokens - count_tokens(f"{opening}\n{words.pinned}\n{heading}\n{closing}")
    kept: list[Hit] = []
    left_out: list[Hit] = []
    parts: list[list[str]] = [[], []]
    for part, hits in enumerate((pinned, relevant)):
        for hit in hits:
            if part and not hit.is_relevant:
                left_out.append(hit)
                continue
            line = _line(hit, words)
            cost = count_tokens(line + "\n")
            if cost > budget:
                left_out.append(hit)
                continue
            budget -= cost
            parts[part].append(line)
            kept.append(hit)
    if not kept:
        return with_persona(Context(text="", tokens=0, stable="", changing="", left_out=tuple(left_out)), persona)
    stable = "\n".join([opening, words.pinned, *parts[0]] if parts[0] else [opening])
    changing = "\n".join([_heading(relevant, words), *parts[1], closing] if parts[1] else [closing])
    text = f"{stable}\n{changing}"
    block = Context(
        text=text, tokens=count_tokens(text), stable=stable, changing=changing, hits=tuple(kept), left_out=tuple(left_out)
    )
    return with_persona(block, persona)


def with_persona(block: Context, persona: str | None) -> Context:
    """Put the host's persona text before the context. The persona is not escaped and does not use up the token budget.

    The ``tokens`` of the returned context include the persona.
    """
    persona = (persona or "").strip()
    if not persona:
        return block
    text = f"{persona}\n\n{block.text}" if block.text else persona
    stable = f"{persona}\n\n{block.stable}" if block.stable else persona
    return replace(block, text=text, stable=stable, tokens=count_tokens(text))


def _heading(relevant: Sequence[Hit], words: BlockWords) -> str:
    """Return the heading of the relevant hits. It promises an answer only if the best hit is likely to be one."""
    return words.relevant if max(hit.score for hit in relevant) >= _MIN_ANSWER_SCORE else words.related


def _line(hit: Hit, words: BlockWords) -> str:
    """Return a hit as one line, with its date and, for a message, its speaker."""
    text = escape_line(str(hit))
    if len(text) > _MAX_LINE_CHARACTERS:
        text = text[: _MAX_LINE_CHARACTERS - 3].rstrip() + "..."
    date = hit.at.date().isoformat()
    if hit.message:
        speaker = escape_line(hit.message.speaker or hit.message.role)
        asked = f'{words.asked} "{escape_line(hit.asked)[:_MAX_QUESTION_CHARACTERS]}", ' if hit.asked else ""
        line = f"- ({date}, {asked}{speaker} {words.said}) {text}"
        if hit.successor is None:
            return line
        return f"{line} ({words.since}: {escape_line(str(hit.successor))[:_MAX_LINE_CHARACTERS]})"
    return f"- ({date}) {text}"
