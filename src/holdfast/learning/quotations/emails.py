"""Find pasted e-mails in a message: by their headers, by the line that introduces a reply, or by a sender's address."""

import itertools
import re
from collections.abc import Iterator

from holdfast.runtime.regex import regex

_MARK = r"\s{0,4}[*\"]{0,2}"
_TECHNICAL = r"return-path|received|message-id|delivered-to|content-type|mime-version|in-reply-to|x-[\w-]{2,40}"
_ABOUT = r"subject|sent|date|asunto|enviado(?: el)?|fecha|objet|envoy[ée]|betreff|gesendet|datum|oggetto|inviato|assunto|enviada(?: em)?"
_HEADER = regex(
    rf"{_MARK}(?:from|to|cc|bcc|reply-to|de|para|cco|responder a|à|von|an|da|{_ABOUT}|{_TECHNICAL})[*\"]{{0,2}}\s?:[*\"]{{0,2}}\s?\S",
    re.IGNORECASE,
)
_MAIL_HEADER = regex(rf"{_MARK}(?:{_ABOUT}|{_TECHNICAL})\b", re.IGNORECASE)
_SENDER = regex(rf"{_MARK}(?:from|de|von|da|{_TECHNICAL})[*\"]{{0,2}}\s?:", re.IGNORECASE)
_SUBJECT = regex(rf"{_MARK}(?:subject|asunto|objet|betreff|oggetto|assunto)[*\"]{{0,2}}\s?:\s?\S", re.IGNORECASE)
_FORWARDED = regex(
    r"\s{0,4}(?:-{2,}\s{0,3}(?:original message|forwarded message|mensaje original|mensaje reenviado|begin forwarded message|forwarded by|reenviado por)\b.*"
    r"|begin forwarded message:|inicio del mensaje reenviado:"
    r"|on .{4,160} wrote:|el .{4,160} escribió:|am .{4,160} schrieb.{0,80}:|le .{4,160} a écrit ?:|em .{4,160} escreveu:|il .{4,160} ha scritto:)\s*$",
    re.IGNORECASE,
)
_ADDRESS = regex(r"\s{0,4}[^<>\n]{0,60}<[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,30}){1,4}>.{0,60}$")
"""Matches a line such as "Rosa Lima <rosa@example.org>", with which e-mail programs begin a message."""
_SHOWN_TIME = regex(
    r"\s{0,4}.{0,40}\d{1,2}:\d{2}.{0,12}\((?:\d{1,3} (?:minute|hour|day|week|month|year)s? ago|hace \d{1,3} \w{1,8})\)\s*$",
    re.IGNORECASE,
)
"""Matches the time above an open e-mail in a web page: "3:12 PM (2 hours ago)"."""
_SHOWN_TO = regex(r"\s{0,4}(?:to|para|a) \S.{0,80}$", re.IGNORECASE)
_MAX_HEADERS = 12


def emails(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line range (start, end) of the first pasted e-mail, if there is one.

    The range extends to the end of the message, because nothing shows where the user's own text begins again.
    """
    for at, line in enumerate(lines):
        shown = lines[at + 1 : at + 3]
        if _is_introduced(line, shown[:1]) or _is_sent(at, lines) or _is_headed(lines[at : at + _MAX_HEADERS + 1]):
            yield at, len(lines)
            return
        if len(shown) == 2 and _SHOWN_TIME.match(shown[0]) and _SHOWN_TO.match(shown[1]):  # below the sender's name
            yield at, len(lines)
            return


def _is_introduced(line: str, following: list[str]) -> bool:
    """Return True if a line introduces a quoted or forwarded e-mail, such as "On Tuesday Bob wrote:".

    The introduction can continue on the next line. ``following`` contains the lines after ``line``.
    """
    if _FORWARDED.match(line):
        return True
    wrapped = following and line.lstrip()[:3].casefold() in ("on ", "el ") and "@" in following[0]
    return bool(wrapped and _FORWARDED.match(f"{line.rstrip()} {following[0].strip()}"))


def _is_sent(at: int, lines: list[str]) -> bool:
    """Return True if the line at position ``at`` contains a sender's address, and at least two lines of text follow.

    An address in the last lines does not count, because it is the user's own signature.
    """
    return "@" in lines[at] and bool(_ADDRESS.match(lines[at])) and sum(bool(line.strip()) for line in lines[at + 1 :]) > 1


def _is_headed(lines: list[str]) -> bool:
    """Return True if the lines begin with e-mail headers: at least two headers, or a subject with a blank line below it."""
    if not _HEADER.match(lines[0]):
        return False
    block = list(itertools.takewhile(_HEADER.match, lines))
    rest = lines[len(block) : len(block) + 1]
    if len(block) == 1:
        return bool(_SUBJECT.match(block[0])) and bool(rest) and not rest[0].strip()
    return any(map(_SENDER.match, block)) and _is_envelope(block, rest)


def _is_envelope(headers: list[str], rest: list[str]) -> bool:
    """Return True if lines such as "From: ..." and "To: ..." are e-mail headers, and not the start and end of a journey.

    ``headers`` are the lines in question, and ``rest`` are the lines below them.
    """
    return any(map(_MAIL_HEADER.match, headers)) or "@" in "".join(headers) or (bool(rest) and not rest[0].strip())
