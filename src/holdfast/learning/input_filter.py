"""Select the text that memories may be extracted from: text that users and their assistant wrote themselves.

Memories that were put into a prompt are injected text. They must not be extracted again, or they would confirm
themselves. Web pages, files, tool output, code and quotes are not statements of the speaker.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from holdfast.learning.quotations.find import without_quotations
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.types import Message

_EXTRACTED_ROLES = ("user", "assistant")
OUTSIDE_ORIGINS = ("tool", "web", "file")
"""Origins of text that neither the user nor the assistant wrote."""

_MEMORY_TAG = regex(
    r"""(?:<|&lt;)(?P<slash>/?)\s{0,3}memory(?:\s{1,3}id\s{0,3}=\s{0,3}(?:["'“”]|&quot;)?(?P<id>[^"'“”<>&\n]{0,200})(?:["'“”]|&quot;)?)?"""
    r"""\s{0,3}(?:>|&gt;)""",
    re.IGNORECASE,
)
_CODE = regex(r"^[ \t>]{0,8}(```|~~~).*?(?:^[ \t>]{0,8}\1[`~]*[ \t]*$|\Z)|```.*?```", re.DOTALL | re.MULTILINE)
_TOOL_TAGS = regex(
    r"<(tool_(?:result|output|response|call|use)s?|function_(?:result|call|response)s?|search_results?|observation|web_?page|document)"
    r"(?:\s[^<>\n]{0,200})?>.*?(?:</\1\s{0,3}>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TEXT_TAG = regex(
    r"<(?P<slash>/?)(?P<name>article|e-?mail|message|page|content|context|source|text|quote|blockquote|body|html|div|section|transcript|file"
    r"|attachment|results?|data|snippet|letter|chat|conversation|post|comment|news|pdf|website|clipboard|selection|pasted[_-]?text"
    r"|untrusted(?:[_-]\w{1,20})?|external(?:[_-]\w{1,20})?)(?:\s[^<>\n]{0,200})?\s{0,3}>",
    re.IGNORECASE,
)
"""Matches a tag that people and programs put around other people's text, such as ``<article>``."""
_QUOTE_MARKS = regex(r"\s{0,3}>(?=\s|>|\w|[\"“¿¡*_-])")
_HEADER = regex(
    r"[>\s*#_]{0,8}(?:\[(?:long[- ]term memory|relevant memories)\]|\[?(?:tool|function) (?:output|result|response)s?(?: \([^()\n]{0,60}\))?(?:\]|:)"
    r"|\[?(?:salida|resultado|respuesta) de (?:la )?(?:herramienta|función)(?: \([^()\n]{0,60}\))?(?:\]|:))",
    re.IGNORECASE,
)
_APP_HEADER = regex(r"[>\s*#_]{0,8}\(memories for app:[^\n]{0,600}\)", re.IGNORECASE)
_APP_LINE = regex(
    r"[>\s]{0,8}(?:\d{1,4}\. \[created:|the following are memories from previous conversations|use these memories to provide|\.\.\.\s*$)",
    re.IGNORECASE,
)
_SECTION = regex(r"\[[A-Z][^\[\]\n]{2,200}\]\s*$")
_MAX_DEPTH = 64
"""Maximum nesting depth of memory blocks. Opening tags nested deeper are ignored."""
_GAP = regex(r"\n[ \t]*\n(?:[ \t]*\n)+")


def extractable(messages: Sequence[Message]) -> list[Message]:
    """Return the messages from which memories can be extracted, without injected text.

    These are the messages that users and assistants wrote. Quotations in a user's message are removed. A message is left out
    if it has an ``action`` (a marker such as ``IGNORE``), if its text comes from a tool, a web page or a file, or if nothing
    remains of its text.
    """
    kept = []
    for message in messages:
        if message.action is not None or message.role not in _EXTRACTED_ROLES or message.origin in OUTSIDE_ORIGINS:
            continue
        text = own_words(message.text) if message.role == "user" else without_injected_text(message.text)
        if text.strip():
            kept.append(message if text == message.text else replace(message, text=text))
    return kept


def own_words(text: str) -> str:
    """Return the part of a user's message that the user wrote, without quotations and injected text (such as tool output)."""
    left = without_quotations(without_injected_text(text))
    return text if left.strip() == text.strip() else left


def without_injected_text(text: str) -> str:
    """Remove injected memories, tool output, code and quoted lines from a text. A text without any of these stays unchanged.

    For speed, a pattern is applied only if the text contains a character that every match of the pattern has.
    """
    left = _without_memory_tags(text) if "<" in text or "&" in text else text
    left = _CODE.sub("\n", left) if "```" in left or "~~~" in left else left
    left = _without_text_tags(_TOOL_TAGS.sub("\n", left)) if "<" in left else left
    left = "\n".join(_own_lines(left.split("\n")))
    return text if left == text else _GAP.sub("\n\n", left).strip()


def _without_text_tags(text: str) -> str:
    """Remove two matching tags, such as ``<article>`` and ``</article>``, with the text between them.

    A tag without its counterpart is kept.
    """
    pieces: list[str] = []
    done = 0
    opened: dict[str, int] = {}
    for tag in _TEXT_TAG.finditer(text):
        name = tag["name"].casefold()
        if not tag["slash"]:
            opened.setdefault(name, tag.start())
        elif name in opened:
            start = opened[name]
            opened = {other: at for other, at in opened.items() if at < start}
            if start >= done:
                pieces += text[done:start], "\n"
                done = tag.end()
    return "".join([*pieces, text[done:]]) if pieces else text


@dataclass(frozen=True, slots=True)
class _Tag:
    """An opening or closing ``<memory>`` tag.

    ``name`` consists of the first character of the tag (``<``, or ``&`` if the tag is escaped) and the tag's ``id`` attribute.
    A closing tag closes the last open block with the same name, if there is one.
    """

    name: tuple[str, str | None]
    closes: bool
    start: int
    end: int


def _without_memory_tags(text: str) -> str:
    """Return a text without the memory blocks that were copied into it, including nested blocks and their tags."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(_memory_blocks(text)):
        if start >= done:
            pieces += text[done:start], "\n"
        done = max(done, end)
    return "".join([*pieces, text[done:]]) if pieces else text


def _memory_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each memory block.

    A block without an opening tag starts at the last blank line before its closing tag. A block without a closing tag ends at
    the next blank line.
    """
    tags = [_Tag((tag[0][0], tag["id"]), bool(tag["slash"]), *tag.span()) for tag in _MEMORY_TAG.finditer(text)]
    last_closing = {tag.name: tag.start for tag in tags if tag.closes}
    opened: list[_Tag] = []
    last = 0
    for tag in tags:
        if not tag.closes:
            if len(opened) < _MAX_DEPTH:
                opened.append(tag)
            continue
        if opened:
            block = _closed(opened, tag, last_closing)
            start = block.start if block else None
        else:
            is_end = tag.name[1] is not None or _begins_line(text, tag.start)
            start = max(last, text.rfind("\n\n", last, tag.start)) if is_end else None
        if start is not None:
            yield start, tag.end
            last = tag.end
    for block in opened:
        if block.name[1] is not None or _ends_line(text, block.end):
            blank = text.find("\n\n", block.end)
            yield block.start, len(text) if blank < 0 else blank


def _closed(opened: list[_Tag], tag: _Tag, last_closing: Mapping[tuple[str, str | None], int]) -> _Tag | None:
    """Return the opening tag of the block that a closing tag (``tag``) ends.

    This is normally the innermost open tag with the same name. If there is no such tag, it is the innermost open tag of any
    name. But if that open tag has its own closing tag later in the text, ``tag`` is plain text, and the result is None.

    ``opened`` contains the opening tags of all open blocks, innermost last. The returned tag and the tags nested in its block
    are removed from ``opened``. ``last_closing`` maps a tag name to the position of the last closing tag with this name.
    """
    places = [place for place, block in enumerate(opened) if block.name == tag.name]
    if not places and last_closing.get(opened[-1].name, -1) > tag.start:
        return None
    place = places[-1] if places else len(opened) - 1
    block = opened[place]
    del opened[place:]
    return block


def _begins_line(text: str, at: int) -> bool:
    """Return True if only spaces precede the position ``at`` on its line. A tag in the middle of a line is text, not markup."""
    return not text[max(0, at - 200) : at].rpartition("\n")[2].strip()


def _ends_line(text: str, at: int) -> bool:
    """Return True if only spaces follow the position ``at`` on its line. A tag in the middle of a line is text, not markup."""
    return not text[at : at + 200].partition("\n")[0].strip()


def _own_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines that the speaker wrote. Quoted lines and copied sections of memories or tool output are left out.

    A copied section is recognized by its heading.
    """
    belongs = _never
    for line in lines:
        if _APP_HEADER.match(line):
            belongs = _belongs_to_app
        elif _HEADER.match(line) or (len(line) < 200 and _is_introduction(line)):
            belongs = _belongs_to_section
        elif not belongs(line):
            belongs = _never
            if not _QUOTE_MARKS.match(line):
                yield line


def _never(line: str) -> bool:
    del line
    return False


def _belongs_to_app(line: str) -> bool:
    return not line.strip() or bool(_APP_LINE.match(line))


def _belongs_to_section(line: str) -> bool:
    return bool(line.strip()) and not _SECTION.match(line)


def _is_introduction(line: str) -> bool:
    return bool(line.strip()) and fold(line) in _introductions()


@cache
def _introductions() -> frozenset[str]:
    """Return the first sentence of a context block in every language. A line with this sentence begins a copied block."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "block.toml").read_text("utf-8"))
    return frozenset(fold(words["intro"]) for words in table.values())
