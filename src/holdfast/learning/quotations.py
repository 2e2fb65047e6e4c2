"""Find quotations in a user's message by their form: pasted e-mails, letters, chats, logs and code.

A quotation is text that another person or a program wrote. The rules require several signs of a form, because people
also write lists, greetings and names themselves. They know English and Spanish headers and closings.
"""

import itertools
import re
from collections.abc import Iterator

from holdfast.runtime.regex import regex

_HEADER = regex(
    r"\s{0,4}\*{0,2}(?:from|to|cc|bcc|sent|date|subject|reply-to|de|para|enviado(?: el)?|fecha|asunto|responder a)\*{0,2}\s?:\*{0,2}\s?\S",
    re.IGNORECASE,
)
_MAIL_HEADER = regex(r"\s{0,4}\*{0,2}(?:subject|sent|date|asunto|enviado|fecha)\b", re.IGNORECASE)
_SENDER = regex(r"\s{0,4}\*{0,2}(?:from|de)\*{0,2}\s?:", re.IGNORECASE)
_FORWARDED = regex(
    r"\s{0,4}(?:-{2,}\s{0,3}(?:original message|forwarded message|mensaje original|mensaje reenviado|begin forwarded message)\b.*"
    r"|begin forwarded message:|inicio del mensaje reenviado:"
    r"|on .{4,80} wrote:|el .{4,80} escribió:)\s*$",
    re.IGNORECASE,
)
_GREETING = regex(
    r"\s{0,4}(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|estimad[oa]s?|querid[oa]s?|hola|buen(?:os|as) (?:días|tardes|noches)"
    r"|a quien corresponda|to whom it may concern)\b[^.!?\n]{0,60}[,:]\s*$",
    re.IGNORECASE,
)
_CLOSING = regex(
    r"\s{0,4}(?:(?:best|kind|warm|warmest) (?:regards|wishes)|regards|sincerely(?: yours)?|yours (?:sincerely|faithfully|truly)|cheers"
    r"|many thanks|thanks(?: in advance)?|thank you|love|all the best|best|saludos(?: cordiales)?|un (?:cordial )?saludo|cordialmente"
    r"|atentamente|un abrazo|(?:muchas )?gracias|besos|atte\.?)\s?[,.!]?\s*$",
    re.IGNORECASE,
)
_NAME_LINE = regex(r"\s{0,4}[-–—]{0,2}\s?[A-ZÁÉÍÓÚÑ][\w.'’-]{0,30}(?:,? [\w.'’&-]{1,30}){0,6}\s*$")
_CHAT_LINE = regex(
    r"\s{0,4}(?:\[\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4},? \d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.? ?m\.?)?\]|\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4},? "
    r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.? ?m\.?)? -|\[\d{1,2}:\d{2}(?::\d{2})?\])\s?[^:\n]{1,60}:",
    re.IGNORECASE,
)
_LOG_LINE = regex(
    r"\s{0,8}(?:\[?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\[?\d{2}:\d{2}:\d{2}[.,\]\s]|[A-Z][a-z]{2} {1,2}\d{1,2} \d{2}:\d{2}:\d{2} "
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\]?[:\s]|at [\w.$<>]+\([^)\n]{0,200}\)\s*$"
    r"|File \"[^\"\n]{1,300}\", line \d+|Traceback \(most recent|\w+(?:\.\w+)*(?:Error|Exception)\b.{0,5}:?|npm (?:ERR!|WARN)|E  {2,}|\$ \w)"
)
_CODE_LINE = regex(
    r"\s{0,40}(?:def \w+\(.*\)?.*:\s*$|class \w+.*[:{]\s*$|(?:import|from) [\w.]+(?: import .+)?;?\s*$|(?:const|let|var) \w+ ?=|function \w*\(.*"
    r"|public |private |#include\b|return\b.*;?\s*$|\}?\s?else ?\{?\s*$|(?:if|for|while) ?\(.*\)\s?\{\s*$|[\]}){(;]{1,4},?;?\s*$"
    r"|SELECT .+ FROM\b.*|[\w.]+\(.*\);\s*$|[\w.\[\]]+ [+*-]?= .+;\s*$|</?\w[^>]*>.*</?\w+>\s*$|\"[\w-]+\": .+,?\s*$|[\w-]+: .+;\s*$)"
)
_TEXT_NOUN = (
    r"(?:e-?mails?|mails?|letters?|messages?|texts?|notes?|posts?|reviews?|essays?|drafts?|paragraphs?|articles?|stor(?:y|ies)|poems?|reports?|statements?|speech"
    r"|ads?|listings?|transcripts?|tweets?|captions?|comments?|reply|replies|dms?|voicemails?|bio|resume|cv|application"
    r"|correos?|cartas?|mensajes?|textos?|notas?|publicaci[oó]n|rese[nñ]a|redacci[oó]n|borrador(?:es)?|p[aá]rrafos?|art[ií]culos?|cuentos?|poemas?|informes?|discurso"
    r"|anuncios?|respuestas?|comentarios?|audios?|biograf[ií]a|curr[ií]culum|solicitud)"
)
_MENTIONED = regex(
    rf"\b(?:this|these|the following|following|that|est[aeo]s?|(?:el|la) siguiente) (?:(?!my\b|mi\b|about\b|sobre\b)[\w'’-]+ ){{0,2}}{_TEXT_NOUN}\b",
    re.IGNORECASE,
)
"""Matches words that point to a text. A line with such words that is not a full sentence announces it: "is this letter rude?"."""
_ANNOUNCED = regex(
    rf"\b(?:here(?:'s| is| are)|below is|aqu[ií] (?:va|tienes|est[aá]))(?: (?!my\b|mi\b)[\w'’-]+){{0,2}} {_TEXT_NOUN}\b"
    r"|\b(?:got|received|found|recib[ií]|me lleg[oó]|me ha llegado|encontr[eé]) (?:this|esto)\b"
    r"|\b(?:wrote|sent|texted|e-?mailed|messaged|left|answered|replied|escribi[oó]|mand[oó]|envi[oó]|dej[oó]|respondi[oó]|contest[oó]|puso)"
    r"(?: (?:me|us|back))?(?: (?:this|that|esto))?\s*:?\s*$"
    r"|\b(?:lo|esto) que me (?:\w+ )?(?:escribi[oó]|mand[oó]|envi[oó]|dej[oó]|respondi[oó]|contest[oó]|puso|lleg[oó])\b"
    r"|\b(?:re-?write|re-?word|re-?phrase|paraphrase|proof-?read|summari[sz]e|translate|shorten|polish|edit|(?:reply|respond) to|reescribe|reformula|corrige|resume|traduce"
    r"|traducir|acorta|responde a) (?:this|that|it|esto)\b"
    r"|\b(?:make|does|is|would) (?:this|it) (?:sound|read|come across|more (?:formal|polite|friendly)|less|shorter|friendlier|politer|ok to send)\b"
    r"|\bhaz(?:lo)? que (?:esto )?suene\b|\b(?:suena|queda) (?:bien|mal) esto\b",
    re.IGNORECASE,
)
"""Matches a line that announces a text of somebody else, or a text to work on."""
_ANNOUNCED_IN_LINE = regex(
    r"\b(?:wrote|sent|texted|e-?mailed|messaged|left|answered|replied|says|escribi[oó]|mand[oó]|envi[oó]|dej[oó]|respondi[oó]|contest[oó]|puso)\b[^.!?:\n]{0,40}:\s*"
    r"(?=[\"“«'‘]?(?:(?:i|i[’']\w+|im|my|we|our|darling|dear|hi|hello|hey|yo|mi|mis|me|nos|estoy|soy|tengo|vivo|hola|cari[nñ]o|querid[oa])\b))",
    re.IGNORECASE,
)
_LETTER_IN_LINES = regex(
    r"\s{0,4}(?:dear|hi|hello|hey|darling|hola|querid[oa]s?|estimad[oa]s?)(?: [\w.'’-]+){0,3}[,:!]\s", re.IGNORECASE
)
"""Matches a line that begins with the greeting of a letter and goes on."""
_SIGNED_IN_LINES = regex(r"[.!?,]\s+[\w ]{2,30},?\s+[A-ZÁÉÍÓÚÑ][\w'’-]+(?: [A-ZÁÉÍÓÚÑ][\w'’-]+)?\.?\s*$")
_MAX_HEADERS = 12
_MAX_LETTER_LINES = 200
_MAX_LINE = 400
"""Number of characters of a line in which an announcement is looked for."""
_MIN_LINES = 3
"""Minimum number of lines of a log or of code in a row. Two may be an example in a sentence."""


def without_quotations(text: str) -> str:
    """Remove pasted e-mails, letters, chats, logs and code from a text. A text without quotations is returned unchanged."""
    lines = text.split("\n")
    own = [_without_told(line) for line in lines]
    quoted = [False] * len(lines)
    for start, end in (*_emails(lines), *_announced(lines), *_letters(lines), *_runs(lines)) if len(lines) > 1 else ():
        quoted[start:end] = [True] * (end - start)
    if own == lines and not any(quoted):
        return text
    return "\n".join(line for line, out in zip(own, quoted, strict=True) if not out)


def _without_told(line: str) -> str:
    """Remove another person's words from a line in which the user quotes them: "my landlord wrote me: I am selling ..."."""
    found = _ANNOUNCED_IN_LINE.search(line[:_MAX_LINE])
    return line if found is None else line[: found.end()].rstrip()


def _announced(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line range of a text that the user pasted below lines of their own.

    The text follows a line that announces it, or it is a letter with a greeting and a signature. It runs to the end of
    the message, as an e-mail does.
    """
    last = max((at for at, line in enumerate(lines) if line.strip()), default=0)
    for at, line in enumerate(lines[:last]):
        said = line[:_MAX_LINE].strip()
        if _ANNOUNCED.search(said) or (not said.endswith((".", "!")) and _MENTIONED.search(said)):
            yield at + 1, len(lines)
            return
        if at and _LETTER_IN_LINES.match(line):
            break
    for at in range(1, last + 1):
        if _LETTER_IN_LINES.match(lines[at]) and _SIGNED_IN_LINES.search(lines[last][-_MAX_LINE:]):
            yield at, len(lines)
            return


def _emails(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of pasted e-mails.

    An e-mail begins with two header lines, or with a line that introduces a forwarded message. It runs to the end of
    the text, because nothing shows where the quoted text ends and the user's text begins.
    """
    for at, line in enumerate(lines):
        if _FORWARDED.match(line):
            yield at, len(lines)
            return
        if _HEADER.match(line):
            block = list(itertools.takewhile(_HEADER.match, lines[at : at + _MAX_HEADERS]))
            if (
                len(block) >= 2
                and any(map(_SENDER.match, block))
                and _is_envelope(block, lines[at + len(block) : at + len(block) + 1])
            ):
                yield at, len(lines)
                return


def _is_envelope(headers: list[str], rest: list[str]) -> bool:
    """Return True if lines such as "From: ..." and "To: ..." are the headers of an e-mail, and not the two ends of a route."""
    return any(map(_MAIL_HEADER.match, headers)) or "@" in "".join(headers) or (bool(rest) and not rest[0].strip())


def _letters(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of pasted letters. A letter runs from a greeting on its own line to a closing followed by a name.

    If the whole message is a letter, it is the user's own text to the assistant, unless it is addressed to others.
    """
    for at, line in enumerate(lines):
        if not _GREETING.match(line) or (at == 0 and not _is_formal(line)):
            continue
        for end in range(at + 2, min(at + _MAX_LETTER_LINES, len(lines))):
            if _CLOSING.match(lines[end]):
                after = next((place for place in range(end + 1, len(lines)) if lines[place].strip()), None)
                if after is not None and _NAME_LINE.match(lines[after]):
                    while after + 1 < len(lines) and lines[after + 1].strip() and _NAME_LINE.match(lines[after + 1]):
                        after += 1
                    yield at, after + 1
                    break


def _is_formal(line: str) -> bool:
    return bool(re.match(r"\s{0,4}(?:dear|estimad|to whom|a quien)", line, re.IGNORECASE))


def _runs(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of chats, logs and code."""
    for shape, enough in ((_CHAT_LINE, 2), (_LOG_LINE, _MIN_LINES), (_CODE_LINE, _MIN_LINES)):
        start = None
        count = last = 0
        for at, line in enumerate([*lines, ""]):
            fits = at < len(lines) and bool(shape.match(line))
            # Within a run, an indented line or a wrapped one belongs to the line before it.
            joins = (
                start is not None and at < len(lines) and bool(line.strip()) and (at - last <= 1 or line.startswith((" ", "\t")))
            )
            if fits:
                start = at if start is None else start
                count, last = count + 1, at
            elif not joins and start is not None:
                if count >= enough:
                    yield start, last + 1
                start, count = None, 0
