"""Split a message into clauses that may be statements. Code, quotes, questions and commands are left out.

The rules match the folded form of a clause: lower case, without accents.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from holdfast.learning.quotations.quoted_text import without_quoted_text
from holdfast.learning.statements.rulebook import Rulebook
from holdfast.runtime.regex import regex

_QUOTED = regex(r"\"[^\"\n]{2,}\"|“[^”\n]{2,}”|«[^»\n]{2,}»|(?<![\w])'[^'\n]{3,}'(?!\w)|(?<!\w)‘[^’\n]{3,}’(?!\w)")
_SENTENCE_END = regex(r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b[DM]r\.)(?<!\bSr\.)(?<!\b[DS]ra\.)(?<!\bMrs\.)[\"'”’)]*\s+|\n+")
_SKIPPED = (">", "|", "#", "$ ", "//", "/*", "<", "import ", "def ", "class ", "SELECT ")
_CODE = regex(
    r"\w\([^()\n]{0,60}\)\s*[:{;]|^[\w.]{2,40}\([^()\n]{0,80}\)$|[{};]\s*$|=>|[=!]=|\+=|^(?:INFO|DEBUG|ERROR|WARN(?:ING)?|FATAL|Traceback|\w{2,30}(?:Error|Exception):)\b"
)
"""Matches a line of a program or of a log."""
_EDGES = " \t\"'“”*_-–—•·"
_AROUND = _EDGES + ",;:("
_MAX_SENTENCE_CHARACTERS = 500
_MAX_BOUNDARIES = 16
"""Maximum number of possible clause boundaries examined per sentence. A sentence with more boundaries is probably a list."""
_MAX_EXAMINED_CHARACTERS = 160
"""Maximum number of characters after a question that are examined to decide whether a statement begins there."""
_MIN_WORDS = 2
_MIN_WORDS_WITHOUT_SUBJECT = 3
"""Minimum number of words of a clause without a subject. A shorter one is not split from the clause before it."""
_BOUNDARY = regex(
    r"(?:\s*[,;:(]\s*|\s+[–—-]+\s+|\s*(?:\.\.\.|…)\s*)(?:(?:and|but|so|because|cause|cuz|since|also|plus|y|e|pero|porque|asi que|ya que|aunque|ademas"
    r"|tambien|which is why|por eso|que|es que|cuz|bc)\s+)?"
    r"|\s+(?:and|but|so|because|cause|cuz|since|plus|y|pero|porque|asi que|ya que|aunque|although|though|while|es que|bc)\s+"
)
ANNOUNCEMENT = regex(
    r"(?:something|algo|(?:a|one|another|two|some|these|una?|otra?|dos|estas|estos) (?:[\w-]+ )?(?:thing|fact|detail|cosa|cosita|dato|detalle)s?)"
    r"(?: (?:very|really|muy|important|importante|for|about|sobre|de|para|me|mi))*\W*"
    r"|(?:this|these|those|est[aeo]s?|es[aeo]s?)(?: [\w-]+)?\W*"
)
"""Matches words that announce or point to a fact but do not state it, after a request to remember: "one important thing about me"."""
_PAUSE = regex(r"[,;:(.…–—-]")
_SUBJECT = regex(
    r"(?:i|i'\w+|im|ive|my|we|we'\w+|our|let'?s|it|the|turns|both|don'?t|dont|please|always|never|from|remind|he|she|his|her|their"
    r"|they|on|every|next)\b"
)
_POINTS_BACK = regex(r"\b(?:them|ones?|it|there|those|then|lo|entonces|eso|ahi|alla|alli)[.!]*$")
"""Matches a clause that ends with a word for something in the previous clause, such as "there" or "it".

Such a clause is not split from the previous one.
"""
_NEEDS_CONTEXT = regex(
    r"(?:mine|ours|that'?s (?:where|what|who|why|how|when|my|our|the (?:one|place))"
    r"|(?:el|la|los|las) (?:mi[oa]s?|nuestr[oa]s?)\b|(?:ahi|alli|alla) (?:es|esta|vivo|vive|vivimos|tengo|trabajo)|(?:es|son) (?:donde|mi|mis|el mio|la mia))\b"
)
"""Matches beginnings such as "mine" or "that's where", which are unclear without the previous clause."""
_CONSEQUENCE = regex(r"\b(?:so|asi que|por eso|which is why)\b")
_CONSEQUENT_WISH = regex(
    r"(?:please )?(?:no|don'?t|dont|do not|stop|never|only|always|skip|avoid|nada de|sin|deja de|nunca|evita|siempre)\b"
)
"""Matches the beginning of a request such as "no cheese" in "I'm vegan, so no cheese".

A request after "so" is not split from the statement before it.
"""
_CONSENT = regex(r"(?:ok|okay|vale|dale|got it|understood|entendido|de acuerdo|alright|please|porfa|por favor|si|yeah)\W*$")
"""Matches a question that only asks for agreement, such as "ok?" in "I'm vegan, ok?"."""
_INSTEAD = regex(r"\b(?:instead|after all|en su lugar|en vez de eso)\b")
_ACCENTS = str.maketrans(
    "áàâäãéèêëíìîïóòôöõúùûüçñÁÀÂÄÃÉÈÊËÍÌÎÏÓÒÔÖÕÚÙÛÜÇÑ’‘`´", "aaaaaeeeeiiiiooooouuuucnAAAAAEEEEIIIIOOOOOUUUUCN''''"
)
_LAST_O = regex(r"(?<=\w\w)ó(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementClause:
    """A part of a sentence, in two forms: as written (``text``), and in lower case without accents (``folded``)."""

    text: str
    folded: str
    asked: bool = False
    corrects: bool = False
    """True if the clause corrects an earlier statement, judging by its words."""
    context: str = ""
    """The text just before the clause, if the clause is unclear without it. Otherwise empty."""

    @property
    def needs_context(self) -> bool:
        """True if the clause refers to something named just before it: "mine is blue"."""
        return _NEEDS_CONTEXT.match(self.folded) is not None


def fold_clause(text: str) -> str:
    """Return the text in the form that rules match: lower case, no accents, straight apostrophes. The length stays the same.

    An "ó" at the end of a word stays: in Spanish it distinguishes "he worked" (trabajó) from "I work" (trabajo).
    """
    plain = list(text.translate(_ACCENTS).lower())
    if len(plain) != len(text):  # some letters change length in lower case
        plain = [char.lower()[:1] or char for char in text.translate(_ACCENTS)]
    for match in _LAST_O.finditer(text):
        plain[match.end() - 1] = "ó"
    return "".join(plain)


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence in two forms: as written, and in lower case without accents. Code is skipped.

    In the second form, quotes of three or more words are masked with underscores.
    """
    for piece in _SENTENCE_END.split(without_quoted_text(text)):
        sentence = piece.strip(_EDGES) if piece else ""
        if (
            not sentence
            or len(sentence) > _MAX_SENTENCE_CHARACTERS
            or piece.lstrip().startswith(_SKIPPED)
            or _CODE.search(sentence)
        ):
            continue
        start = piece.index(sentence)  # stripping can remove a quotation mark that masking needs
        yield sentence, fold_clause(_QUOTED.sub(_mask_quote, piece))[start : start + len(sentence)]


def _mask_quote(match: re.Match[str]) -> str:
    """Mask a quote with underscores, unless it is a name or title of one or two words."""
    quote = match[0]
    return quote if len(quote.split()) < 3 else quote[0] + "_" * (len(quote) - 2) + quote[-1]


def clauses(sentence: str, folded: str, book: Rulebook) -> Iterator[StatementClause]:
    """Yield the clauses of a sentence that state something. Questions and commands are dropped.

    ``folded`` is the sentence in lower case and without accents.
    """
    is_question = sentence.rstrip(_EDGES + ")").endswith("?")
    cuts = _clause_boundaries(folded, book, is_question=is_question)
    spans = zip([0, *(after for _, after in cuts)], [*(before for before, _ in cuts), len(sentence)], strict=True)
    parts = [(sentence[start:end].strip(_AROUND), folded[start:end].strip(_AROUND)) for start, end in spans]
    spoken = [_stated(text, plain, book, is_question=is_question) for text, plain in parts]
    if is_question and len(parts) > 1 and all(clause is not None for clause in spoken) and book.find(parts[-1][1]) is None:
        spoken[-1] = None  # the question mark belongs to the last part
    if is_question and not _states_something(parts, spoken, book):
        return
    corrects = book.correction.match(folded) is not None
    for number, clause in enumerate(spoken):
        if clause is None:
            continue
        following = parts[number + 1][1] if number + 1 < len(parts) else ""
        asked_after = bool(following) and bool(book.asked_after.match(following))
        restates = corrects or _INSTEAD.search(clause.folded) is not None
        context = parts[number - 1][0] if number and clause.needs_context else ""
        yield replace(clause, asked=clause.asked or asked_after, corrects=restates, context=context)


def _states_something(parts: list[tuple[str, str]], spoken: list[StatementClause | None], book: Rulebook) -> bool:
    """Return True if a sentence with a question mark also states something, as in "I'm vegan, anything for me?".

    If one of several parts is a question or command, the question mark belongs to this part, and the other parts are
    statements. But a sentence that ends with a short tag, such as "right?", is a question as a whole. A tag that only asks for
    agreement, such as "ok?", does not make it a question.

    ``parts`` are the parts of the sentence, each as written and in lower case without accents. ``spoken`` has one entry per
    part: the clause that the part states, or None for a question or command.
    """
    if len(parts) == 1:
        clause = spoken[0]
        return clause is not None and (clause.asked or _is_announced(parts[0][1], clause.folded))
    last = parts[-1][1]
    if _CONSENT.match(last):
        return True
    if book.shows("tag", last) and len(last.split()) <= 4:
        return False
    return any(clause is None for clause in spoken)


def _is_announced(folded: str, stated: str) -> bool:
    """Return True if a question only introduces the statement in it: "did I mention that I'm vegan?".

    ``folded`` is the question, and ``stated`` is the statement at its end. Both are in lower case and without accents.
    """
    lead = folded[: len(folded) - len(stated)]
    return bool(re.match(r"(?:\W|and |y |por cierto|by the way)*(?:did i|have i|te (?:dije|conte)|ya te)", lead))


def _stated(text: str, folded: str, book: Rulebook, *, is_question: bool) -> StatementClause | None:
    """Return a part of a sentence as a clause, without introductory words.

    ``text`` is the part as written, and ``folded`` is the part in lower case without accents. ``is_question`` is True if the
    sentence ends with a question mark. Return None if the part is a question, a command or a quote, or if it is too short. A
    question or command that matches a rule of the rulebook is kept, because it states something.
    """
    if book.asked_after.match(folded):
        return None
    asked = False
    for _ in range(8):
        lead = book.asked.match(folded)
        asked = asked or lead is not None
        if lead is None:
            lead = book.filler.match(folded)
            if lead is None or lead.end() == 0 or (book.find(folded) and not book.find(folded[lead.end() :])):
                break
        text, folded = text[lead.end() :], folded[lead.end() :]
    text, folded = text.strip(_AROUND), folded.strip(_AROUND)
    if len(folded.split()) < _MIN_WORDS or "_____" in folded[:6]:
        return None
    stands = not is_question and book.shows("standing", folded)
    if not asked and not stands and not book.find(folded) and _asks(folded, book, is_question=is_question):
        return None
    if asked and (ANNOUNCEMENT.fullmatch(folded) or (book.shows("question", folded) and folded.endswith("?"))):
        return None
    if text.endswith("?"):
        text, folded = text.rstrip("?! "), folded.rstrip("?! ")
    return StatementClause(text=text, folded=folded, asked=asked)


def _asks(folded: str, book: Rulebook, *, is_question: bool) -> bool:
    lead = book.filler.match(folded)
    bare = folded if lead is None else folded[lead.end() :]
    return any(book.shows("question" if is_question else "asks", said) or book.shows("command", said) for said in (folded, bare))


def _clause_boundaries(folded: str, book: Rulebook, *, is_question: bool) -> list[tuple[int, int]]:
    """Return the spans of the separators between the clauses of a sentence. A separator is text such as ", and ".

    The clauses can be statements, questions and commands. ``folded`` is the sentence in lower case and without accents.
    ``is_question`` is True if the sentence ends with a question mark.
    """
    cuts: list[tuple[int, int]] = []
    is_request = _asks_to_remember(folded, book)
    for boundary in islice(_BOUNDARY.finditer(folded), _MAX_BOUNDARIES):
        rest = folded[boundary.end() :]
        before = folded[cuts[-1][1] if cuts else 0 : boundary.start()]
        tight = not _PAUSE.search(boundary[0])
        if not rest or (tight and len(before.split()) < 3 and not _is_only_lead(before, book)):
            continue
        if _CONSEQUENCE.search(boundary[0]) and _CONSEQUENT_WISH.match(rest) and book.states(before):
            continue
        if (
            (_asks(rest, book, is_question=is_question) and not (tight and book.find(rest)))
            or (
                not is_request
                and not _follows_from(boundary[0], before, book)
                and _begins_clause(rest, book, tight=tight, is_question=is_question)
            )
            or book.asked_after.match(rest)
            or (
                not is_request
                and _asks(before, book, is_question=is_question)
                and _is_statement(rest[:_MAX_EXAMINED_CHARACTERS], book)
            )
        ):
            cuts.append(boundary.span())
    return cuts or (_last_pause(folded, book) if is_question else [])


def _last_pause(folded: str, book: Rulebook) -> list[tuple[int, int]]:
    """Return the span of the separator between a statement and a question: the comma in "I'm vegan, anything for me?".

    The result is a list with this span. It is empty if the sentence does not consist of a statement and a question.
    ``folded`` is the sentence in lower case and without accents.
    """
    pauses = [boundary for boundary in _BOUNDARY.finditer(folded) if _PAUSE.search(boundary[0])]
    if not pauses or _asks(folded, book, is_question=True):
        return []
    last = pauses[-1]
    before, rest = folded[: last.start()], folded[last.end() :]
    if len(rest.split()) < _MIN_WORDS or book.shows("tag", rest) or book.find(rest) is not None:
        return []
    return [last.span()] if book.states(before) else []


def _follows_from(boundary: str, before: str, book: Rulebook) -> bool:
    """Return True if a clause is a consequence of the statement before it: "my gym closes at nine so I go early".

    Such a clause is not separated from the statement. ``before`` is the statement, and ``boundary`` is the text between
    the statement and the clause.
    """
    return _CONSEQUENCE.search(boundary) is not None and book.find(before) is not None


def _is_statement(rest: str, book: Rulebook) -> bool:
    """Return True if the text after a question or command is a statement, as in "find a recipe, my son eats no meat"."""
    return len(rest.split()) >= _MIN_WORDS_WITHOUT_SUBJECT and book.states(rest)


def _asks_to_remember(folded: str, book: Rulebook) -> bool:
    """Return True if a sentence begins with a request to remember something. Such a sentence is not split."""
    for _ in range(4):
        if book.asked.match(folded):
            return True
        lead = book.filler.match(folded)
        if lead is None or lead.end() == 0:
            return False
        folded = folded[lead.end() :]
    return False


def _is_only_lead(before: str, book: Rulebook) -> bool:
    lead = book.filler.match(before)
    return lead is not None and lead.end() == len(before)


def _begins_clause(rest: str, book: Rulebook, *, tight: bool, is_question: bool) -> bool:
    stated = rest
    for _ in range(3):
        lead = book.filler.match(stated)
        if lead is None or lead.end() == 0:
            break
        stated = stated[lead.end() :]
    if book.asked.match(stated) or (is_question and not tight and book.shows("tag", rest)):
        return True
    return book.find(stated) is not None and _has_own_subject(stated, book, tight=tight) and not _POINTS_BACK.search(stated)


def _has_own_subject(folded: str, book: Rulebook, *, tight: bool) -> bool:
    """Return True if a clause can stand alone.

    Every Spanish clause can stand alone, because Spanish omits subjects. An English clause can stand alone if it begins
    with a subject, or if it follows a pause and has at least three words. ``tight`` is True if there is no pause, such
    as a comma, before the clause.
    """
    if book.language == "es" or _SUBJECT.match(folded):
        return True
    return not tight and len(_BOUNDARY.split(folded, maxsplit=1)[0].split()) >= _MIN_WORDS_WITHOUT_SUBJECT
