"""The default context block: pinned memories first, then relevant hits, within a token budget.

Stored text cannot close the block or open another block. Each hit becomes one line, and angle brackets in its text are
escaped. The tags of the block contain a nonce, a secret value that stored text cannot know. A line whose text is not
the user's own starts with its origin.
"""

import hashlib
import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources

from holdfast.recall.relevance.answers import probable_answers
from holdfast.recall.traces.search_log import leave_out
from holdfast.text.clean import count_tokens, escape_line
from holdfast.types import Context, Hit

_MAX_LINE_CHARACTERS = 600
_PINNED_CHARACTERS_PER_TOKEN = 1
"""Maximum length of a pinned line, in characters per token of the block's budget. A token has about four characters.

So one pinned line takes at most about a quarter of the budget. Without this maximum, a long pinned text, such as the
description of the user, would displace the hits in a small block.
"""
_MIN_PINNED_CHARACTERS = 200
"""A pinned line of up to this many characters is never cut, even in a small block. Most pinned facts are shorter."""
_MAX_QUESTION_CHARACTERS = 160
"""Maximum length of the question that is shown with a message that answers it."""
_NONCE_CHARACTERS = 10


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
    later: str
    assistant: str
    tool: str
    web: str
    file: str
    quoted: str


@cache
def block_words(language: str | None) -> BlockWords:
    """Return the phrases for a language. If there is no translation, return the English phrases."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "block.toml").read_text("utf-8"))
    return BlockWords(**table.get(language or "en", table["en"]))


def render_block(
    pinned: Sequence[Hit],
    relevant: Sequence[Hit],
    *,
    max_tokens: int,
    nonce_key: str,
    language: str | None = None,
    persona: str | None = None,
) -> Context:
    """Render hits as a block of at most ``max_tokens``. A hit that does not fit is skipped, but shorter hits after it are tried.

    Hits that are not relevant are left out, and so are hits whose ``left_out_by`` is already set. Hits that probably answer
    the question come first, under one heading. Hits that are probably only related to the question follow under another
    heading.

    For prompt caches, the returned context also has the same lines in two parts: ``stable`` (pinned memories) and
    ``changing`` (hits). The nonce of ``text`` is new in each block. The nonce of ``stable`` depends on ``nonce_key`` and
    the pinned lines, so it stays the same until a pinned memory changes.
    """
    words = block_words(language)
    heading = max(words.relevant, words.related, key=count_tokens)
    frames = [_sealed([words.intro, words.pinned], "0" * _NONCE_CHARACTERS)] if pinned else []
    frames.append(_sealed([words.intro, heading], "0" * _NONCE_CHARACTERS))
    max_pinned = min(_MAX_LINE_CHARACTERS, max(_PINNED_CHARACTERS_PER_TOKEN * max_tokens, _MIN_PINNED_CHARACTERS))
    filling = _Filling(words, budget=max_tokens - count_tokens("\n".join(frames)), heading_tokens=count_tokens(heading + "\n"))
    for hit in pinned:
        filling.add(hit, "pinned", max_characters=max_pinned)
    answers = probable_answers([hit for hit in relevant if hit.left_out_by is None])
    for hit in relevant:
        filling.add(
            hit if hit.left_out_by or hit.is_relevant else leave_out(hit, "floor"), "answers" if hit.id in answers else "related"
        )
    return with_persona(filling.context(nonce_key), persona)


@dataclass
class _Filling:
    """A block that is being filled with lines, until its budget of tokens is spent."""

    words: BlockWords
    budget: int = field(kw_only=True)
    heading_tokens: int = field(kw_only=True)
    """Number of tokens of the longest heading. One heading of hits is paid for before the block is filled."""
    lines: dict[str, list[str]] = field(default_factory=lambda: {"pinned": [], "answers": [], "related": []})
    kept: list[Hit] = field(default_factory=list)
    left_out: list[Hit] = field(default_factory=list)

    def add(self, hit: Hit, part: str, *, max_characters: int = _MAX_LINE_CHARACTERS) -> None:
        """Add a hit to a part of the block. A hit with a ``left_out_by``, and a hit that does not fit, is left out."""
        if hit.left_out_by is not None:
            self.left_out.append(hit)
            return
        line = _line(hit, self.words, max_characters=max_characters)
        cost = count_tokens(line + "\n") + (self.heading_tokens if self._needs_second_heading(part) else 0)
        if cost > self.budget:
            self.left_out.append(leave_out(hit, "budget"))
            return
        self.budget -= cost
        self.lines[part].append(line)
        self.kept.append(hit)

    def _needs_second_heading(self, part: str) -> bool:
        """Return True if a hit is the first of its part, and hits are already listed under the other heading."""
        others = {"answers": "related", "related": "answers"}
        return part in others and not self.lines[part] and bool(self.lines[others[part]])

    def context(self, nonce_key: str) -> Context:
        """Return the finished block."""
        if not self.kept:
            return Context(text="", tokens=0, stable="", changing="", left_out=tuple(self.left_out))
        words = self.words
        lasting = _headed(words.pinned, self.lines["pinned"])
        passing = [*_headed(words.relevant, self.lines["answers"]), *_headed(words.related, self.lines["related"])]
        nonce = secrets.token_hex(_NONCE_CHARACTERS // 2)
        text = _sealed([words.intro, *lasting, *passing], nonce)
        return Context(
            text=text,
            tokens=count_tokens(text),
            stable=_sealed([words.intro, *lasting], _nonce_of(lasting, nonce_key)) if lasting else "",
            changing=_sealed([words.intro, *passing], nonce) if passing else "",
            hits=tuple(self.kept),
            left_out=tuple(self.left_out),
        )


def _headed(heading: str, lines: Sequence[str]) -> list[str]:
    """Return the lines after their heading. If there are no lines, return an empty list."""
    return [heading, *lines] if lines else []


def _sealed(lines: Sequence[str], nonce: str) -> str:
    """Return the lines of a block, between an opening and a closing tag. Both tags contain the nonce."""
    return "\n".join([f'<memory id="{nonce}">', *lines, f'</memory id="{nonce}">'])


def _nonce_of(lines: Sequence[str], nonce_key: str) -> str:
    """Return a nonce. It is always the same for the same lines, and only code that knows the store's secret can compute it."""
    digest = hashlib.blake2b("\n".join(lines).encode(), key=nonce_key.encode(), digest_size=_NONCE_CHARACTERS // 2)
    return digest.hexdigest()


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


def _line(hit: Hit, words: BlockWords, *, max_characters: int) -> str:
    """Return a hit as one line, with its date and its origin. A text longer than ``max_characters`` is cut.

    If a memory is based on the user's own words, no origin is shown.
    """
    text = escape_line(str(hit))
    if len(text) > max_characters:
        text = text[: max_characters - 3].rstrip() + "..."
    line = f"- ({', '.join(part for part in (hit.at.date().isoformat(), _origin(hit, words)) if part)}) {text}"
    if hit.successor is not None:
        return f"{line} ({words.since}: {escape_line(str(hit.successor))[:_MAX_LINE_CHARACTERS]})"
    return f"{line} ({words.later}: {escape_line('; '.join(hit.later))})" if hit.later else line


def _origin(hit: Hit, words: BlockWords) -> str:
    """Return a phrase that says where a hit comes from, such as ``Ana said``.

    For a message of the user or the assistant, the phrase names the speaker. If the message answers a question, the phrase
    also contains the question. Text of tools, web pages and files, quotations such as a pasted e-mail, and memories based
    on the assistant's words have a label instead. For a memory based on the user's own words, the phrase is empty.
    """
    origin = hit.provenance
    if hit.message is not None and origin in ("user", "assistant"):
        speaker = escape_line(hit.message.speaker or hit.message.role)
        asked = f'{words.asked} "{escape_line(hit.asked)[:_MAX_QUESTION_CHARACTERS]}", ' if hit.asked else ""
        return f"{asked}{speaker} {words.said}"
    labels = {"assistant": words.assistant, "tool": words.tool, "web": words.web, "file": words.file, "quoted": words.quoted}
    return labels.get(origin, "")
