"""Remove the parts of a message that the speaker did not write: code, tagged blocks and injected memories."""

import re

from holdfast.runtime.regex import regex

_FENCED = regex(r"```.*?(?:```|\Z)", re.DOTALL)
_IN_LINE = regex(r"`[^`\n]{1,400}`")
_TAG = regex(r"<(\w{1,30})(?:\s[^<>\n]{0,200})?>")
_BLOCK = regex(r"\[[^\[\]\n]{0,60}(?:memor|recuerd|context)[^\[\]\n]{0,60}\]", re.IGNORECASE)
_BLOCK_END = regex(r"\[(?:/|end|fin)[^\[\]\n]{0,80}\]", re.IGNORECASE)


def without_quoted_text(text: str, *, in_line: bool = True) -> str:
    """Return a message in which code blocks, tagged blocks and blocks of memories are replaced by a line break.

    With ``in_line``, code within a line is replaced with underscores.
    """
    text = _FENCED.sub("\n", text)
    text = _IN_LINE.sub(lambda match: "_" * len(match[0]), text) if in_line else text
    return _without_tagged(_without_memories(text))


def _without_memories(text: str) -> str:
    kept, place = [], 0
    while (begin := _BLOCK.search(text, place)) is not None:
        kept.append(text[place : begin.start()])
        end = _BLOCK_END.search(text, begin.end())
        place = len(text) if end is None else end.end()
    return "\n".join([*kept, text[place:]])


def _without_tagged(text: str) -> str:
    kept, place, start = [], 0, 0
    unclosed: set[str] = set()
    while (tag := _TAG.search(text, start)) is not None:
        end = -1 if tag[1] in unclosed else text.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            unclosed.add(tag[1])
            start = tag.end()
            continue
        kept.append(text[place : tag.start()])
        place = start = end + len(tag[1]) + 3
    return "\n".join([*kept, text[place:]])
