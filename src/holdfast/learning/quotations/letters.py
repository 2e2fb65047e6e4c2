"""Find pasted letters and notes in a message: a greeting on its own line, and text below it."""

import re
from collections.abc import Iterator

from holdfast.runtime.regex import regex

_GREETING = regex(
    r"\s{0,4}(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|estimad[oa]s?|apreciad[oa]s?|distinguid[oa]s?|querid[oa]s?|hola"
    r"|muy señor(?:a|es)?(?: m[ií][oa]s?| nuestr[oa]s?)?|señor(?:a|es|as)?|buen(?:os|as)(?: (?:días|tardes|noches))?"
    r"|a quien corresponda|to whom it may concern)\b[^.!?\n]{0,60}[,:]\s*$|\s{0,4}(?:darling|cariño|amor|mi vida)\s?[!,:]\s*$",
    re.IGNORECASE,
)
_ADDRESSEE = regex(r"\s{0,4}[A-ZÁÉÍÓÚÑ][\w.'’-]{0,30}(?: [A-ZÁÉÍÓÚÑ][\w.'’-]{0,30}){0,2},\s*$")
"""Matches a line with nothing but a name and a comma."""
_FORMAL = regex(r"\s{0,4}(?:dear|estimad|apreciad|distinguid|muy señor|to whom|a quien)", re.IGNORECASE)
_CLOSING = regex(
    r"\s{0,4}(?:(?:best|kind|warm|warmest) (?:regards|wishes)|regards|sincerely(?: yours)?|yours (?:sincerely|faithfully|truly)|cheers"
    r"|many thanks|thanks(?: in advance)?|thank you|love|all the best|best|(?:reciba |con )?(?:un )?(?:cordial(?:es)? |afectuosos? )?saludos?"
    r"(?: cordial(?:es)?)?|cordialmente|quedo (?:a la espera|atent[oa]|a su disposición)[^.\n]{0,40}"
    r"|atentamente|un abrazo|(?:muchas )?gracias|besos|atte\.?)\s?[,.!]?\s*$",
    re.IGNORECASE,
)
_ONE_LINE = regex(
    r"\s{0,4}(?:dear|estimad[oa]s?|muy señor\w{0,2}) [^.!?\n]{0,60}?[,:] .{10,2000}"
    r"[.!?,] (?:sincerely|yours \w+|(?:best |kind )?regards|atentamente|cordialmente|(?:un )?(?:cordial )?saludos?)\b[^.!?\n]{0,60}\.?\s*$",
    re.IGNORECASE,
)
"""Matches a whole letter on one line: a formal greeting, text, and a closing with a name."""
_SONG_PART = regex(
    r"\s{0,4}\[(?:verse|chorus|bridge|intro|outro|hook|pre-chorus|refrain|estrofa|verso|estribillo|coro|puente)\b[^\]\n]{0,40}\]\s*$",
    re.IGNORECASE,
)
"""Matches the heading of a part of a song, such as "[Chorus]"."""
_NAME_LINE = regex(r"\s{0,4}[-–—]{0,2}\s?[A-ZÁÉÍÓÚÑ][\w.'’-]{0,30}(?:,? [\w.'’&-]{1,30}){0,6}\s*$")
_MAX_LINES = 200


def letters(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges (start, end) of pasted letters, and of song lyrics with headings such as "[Chorus]".

    A letter ends with its closing and the names below. A letter without a closing counts only if the user wrote something
    before it. It then extends to the end of the message. A message that begins with an informal greeting is the user's own
    text, not a pasted letter.
    """
    parts = [at for at, line in enumerate(lines) if _SONG_PART.match(line)]
    if len(parts) > 1:
        yield parts[0], next((at for at in range(parts[-1], len(lines)) if not lines[at].strip()), len(lines))
    done = 0
    for at, line in enumerate(lines):
        if _ONE_LINE.match(line):
            yield at, at + 1
        if at < done or not _is_greeting(at, line, lines):
            continue
        end = _signature(lines, at)
        if end is None and at and any(map(str.strip, lines[:at])):
            end = len(lines)
        if end is not None:
            yield at, end
            done = end


def _is_greeting(at: int, line: str, lines: list[str]) -> bool:
    if _GREETING.match(line):
        return at > 0 or bool(_FORMAL.match(line))
    below = lines[at + 1 : at + 3]
    return at > 0 and len(below) > 1 and not below[0].strip() and bool(_ADDRESSEE.match(line)) and not _CLOSING.match(line)


def _signature(lines: list[str], start: int) -> int | None:
    """Return the number of the line after a letter's signature: its closing, and the names below the closing.

    The letter begins at the line number ``start``. Return None if the letter has no signature.
    """
    for end in range(start + 2, min(start + _MAX_LINES, len(lines))):
        if not _CLOSING.match(lines[end]):
            continue
        after = next((place for place in range(end + 1, len(lines)) if lines[place].strip()), None)
        if after is not None and _NAME_LINE.match(lines[after]):
            while after + 1 < len(lines) and lines[after + 1].strip() and _NAME_LINE.match(lines[after + 1]):
                after += 1
            return after + 1
    return None
