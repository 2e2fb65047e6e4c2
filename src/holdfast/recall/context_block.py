"""The block for a system prompt: what is pinned first and unchanged, then what is relevant, within a budget.

Stored text is data here. Each line is folded to one line and its angle brackets are escaped, and the block's
tags carry a value nobody who wrote into memory could know, so that no text can close it or open another.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from holdfast.text.clean import count_tokens, escape_line
from holdfast.types import Context, Hit

_MAX_LINE_CHARACTERS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWords:
    """The block's own words in one language."""

    intro: str
    pinned: str
    relevant: str
    said: str
    since: str


@cache
def block_words(language: str | None) -> BlockWords:
    """Return the words in a language; English where it has none of its own."""
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
    """Pack hits into a block of at most ``max_tokens``; a line that does not fit makes way for shorter ones."""
    own = block_words(language)
    opening, closing = f'<memory id="{nonce}">\n{own.intro}', f'</memory id="{nonce}">'
    budget = max_tokens - count_tokens(f"{opening}\n{own.pinned}\n{own.relevant}\n{closing}")
    kept: list[Hit] = []
    left_out: list[Hit] = []
    parts: list[list[str]] = [[], []]
    for part, hits in enumerate((pinned, relevant)):
        for hit in hits:
            line = _line(hit, own)
            cost = count_tokens(line + "\n")
            if cost > budget:
                left_out.append(hit)
                continue
            budget -= cost
            parts[part].append(line)
            kept.append(hit)
    if not kept:
        return with_persona(Context(text="", tokens=0, stable="", changing="", left_out=tuple(left_out)), persona)
    stable = "\n".join([opening, own.pinned, *parts[0]] if parts[0] else [opening])
    changing = "\n".join([own.relevant, *parts[1], closing] if parts[1] else [closing])
    text = f"{stable}\n{changing}"
    block = Context(
        text=text, tokens=count_tokens(text), stable=stable, changing=changing, hits=tuple(kept), left_out=tuple(left_out)
    )
    return with_persona(block, persona)


def with_persona(block: Context, persona: str | None) -> Context:
    """Put the host's own words first: they are no memory, so they count towards no budget and are left as they are."""
    own = (persona or "").strip()
    if not own:
        return block
    text = f"{own}\n\n{block.text}" if block.text else own
    stable = f"{own}\n\n{block.stable}" if block.stable else own
    return replace(block, text=text, stable=stable, tokens=count_tokens(text))


def _line(hit: Hit, own: BlockWords) -> str:
    """Return one hit as one line, with its date and, where somebody said it, who."""
    text = escape_line(str(hit))
    if len(text) > _MAX_LINE_CHARACTERS:
        text = text[: _MAX_LINE_CHARACTERS - 3].rstrip() + "..."
    date = hit.at.date().isoformat()
    if hit.message:
        who = escape_line(hit.message.speaker or hit.message.role)
        text = f"({date}, {who} {own.said}) {text}"
        return (
            f"- {text} ({own.since}: {escape_line(str(hit.successor))[:_MAX_LINE_CHARACTERS]})" if hit.successor else f"- {text}"
        )
    return f"- ({date}) {text}"
