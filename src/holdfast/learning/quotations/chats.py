"""Find pasted chats in a message: lines that begin with a speaker, or separate lines with a speaker and a time."""

import itertools
import re
from collections.abc import Iterator

from holdfast.runtime.regex import regex

_CLOCK = r"\d{1,2}[:.]\d{2}(?::\d{2})?(?: ?[ap]\.? ?m\.?)?"
_DATE = r"\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}"
_NAME = r"[^\W\d][\w.'’-]{0,30}(?: [\w.'’()-]{1,30}){0,3}"
_LINE = regex(
    rf"\s{{0,4}}(?:\[{_DATE},? {_CLOCK}\]|{_DATE},? {_CLOCK} -|\[{_CLOCK}\])\s?[^:\n]{{1,60}}:|\s{{0,4}}<[@+~]?[^\s<>/]{{1,30}}> \S|\s{{0,4}}{_NAME} \({_CLOCK}\)\s?:",
    re.IGNORECASE,
)
"""Matches a chat line with a time, a speaker and words, or with a nickname in angle brackets."""
_HEADER = regex(
    rf"\s{{0,4}}(?:{_NAME}(?:\s{{2,}}|\t|,? ?[—–·•|-] |, )(?:\[?{_DATE},? {_CLOCK}\]?|(?:today|yesterday|hoy|ayer)?,?(?: at| a las?)? ?{_CLOCK})"
    rf"|\[{_CLOCK}\] {_NAME})\s*$",
    re.IGNORECASE,
)
"""Matches a line with only a speaker and a time. The speaker's words are on the lines below it."""
_AGE = r"(?:\d{1,3} ?(?:s|m|h|d|w|min|hrs?|(?:minute|hour|day|week|month|year)s?) ago|hace \d{1,3} (?:min|h|hora|día|semana|mes|año)\w{0,3})"
_POST = regex(
    rf"\s{{0,4}}(?:(?:{_NAME} )?@\w{{2,30}}\s?(?:[·•|—-]\s?[\w ,.:]{{2,30}}|{_AGE}.{{0,40}})|(?:posted by |publicado por )?u/\w{{2,30}}\b.{{0,60}}"
    rf"|\S{{2,30}} {_AGE} ?[|·•].{{0,60}}|\d(?:[.,]\d)? (?:out of|de) 5 (?:stars|estrellas).{{0,80}}"
    r"|(?:reviewed|rese[nñ]ado|calificado|revisado) (?:in|en) .{2,60} (?:on|el) .{0,12}\d.{0,30}"
    rf"|{_NAME} (?:added a comment|commented|ha comentado|coment[oó]|añadió un comentario)\b.{{0,40}}\d.{{0,30}})$",
    re.IGNORECASE,
)
"""Matches the line above a post or a review: "@handle · Mar 3", "Posted by u/someone 3 hours ago", "5.0 out of 5 stars"."""
_HANDLE = regex(r"\s{0,4}@\w{2,30}\s*$")
_AGE_ALONE = regex(rf"\s{{0,4}}{_AGE}.{{0,20}}$", re.IGNORECASE)
_TIME_ALONE = regex(rf"\s{{0,4}}(?:[^\W\d]{{2,9}}\.?,? )?{_CLOCK}\s*$", re.IGNORECASE)
_SPEAKER = regex(rf"\s{{0,4}}({_NAME})\s?:\s+\S", re.IGNORECASE)
_SELF = frozenset(("me", "i", "you", "yo", "tú", "tu", "vos"))
_OTHER = frozenset(("he", "she", "her", "him", "they", "them", "él", "el", "ella", "ellos", "ellas"))


def chats(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of pasted chats and posts."""
    yield from _timed(lines)
    yield from _headed(lines)
    yield from _dialogues(lines)


def _timed(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of paragraphs in which at least two lines begin with a time and a speaker, or with a nickname."""
    for start, end in paragraphs(lines):
        found = [at for at in range(start, end) if _LINE.match(lines[at])]
        if len(found) > 1:
            yield found[0], end


def _headed(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of pasted posts, and of chats in which each message has a header line.

    A header line contains the speaker and the time, or only the time. A chat needs at least two header lines. A post
    needs one.
    """
    found = [at for at, line in enumerate(lines[:-1]) if lines[at + 1].strip() and _is_header(line, lines[at + 1])]
    post = next((at for at, line in enumerate(lines[:-1]) if _POST.match(line) or _is_comment(line, lines[at + 1])), None)
    if post is not None:
        yield post, len(lines)
    times = [
        at for at in range(1, len(lines) - 1) if _TIME_ALONE.match(lines[at]) and lines[at - 1].strip() and lines[at + 1].strip()
    ]
    if len(times) > 1 and min(later - sooner for sooner, later in itertools.pairwise(times)) > 2:
        yield times[0] - 1, len(lines)
    if len(found) > 1:
        yield found[0], next((at for at in range(found[-1] + 1, len(lines)) if not lines[at].strip()), len(lines))


def _is_comment(line: str, below: str) -> bool:
    """Return True if two lines are the name and the age of a comment on a web page, such as "@someone" and "3 days ago"."""
    return bool(_HANDLE.match(line)) and bool(_AGE_ALONE.match(below))


def _is_header(line: str, below: str) -> bool:
    return bool(_HEADER.match(line)) and not _HEADER.match(below)


def _dialogues(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of dialogues. Each line of a dialogue begins with a speaker: "her: ...", "me: ...", "her: ...".

    A dialogue has at least two speakers. At least one of them must speak twice, unless they are called "me" and "her" or
    the like. Blank lines between the lines of a dialogue are allowed.
    """
    run: list[tuple[int, str]] = []
    for at, line in enumerate([*lines, ""]):
        found = _SPEAKER.match(line)
        if found is not None:
            run.append((at, found[1].casefold()))
        elif line.strip() or at == len(lines):
            if _is_dialogue([speaker for _, speaker in run]):
                yield run[0][0], run[-1][0] + 1
            run = []


def _is_dialogue(speakers: list[str]) -> bool:
    distinct = set(speakers)
    if len(distinct) < 2:
        return False
    return len(speakers) > len(distinct) or bool(distinct & _SELF and distinct & _OTHER)


def paragraphs(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges between blank lines."""
    start = None
    for at, line in enumerate([*lines, ""]):
        if line.strip():
            start = at if start is None else start
        elif start is not None:
            yield start, at
            start = None
