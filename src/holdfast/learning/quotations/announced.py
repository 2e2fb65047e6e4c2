"""Find texts that the user announces in a message, such as "summarize this thread" or "my landlord wrote me: ..."."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from holdfast.runtime.regex import regex

_NOUN = (
    r"(?:e-?mails?|mails?|letters?|messages?|texts?|notes?|posts?|reviews?|essays?|drafts?|paragraphs?|articles?|stor(?:y|ies)|poems?|reports?|statements?|speech"
    r"|ads?|listings?|transcripts?|tweets?|captions?|comments?|reply|replies|dms?|voicemails?|bio|resume|cv|application"
    r"|songs?|lyrics|threads?|chats?|conversations?|recordings?|audio|subtitles|logs?|output|config(?:uration)?|csv|tables?|snippets?|scripts?|passages?|pages?"
    r"|contracts?|invoices?|postings?|abstracts?|minutes|interviews?|quotes?|postcards?|profiles?|testimonials?|prompts?|code|html|json|xml|css|sql|function|stack trace|error"
    r"|correos?|cartas?|mensajes?|textos?|notas?|publicaci[oó]n|rese[nñ]as?|redacci[oó]n|borrador(?:es)?|p[aá]rrafos?|art[ií]culos?|cuentos?|poemas?|informes?|discurso"
    r"|anuncios?|respuestas?|comentarios?|audios?|biograf[ií]a|curr[ií]culum|solicitud|canci[oó]n(?:es)?|letra|hilos?|conversaci[oó]n|charla|transcripci[oó]n|grabaci[oó]n"
    r"|subt[ií]tulos|registros?|salida|configuraci[oó]n|tablas?|pasajes?|p[aá]ginas?|contratos?|facturas?|avisos?|actas?|entrevistas?|citas?|postal(?:es)?"
    r"|perfil(?:es)?|testimonios?|c[oó]digo|funci[oó]n|clauses?|cl[aá]usulas?)"
)
_TASK = (
    r"(?:check the (?:grammar|spelling|wording|tone) of|revis[aá] la (?:gram[aá]tica|ortograf[ií]a|redacci[oó]n) de|explain|simplify|explic[aá]|simplific[aá]|re-?write|re-?word|re-?phrase|paraphrase|proof-?read|summari[sz]e|translate|shorten|polish|edit|fix|correct|review|analy[sz]e|format|clean(?: up)?|transcribe"
    r"|interpret|classify|transcribed|critique|improve|grade|rate|evaluate|debug|refactor|continue|finish|fact[ -]?check|(?:reply|respond|answer) to|reescrib[eí]|reformul[aá]|corr[ei]g[eí]|resum[eií]|traduc[eií]|traducir|resumir|acort[aá]|revis[aá]|analiz[aá]"
    r"|formate[aá]|arregl[aá]|transcrib[eí]|transcrib[ií]|desgrab[eé]|interpret[aá]|respond[eé] a|contest[aá] a|segu[ií]|sigue|continu[aá]"
    r"|mejor[aá]|critic[aá]|calific[aá]|evalu[aá]|verific[aá])"
)
_ASKED = r"\s{0,4}(?:please |can you |could you |por favor,? |pod[eé]s |puedes |me |hey,? )*"
_ONLY_TASK = regex(
    rf"{_ASKED}(?:{_TASK}(?:(?:lo|la|melo|mela)\b)?|minutes|tl;?dr|thoughts|translation|opini[oó]n|traducci[oó]n|resumen|minuta)"
    r"(?: (?:please|pls|this|that|it|these|for me|to \w+|into \w+|esto|por favor|porfa|al \w+))*\s*[:?]?\s*$",
    re.IGNORECASE,
)
"""Matches a line that only names a task for a text: "translate this to Spanish:"."""
_TASK_ON_TEXT = regex(
    rf"{_ASKED}(?:{_TASK} (?:(?!my\b|mi\b|mis\b|about\b|sobre\b)[\w'’-]+ ){{0,3}}{_NOUN}\b[^.!\n]{{0,60}}"
    r"|(?:adapt|compare|tailor|match|adapt[aá]|compar[aá]) .{1,60} (?:this|these|esto)\s*:?)$",
    re.IGNORECASE,
)
"""Matches a line that names a task and a text: "summarize the thread", "adapt my CV to this"."""
_TITLE = regex(
    r"\s{0,4}(?:(?:the|an?|el|la|los|las|una?) )?(?:(?!my\b|mi\b)[\w'’-]+ )?(?:e-?mails?|letters?|messages?|notes?|posts?|transcripts?|voicemails?|threads?|chats?|logs?"
    r"|recordings?|correos?|cartas?|mensajes?|notas?|transcripci[oó]n|hilos?|registros?|audios?|grabaci[oó]n) (?:of|from|by|del?|que)\b(?: [\w'’-]+){1,6}\s*:?\s*$",
    re.IGNORECASE,
)
"""Matches a line that names a text and its source: "transcript of the voicemail"."""
_OF_OTHERS = regex(rf"\b[\w-]+['’]s (?:\w+ )?{_NOUN}\b|\b{_NOUN} de (?:mi|un|una|el|la) \w+\s*:?\s*$", re.IGNORECASE)
"""Matches words that name a text of somebody else: "my aunt's postcard"."""
_POINTED = regex(
    rf"{_ASKED}(?:{_TASK}|use|act as|extract|convert|turn|punch up|make|us[aá]|actu[aá] como|extra[eé]|convert[ií]) (?:[\w'’-]+ ){{0,4}}"
    r"(?:this|these|the following|est[aeo]s?|(?:el|la|los|las) siguientes?) [\w'’-]+(?: [\w'’-]+){0,5}\s*:?\s*$",
    re.IGNORECASE,
)
"""Matches a request that refers to a text below it, such as "use this outline".

It counts as an announcement only with a colon at its end or a blank line below it.
"""
_MENTIONED = regex(
    rf"\b(?:this|these|the following|following|that|est[aeo]s?|(?:el|la) siguiente) (?:(?!my\b|mi\b|about\b|sobre\b)[\w'’-]+ ){{0,2}}{_NOUN}\b",
    re.IGNORECASE,
)
"""Matches words such as "this letter".

A line with such words, like "is this letter rude?", announces a text if it does not end with a period.
"""
_FOUND = regex(
    rf"\b(?:got|received|found|recib[ií]|me lleg[oó]|encontr[eé]) (?:an?|una?|the|la|el) (?:\w+ )?{_NOUN}\b", re.IGNORECASE
)
_OPINION = regex(
    r"\s{0,4}(?:i|we) (?:\w+ )?(?:love|like|hate|enjoy|play|sing|miss|keep|own|wrote|made|read)\b|\s{0,4}(?:me|nos) (?:\w+ )?(?:encantan?|gustan?)\b|\s{0,4}(?:amo|odio)\b",
    re.IGNORECASE,
)
"""Matches the beginning of an opinion, such as "I love this song". Such a line announces no text."""
_TOLD = regex(
    r"\s{0,4}(?!(?:i|we|yo|le dije|les dije)\b).{0,200}\b(?:wr[io]t\w{1,4}|sen[dt]\w{0,3}|text(?:s|ed)|(?:e-?)?mail(?:s|ed)|messaged|said|says|told|post(?:s|ed)|answer(?:s|ed)|repli(?:es|ed)"
    r"|escrib\w{1,4}|mand[aoó]\w{0,2}|envi[aoó]\w{0,2}|dij[oe]\w{0,3}|dic[ei]\w{0,4}|respond\w{1,4}|contest[aoó]\w{0,2}|pus[oi]\w{0,4}|public[aoó]\w{0,2}|forward(?:s|ed)|pas[aoó]\w{0,2}|reenv[ií][aoó]\w{0,2})"
    r"(?: (?:me|us|back|this|that|esto|everyone|again|today|yesterday|just now|a todos|en el grupo|otra vez|de nuevo|hoy|ayer|(?:on|in|via|por) \w+)){0,3}\s*:\s*$"
    r"|\s{0,4}(?!(?:i|we|yo)\b).{0,80}\b(?:to|into|in|al|en|del) (?:english|spanish|french|german|italian|portuguese|ingl[eé]s|español|castellano|franc[eé]s|alem[aá]n|italiano|portugu[eé]s)\s*[:?]?\s*$"
    r"|.{0,40}\b(?:is|does|est[aá]|es) (?:this|esto) (?:\w+ )?(?:correct|right|ok|bien|correcto)\b",
    re.IGNORECASE,
)
"""Matches a line that introduces another person's words, or a text to translate or to check."""
_ANNOUNCED = regex(
    rf"\b(?:here(?:'s| is| are)|below is|aqu[ií] (?:va|tienes|est[aá]))(?: (?!my\b|mi\b)[\w'’-]+){{0,2}} {_NOUN}\b"
    r"|\b(?:got|received|found|recib[ií]|me lleg[oó]|me ha llegado|me (?:mand|dej|envi|reenv|pas)\w{1,4}|encontr[eé]) (?:this|esto)\b"
    r"|\b(?:wrote|sent|texted|e-?mailed|messaged|left|answered|replied|escribi[oó]|mand[oó]|envi[oó]|dej[oó]|respondi[oó]|contest[oó]|puso)"
    r"(?: (?:me|us|back))?(?: (?:this|that|esto))?\s*:?\s*$"
    r"|\blo que (?:me )?(?:puso|escribi[oó]|mand[oó]|public[oó]|coment[oó])\b|\bwhat (?:he|she|they|my \w+) (?:wrote|posted|sent|texted|commented)\b"
    r"|\b(?:lo|esto) que me (?:\w+ )?(?:escribi[oó]|mand[oó]|envi[oó]|dej[oó]|respondi[oó]|contest[oó]|puso|lleg[oó])\b"
    r"|\b(?:make|does|is|would) (?:this|it) (?:sound|read|come across|more (?:formal|polite|friendly)|less|shorter|friendlier|politer|ok to send)\b"
    r"|\bhaz(?:lo)? que (?:esto )?suene\b|\b(?:suena|queda) (?:bien|mal) esto\b"
    r"|\b(?:to|of|about|on|a|de|sobre) (?:this|esto|these)\s*:\s*$|\b(?:the following|lo siguiente)\s*:?\s*$",
    re.IGNORECASE,
)
"""Matches a line that announces a text of somebody else ("my boss sent this:"), or a text to work on."""
_DOUBTED = regex(
    r"\s{0,4}(?:[¿]\s?)?(?:is|es) (?:this |it |that |esto )?(?:an? |una? )?(?:scam|phishing|spam|fake|legit|hoax|estafa|timo|fraude|bulo)\?\s*$",
    re.IGNORECASE,
)
"""Matches a question whether the text below it is genuine: "is this a scam?".

The question announces a quotation only if a blank line follows it.
"""
_TASK_ON_THIS = regex(
    rf"\b{_TASK} (?:this|that|it|esto|est[ae] \w+)\b|\b(?:respond|contest)\w{{1,4}} a est[aeo]s?\b", re.IGNORECASE
)
_IN_LINE = regex(
    r"\b(?:states|reads|dice|dijo|wrote|sent|texted|e-?mailed|messaged|left|answered|replied|says|escribi[oó]|mand[oó]|envi[oó]|dej[oó]|respondi[oó]|contest[oó]|puso)\b[^.!?:\n]{0,40}:\s*"
    r"(?=[\"“«'‘]?(?:(?:i|i[’']\w+|im|my|we|our|darling|dear|hi|hello|hey|yo|mi|mis|me|nos|estoy|soy|tengo|vivo|hola|cari[nñ]o|querid[oa])\b))",
    re.IGNORECASE,
)
_TO_KEEP = regex(
    r"\s{0,4}(?:please |por favor,? )?(?:remember|keep in mind|note|save|store|memorize|recuerd[ae]|recordá|guard[aáe]|anot[aáe]|apunt[aáe]|memoriz[aá]|ten(?:é)? en cuenta)\b",
    re.IGNORECASE,
)
"""Matches a wish to remember the text below it, such as "remember the following:". That text is the user's own."""
_TASK_IN_LINE = regex(
    r"\s{0,4}(?:please |can you |could you |por favor,? )?(?:translate|summari[sz]e|proof-?read|re-?write|re-?phrase|paraphrase"
    r"|trad[uú]ce(?:me|lo)?|traducí|resum[eí](?:me)?|reescrib[eí](?:me)?|corr[ei]g[eí](?:me)?)(?: [\w ]{1,40})?(?::\s|\s?(?=[\"“«„]))(?=\S)",
    re.IGNORECASE,
)
"""Matches a task for the text on the same line, such as "translate to English: ..."."""
_JSON = regex(r"\{\s{0,9}[\"'][\w -]{1,60}[\"']\s?:[^{}\n]{1,3000}\}")
"""Matches a JSON object that contains no other JSON object."""
_MARKED = regex(r"[\"“«„](?P<said>[^\"“”«»„\n]{12,3000})[\"”»“]")
"""Matches a text in quotation marks."""
_OPENING = regex(r"(?<!\w)['‘](?=\w)")
_ENDING = regex(r"(?<=\S)['’](?!\w)")
_QUOTED_LENGTHS = (12, 3000)
"""Minimum and maximum length of a text in single quotation marks, in characters. Shorter ones are names and apostrophes."""
_SOURCE = regex(
    r"\b(?:states|reads|contracts?|contratos?|websites?|wrote|sent|texted|e-?mailed|messaged|left|answered|replied|says|said|posted|escribi[oó]|mand[oó]|envi[oó]|dej[oó]|respondi[oó]|contest[oó]|puso|dice|dijo"
    r"|e-?mails?|mails?|letters?|messages?|voicemails?|notices?|notes?|texts?|dms?|posts?|correos?|cartas?|mensajes?|notas?|avisos?|audios?|lleg[oó])\b[^\"“«\n]{0,60}$",
    re.IGNORECASE,
)
"""Matches words before a quotation that tell where it comes from, such as "the letter says"."""
_SOURCE_AFTER = regex(
    r",?\s{0,2}(?:(?:it|he|she|they|(?:the|my|his|her|el|la|mi|su) \w{1,30}) )?(?:says|said|wrote|writes|texted|dice|dijo|escribi[oó])\b(?! (?:i|we|yo)\b)",
    re.IGNORECASE,
)
"""Matches words after a quotation that tell who wrote it, such as "it says"."""
_OWN_SOURCE = regex(
    r"\b(?:i|we)(?:'ve| have)? (?:just )?(?:wrote|sent|texted|e-?mailed|messaged|left|answered|replied|said|posted|told)\b|\b(?:le|les) (?:escrib[ií]|mand[eé]|envi[eé]|dej[eé]|respond[ií]|contest[eé]|puse|dije)\b"
    r"|\b(?:my|mi) (?:\w+ )?(?:e-?mail|letter|message|note|text|post|draft|reply|answer|correo|carta|mensaje|nota|texto|respuesta|borrador)\b",
    re.IGNORECASE,
)
_SPEAKS = regex(
    r"\b(?:i|i['’]\w+|my|we|our|me|yo|mi|mis|nos|estoy|soy|tengo|vivo|trabajo|le informo|les informo|dear|regards|estimad[oa]s?|atentamente|saludos)\b",
    re.IGNORECASE,
)
_LETTER_IN_LINES = regex(
    r"\s{0,4}(?:dear|hi|hello|hey|darling|hola|querid[oa]s?|estimad[oa]s?)(?: [\w.'’-]+){0,3}[,:!]\s", re.IGNORECASE
)
"""Matches a line that begins with a greeting and continues with the text of a letter."""
_SIGNED_IN_LINES = regex(r"[.!?,]\s+[\w ]{2,30},?\s+[A-ZÁÉÍÓÚÑ][\w'’-]+(?: [A-ZÁÉÍÓÚÑ][\w'’-]+)?\.?\s*$")
_POINTER = regex(r"\b(?:this|that|it|these|following|est[aeo]s?|siguiente)\b", re.IGNORECASE)
_OWNER = regex(r"['’]s | de (?:mi|un|el|la)", re.IGNORECASE)
_MAX_LINE = 400
"""Number of characters at the start of a line that are searched for an introduction such as "she wrote: "."""
_MAX_ANNOUNCEMENT = 160
"""Maximum number of characters of a line that announces a text."""
_MAX_LINES = 60
"""Number of lines at the start of a message that are searched for an announcement."""


def without_told(line: str) -> str:
    """Remove another person's words from a line in which the user quotes them. Return the line.

    An example is "my landlord wrote me: I am selling ...".
    """
    line = _JSON.sub("{...}", line) if "{" in line else line
    task = _TASK_IN_LINE.match(line)
    if task is not None:
        return line[: task.end()].rstrip()
    line = _without_marked(line)
    found = _IN_LINE.search(line[:_MAX_LINE])
    return line if found is None else line[: found.end()].rstrip()


def _without_marked(line: str) -> str:
    """Replace another person's words in quotation marks with "...", as in: the mail says "I live in Utrera"."""
    if not any(mark in line for mark in "\"“«„'‘"):  # a hundred times as fast as the pattern on a long text
        return line
    kept, place = [], 0
    for start, end in sorted([*(found.span() for found in _MARKED.finditer(line)), *_single_quoted(line)]):
        before = line[max(start - _MAX_ANNOUNCEMENT, place) : start]
        is_new = start >= place
        is_told = _SOURCE.search(before) or _SOURCE_AFTER.match(line, end)
        if is_new and is_told and not _OWN_SOURCE.search(before) and _SPEAKS.search(line, start + 1, end - 1):
            kept.append(f'{line[place:start]}"..."')
            place = end
    return "".join([*kept, line[place:]])


def _single_quoted(line: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each text in single quotation marks. An apostrophe inside a word is not a quotation mark."""
    endings = [found.start() for found in _ENDING.finditer(line)]
    shortest, longest = _QUOTED_LENGTHS
    done = 0
    for found in _OPENING.finditer(line):
        at = bisect_left(endings, max(done, found.end() + shortest))
        if at == len(endings):
            return
        if found.start() >= done and endings[at] - found.end() <= longest:
            done = endings[at] + 1
            yield found.start(), done


def announced_texts(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line range (start, end) of a text that the user pasted, if there is one.

    The text follows a line that announces it, or it is a letter with a greeting and a signature. It extends to the end of
    the message.
    """
    last = max((at for at, line in enumerate(lines) if line.strip()), default=0)
    for at, line in enumerate(lines[: min(last, _MAX_LINES)]):
        said = line.strip()
        apart = said.endswith(":") or not lines[at + 1].strip()
        if _announces(said) or (apart and (_POINTED.match(said) or _DOUBTED.match(said))):
            yield at + 1, len(lines)
            return
        if at and _LETTER_IN_LINES.match(line):
            break
    for at in range(1, last + 1):
        if _LETTER_IN_LINES.match(lines[at]) and _SIGNED_IN_LINES.search(lines[last][-_MAX_LINE:]):
            yield at, len(lines)
            return


def _announces(line: str) -> bool:
    """Return True if a line announces a text below it."""
    if len(line) > _MAX_ANNOUNCEMENT or _TO_KEEP.match(line):
        return False
    points = bool(_POINTER.search(line))
    if _ANNOUNCED.search(line) or _ONLY_TASK.match(line) or _TOLD.match(line) or (points and _TASK_ON_THIS.search(line)):
        return True
    if line.endswith((".", "!")):
        return False
    if points and _MENTIONED.search(line) and not _OPINION.match(line):
        return True
    if _OWNER.search(line) and _OF_OTHERS.search(line):
        return True
    return bool(_TASK_ON_TEXT.match(line) or _TITLE.match(line) or _FOUND.search(line))
