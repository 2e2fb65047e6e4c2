"""Separate a user's own words from the quotations in a message.

A quotation is text that another person or a program wrote. It is recognized by its form. Most forms need several signs,
because people also write lists, greetings and names themselves. The known headers, greetings and announcements are English
and Spanish. E-mail headers are also known in some other languages.
"""

from collections.abc import Iterator

from holdfast.learning.quotations.announced import announced_texts, without_told
from holdfast.learning.quotations.chats import chats
from holdfast.learning.quotations.emails import emails
from holdfast.learning.quotations.letters import letters
from holdfast.learning.quotations.machine_text import machine_text


def without_quotations(text: str) -> str:
    """Remove pasted e-mails, letters, chats, logs, code and data from a text. A text without quotations is returned unchanged."""
    lines = text.split("\n")
    own = [without_told(line) for line in lines]
    quoted = [False] * len(lines)
    for start, end in _quotations(lines) if len(lines) > 1 else ():
        quoted[start:end] = [True] * (end - start)
    if own == lines and not any(quoted):
        return text
    return "\n".join(line for line, out in zip(own, quoted, strict=True) if not out)


def _quotations(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of all quotations. The ranges can overlap."""
    for form in (emails, announced_texts, letters, chats, machine_text):
        yield from form(lines)
