"""Find statements with the sentence reader, a small model that reads each of the user's sentences with the previous turn.

The reader decides which sentences are worth keeping. Rules only name the attribute of a statement and remove text that
is not part of it. Statements are quotes. A reply is kept with the question that it answers, and a sentence that points
back ("she moved there") is kept with the previous sentence.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Literal

from holdfast.learning.statements.clauses import clauses, fold_clause
from holdfast.learning.statements.quoted_text import without_quoted_text
from holdfast.learning.statements.rulebook import Rulebook, Statement, StatementRule, StatementType, rulebooks
from holdfast.learning.statements.spoken_clauses import without_secret
from holdfast.learning.statements.standalone import (
    is_about_nobody,
    is_english,
    is_question,
    is_unfinished,
    points_nowhere,
    without_subordinator,
)
from holdfast.learning.statements.trim import trimmed
from holdfast.protocols.sentence_reader import Area, Reading, SentenceReader
from holdfast.text.consent.cues import may_wish
from holdfast.text.language import detect_language
from holdfast.text.relative_dates import with_dates
from holdfast.text.sentences import split_sentences
from holdfast.types import Message

__all__ = ["own_sentences", "read_statements"]

_MIN_KEEP: Final = 0.6
"""Minimum probability with which a sentence is kept."""
_MIN_KEEP_UNLIKELY: Final = 0.9
"""Minimum probability for a sentence that looks like small talk, or like something not meant."""
_MIN_KEEP_RULED: Final = 0.15
"""Minimum probability for a sentence that a rule matches, such as one that states a name."""
_MIN_KEEP_ALONE: Final = 0.3
"""Minimum probability for the words of a memory without the turn before them."""
_MIN_WISH: Final = 0.5
_MIN_REFUSAL: Final = 0.8
"""Minimum probability of the wish that a sentence is not kept."""
_REFUSALS: Final[tuple[Literal["off_record", "forget"], ...]] = ("off_record", "forget")
_MIN_OFF_RECORD: Final = 0.9
"""Minimum probability of the wish that nothing of a message is kept."""
_MAX_WISH_CHARACTERS: Final = 600
_MAX_SENTENCE_CHARACTERS: Final = 500
_MAX_CONTEXT_CHARACTERS: Final = 200
_MIN_WORDS: Final = 2
_MAX_LEADS: Final = 8
_MAX_PAUSES: Final = 8
_MAX_LEAD_WORDS: Final = 2
_MAX_TAG_WORDS: Final = 4
_CODE = re.compile(
    r"^\W{0,3}\*\*[^*]{1,60}\*\*\W{0,2}:|\w\([^()\n]{0,60}\)\s*[:{;]|^[\w.]{2,40}\([^()\n]{0,80}\)$|[{};]\s*$|=>|[=!]=|\+="
    r"|^(?:INFO|DEBUG|ERROR|WARN(?:ING)?|FATAL|Traceback|\w{2,30}(?:Error|Exception):)\b|^(?:import|def|class|SELECT|from \w+ import)\s"
)
_QUOTED: Final = re.compile(r'"[^"\n]{3,}"|“[^”\n]{3,}”|«[^»\n]{3,}»')
"""Matches a text in quotation marks. What follows such a text is the user's own again."""
_PAUSE: Final = re.compile(r"\s*[,;:(–—]\s*|\s+-+\s+|\s+(?:and|but|so|because|y|pero|porque|así que|asi que)\s+")
_STOP: Final = re.compile(r"\s*[,;:(–—]\s+|\s+-+\s+")
_REASON: Final = re.compile(r"^(?:since|because|given that|como|ya que|porque|dado que)\s+", re.IGNORECASE)
_POINTS_BACK: Final = re.compile(
    r"(?:(?:and|but|so|y|pero|o sea|also|too|well|oh|yeah|yes)\W+)*"
    r"(?:he|she|they|it|its|it's|that|that's|this|these|those|his|her|their|there|one|both|él|ella|ellos|ellas|eso|esa|ese|esto|ahí|allí|allá"
    r"|mine|ours|el mío|la mía|since then|that way|desde entonces)\b"
    r"|(?:\w+ing|i(?:'ve|’ve| have)(?: been)? \w+(?: \w+)?)\s+(?:(?:to|about|of|for)\s+)?(?:it|them|those|that one)\b",
    re.IGNORECASE,
)
"""Matches a sentence whose subject, or the thing that it speaks of, was named before it."""
_CONCLUDED: Final = re.compile(
    r"\b(?:i|we)(?:'ve| have| had)? (?:just |finally |also |already |now )?(?:decided|agreed|chose|chosen|settled on|found out|figured out|discovered)\b"
    r"|\bwe'?re going with\b|\blet'?s (?:use|go with|stick with)\b|\bturns out\b|\bit turned out\b"
    r"|\b(?:decid[ií]|decidimos|(?:he|hemos) decidido|eleg[ií]|elegimos|acord[eé]|acordamos|(?:he|hemos) acordado|quedamos en"
    r"|me enter[eé] de|nos enteramos de|vamos con|usemos|resulta que|resulto que|descubr[ií]|descubrimos)\b"
)
"""Matches a decision or a discovery, which is kept even if the reader doubts it. The text is folded."""
_NO_SUBJECT: Final = re.compile(
    r"(?:been|born|no|not|never|always|used to|(?:ca|do|did|wo|have|could)n'?t|cannot|nada|nunca|siempre)\b"
)
"""Matches the beginning of a folded sentence that leaves its subject out: "been vegan since May"."""
_AREAS: Final[Mapping[Area, tuple[str, str, StatementType, float]]] = {
    "identity": ("personal", "personal", "personal", 7.0),
    "health": ("health", "salud", "personal", 8.0),
    "family": ("family", "familia", "personal", 7.0),
    "work": ("work", "trabajo", "personal", 6.0),
    "home": ("home", "ubicacion", "personal", 7.0),
    "possession": ("possession", "pertenencia", "personal", 5.0),
    "preference": ("preference", "preferencia", "preference", 6.0),
    "instruction": ("instruction", "instruccion", "preference", 8.0),
    "event": ("event", "evento", "event", 5.0),
    "plan": ("plan", "plan", "event", 5.0),
    "skill": ("skill", "habilidad", "personal", 5.0),
    "opinion": ("opinion", "opinion", "preference", 4.0),
    "other": ("note", "nota", "knowledge", 4.0),
}
"""Maps an area to the key of a statement in English and in Spanish, its type and its importance, if no rule matches."""
_SINGLE_KEYS: Final = frozenset(
    "name nombre birthday cumpleanos contact contacto home ubicacion work trabajo study estudios diet dieta language idioma".split()
)
"""Attributes that stand alone. A sentence that states several of them becomes several statements."""
_LASTING_KEYS: Final = _SINGLE_KEYS | frozenset("health salud family familia pet mascota skill habilidad".split())
"""Attributes that are kept if a rule matches, even if the reader is not sure."""
_ASKED_IMPORTANCE: Final = 8.0
_MAX_IMPORTANCE: Final = 10.0


def read_statements(message: Message, *, before: str, reader: SentenceReader) -> list[Statement]:
    """Return the statements of a message that are worth keeping, in order. ``before`` is the previous turn.

    If the user asks not to keep the message, the list is empty.
    """
    language = message.language or detect_language(message.text)
    books = rulebooks(language)
    if any(book.shows(sign, fold_clause(message.text)) for book in books for sign in ("roleplay", "joke")):
        return []
    context = _Context(before=before, books=books, reader=reader, language=language)
    sentences = list(_own_sentences(message.text, books))
    if any(
        context.read(text).wishes["off_record"] >= _MIN_OFF_RECORD and may_wish("off_record", fold_clause(text))
        for text in (message.text[:_MAX_WISH_CHARACTERS], *sentences)
    ):
        return []
    return list(_statements(message, sentences, context))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The turn before a message, the rules for the message's language, and the reader."""

    before: str
    books: tuple[Rulebook, ...]
    """The rules of all languages, those of the message's language first."""
    reader: SentenceReader
    language: str | None
    known: dict[str, Reading] = field(default_factory=dict)
    """What was read already. A message of one sentence is read once."""

    def read(self, text: str) -> Reading:
        """Read one of the user's texts together with the previous turn."""
        if text not in self.known:
            self.known[text] = self.reader.read(text, before=self.before)
        return self.known[text]


def own_sentences(text: str, language: str | None) -> list[str]:
    """Return the sentences of a message that the user states, without code, logs, and text to translate or summarize."""
    return list(_own_sentences(text, rulebooks(language or detect_language(text))))


def _statements(message: Message, sentences: Sequence[str], context: _Context) -> Iterator[Statement]:
    previous = ""
    for said in sentences:
        sentence, reading = said, context.read(said)
        stated = _before_question(sentence)
        if stated and (alone := context.read(stated)).keep > reading.keep:
            sentence, reading = stated, alone
        asked = next(filter(None, (_asked_text(sentence, book) for book in context.books)), "")
        text = asked or _without_lead(_words_to_keep(sentence, reading), context.books)
        rule = _rule(text, context.books)
        if text and rule is None and not sentence.endswith("?") and (rule := _rule(sentence, context.books)) is not None:
            text = asked or sentence
        if asked or (text and _is_kept(reading, sentence, rule) and (len(text.split()) >= _MIN_WORDS or reading.reply)):
            parts = _parts(text, context.books) or [(text, rule)]
            for said_part, part_rule in parts:
                part = said_part
                if not asked and reading.area != "instruction":
                    part = without_subordinator(trimmed(said_part, context.read))
                if not asked and not _says_enough(part, part_rule, context):
                    continue
                whole = part if len(parts) > 1 or asked else _with_context(part, reading, previous, context)
                if not asked and not _stands_alone(whole, part, reading, part_rule, context):
                    continue
                found = _statement(whole, part, reading, part_rule, context, asked=bool(asked))
                yield replace(found, text=with_dates(whole, message.at))
        previous = said


def _parts(text: str, books: Sequence[Rulebook]) -> list[tuple[str, StatementRule | None]]:
    """Return the clauses of a text if each states a different attribute, as in "my name is Ana and I live in Lyon"."""
    folded = fold_clause(text)
    for book in books:
        found = [(clause.text, book.find(clause.folded)) for clause in clauses(text, folded, book)]
        keys = {rule.key for _, rule in found if rule is not None and rule.key in _SINGLE_KEYS}
        if len(keys) == len(found) > 1 and not any(_POINTS_BACK.match(clause) for clause, _ in found):
            return list(found)
    return []


def _asks_to_confirm(folded: str, books: Sequence[Rulebook]) -> bool:
    """Return True if a sentence only asks for confirmation, such as "I live in Lyon, right?"."""
    tail = _STOP.split(folded)[-1]
    is_tag = len(tail.split()) <= _MAX_TAG_WORDS and any(book.shows("tag", tail) for book in books)
    return folded.endswith("?") and tail != folded and is_tag


def _before_question(sentence: str) -> str:
    """Return the text before the question at the end of a sentence: "I'm vegan" in "I'm vegan, anything for me?"."""
    stops = [stop.start() for stop in _STOP.finditer(sentence)] if sentence.rstrip().endswith("?") else []
    stated = _REASON.sub("", sentence[: stops[-1]]) if stops else ""
    return stated if len(stated.split()) > _MIN_WORDS else ""


def _own_sentences(text: str, books: Sequence[Rulebook]) -> Iterator[str]:
    """Yield the sentences that the user states. Sentences after a request such as "translate this" are not the user's own."""
    for sentence in _sentences(text):
        folded = fold_clause(sentence)
        if any(book.shows("text_command", folded) or book.shows("text_writing", folded + "\n") for book in books):
            if not folded.endswith("?") and not _QUOTED.search(sentence):  # "how do you say it?" is not followed by a text
                return
        elif not _asks_to_confirm(folded, books):
            yield sentence


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a message. Code, logs and sentences with a secret are left out."""
    for sentence in split_sentences(without_quoted_text(text, in_line=False)):
        if len(sentence) <= _MAX_SENTENCE_CHARACTERS and not _CODE.search(sentence) and without_secret(sentence):
            yield sentence


def _asked_text(sentence: str, book: Rulebook) -> str:
    """Return the text after a request to remember, such as "the key is under the pot".

    Empty if the sentence is no such request.
    """
    folded = fold_clause(sentence)
    for start in (0, *_after_leads(folded, book)):
        lead = book.asked.match(folded[start:])
        if lead is not None:
            return sentence[start + lead.end() :].strip(" ,;:-–—")
    return ""


def _without_lead(text: str, books: Sequence[Rulebook]) -> str:
    """Return a text without introductory words such as "and" or "by the way", if a rule matches the rest."""
    folded = fold_clause(text)
    for book in books:
        starts = [start for start in _after_leads(folded, book) if book.find(folded[start:]) is not None]
        if starts:
            return text[starts[-1] :]
    return text


def _after_leads(folded: str, book: Rulebook) -> Iterator[int]:
    """Yield the positions after each introductory word at the beginning of a folded text."""
    start = 0
    for _ in range(_MAX_LEADS):
        lead = book.filler.match(folded[start:])
        if lead is None or lead.end() == 0:
            return
        start += lead.end()
        yield start


def _is_kept(reading: Reading, sentence: str, rule: StatementRule | None) -> bool:
    if any(reading.wishes[wish] >= _MIN_REFUSAL and may_wish(wish, fold_clause(sentence)) for wish in _REFUSALS):
        return False
    if reading.wishes["remember"] >= _MIN_WISH:
        return reading.act != "question" and reading.keep >= _MIN_KEEP_RULED
    lasting = rule is not None and rule.key in _LASTING_KEYS and reading.keep >= _MIN_KEEP_RULED
    if reading.act not in ("question", "smalltalk") and (lasting or _CONCLUDED.search(fold_clause(sentence))):
        return True
    if sentence.endswith(":") or reading.owner in ("assistant", "world"):
        return False
    unlikely = reading.meant != "fact" or reading.act == "smalltalk"
    return reading.keep >= (_MIN_KEEP_UNLIKELY if unlikely else _MIN_KEEP)


def _says_enough(text: str, rule: StatementRule | None, context: _Context) -> bool:
    """Return True if the remaining words still state something. A rule match, a decision or a reply is enough."""
    reading = context.read(text)
    if rule is not None or reading.reply or _CONCLUDED.search(fold_clause(text)):
        return True
    return reading.act not in ("question", "smalltalk") and reading.keep >= _MIN_KEEP


def _stands_alone(text: str, own: str, reading: Reading, rule: StatementRule | None, context: _Context) -> bool:
    """Return True if a memory with these words can be understood weeks later. ``own`` is the text without its context."""
    folded = fold_clause(own)
    if is_unfinished(folded) or (text == own and is_question(folded)):
        return False
    lasting = rule is not None and rule.key in _LASTING_KEYS
    corrects = any(book.correction.match(folded) for book in context.books)
    if lasting or corrects or reading.wishes["remember"] >= _MIN_WISH or _CONCLUDED.search(folded):
        return True
    alone = context.reader.read(own)
    has_question = text != own and "?" in text
    if is_english(folded, context.language):
        nobody = is_about_nobody(folded, reading, has_question=has_question)
        if nobody or (not has_question and points_nowhere(text, fold_clause(text))):
            return False
    if text != own or reading.reply or reading.area == "instruction":
        return not has_question or alone.act != "smalltalk"
    # Events are often told in answer to the turn before: half of the lost evidence was of this sort.
    return reading.area == "event" or alone.keep >= _MIN_KEEP_ALONE


def _words_to_keep(sentence: str, reading: Reading) -> str:
    """Return the part of a sentence that contains the fact. It is empty if the sentence is only a request or a question.

    In a request, the fact is the clause that the reader marks. A question after a statement is cut off. In other cases,
    and in a standing instruction, the whole sentence is returned.
    """
    stops = [stop.start() for stop in _STOP.finditer(sentence) if stop.start() >= reading.end - 1]
    after = stops[0] if stops else len(sentence)
    if reading.act not in ("request", "question") or reading.area == "instruction":
        start, end = 0, after if sentence.rstrip().endswith("?") else len(sentence)
    elif len(sentence[: reading.start].split()) <= _MAX_LEAD_WORDS:  # the fact stands before the request
        start, end = reading.start, after
    else:
        inside = [pause.end() for pause in _PAUSE.finditer(sentence) if pause.end() < reading.end]
        before = [place for place in inside if place <= reading.start]
        start, end = before[-1] if before else inside[0] if inside else 0, after
    text = sentence[start:end].strip(" ,;:-–—")
    return "" if text.endswith("?") else text


def _with_context(text: str, reading: Reading, previous: str, context: _Context) -> str:
    """Return a statement together with the words that are needed to understand it."""
    folded = fold_clause(text)
    lost = is_english(folded, context.language) and not _CONCLUDED.search(folded) and points_nowhere(text, folded)
    dangling = _POINTS_BACK.match(text) or lost
    if dangling and previous and len(previous) <= _MAX_CONTEXT_CHARACTERS and context.read(previous).act != "smalltalk":
        return f"{previous} {text}"
    told = split_sentences(context.before)
    if lost and not previous and told and len(told[-1]) <= _MAX_CONTEXT_CHARACTERS:
        return f"{told[-1]} {text}"  # "What a lovely pendant! I bought it in Paris."
    asked = next((said for said in reversed(told) if said.endswith("?")), "")
    is_reply = reading.reply or (reading.act == "reply" and _POINTS_BACK.match(text))
    if not previous and is_reply and reading.act != "smalltalk" and asked and len(asked) <= _MAX_CONTEXT_CHARACTERS:
        return f"{asked} {text}"
    return text


def _statement(text: str, own: str, reading: Reading, rule: StatementRule | None, context: _Context, *, asked: bool) -> Statement:
    key, key_es, type_, importance = _AREAS[reading.area]
    asked = asked or reading.wishes["remember"] >= _MIN_WISH
    is_event = reading.area in ("event", "plan")
    importance = importance if rule is None else rule.importance
    language = context.language or next(
        (book.language for book in context.books if rule in book.rules), context.books[0].language
    )
    return Statement(
        text=text,
        kind=rule.kind if rule is not None else "event" if is_event and not asked else "fact",
        type=rule.type if rule is not None else "event" if is_event else type_,
        key=(key_es if language == "es" else key) if rule is None else rule.key,
        importance=min(max(importance + 1, _ASKED_IMPORTANCE), _MAX_IMPORTANCE) if asked else importance,
        language=language,
        asked=asked,
        temporary=reading.area == "plan" if rule is None else rule.temporary,
        corrects=any(book.correction.match(fold_clause(own)) for book in context.books),
        ruled=rule is not None and text == own,
        elided=text != own or _NO_SUBJECT.match(fold_clause(own)) is not None,
    )


def _rule(text: str, books: Sequence[Rulebook]) -> StatementRule | None:
    """Return the first rule that matches the text, or that matches a part of the text after a pause."""
    folded = fold_clause(text)
    starts = [0, *(found.end() for found in islice(_PAUSE.finditer(folded), _MAX_PAUSES))]
    return next((rule for book in books for start in starts if (rule := book.find(folded[start:])) is not None), None)
