"""Find statements with the sentence reader, a small model that analyzes each of the user's sentences with the previous turn.

The sentence reader decides which sentences are worth keeping. Rules only name the attribute of a statement and remove text
that is not part of it. Statements are quotes. A reply is kept together with the question that it answers. A sentence that
refers to the sentence before, such as "she moved there", is kept together with that sentence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Final, Literal, TypeAlias

from holdfast.learning.change_reader import ends_memory
from holdfast.learning.dating import dated
from holdfast.learning.quotations.role_play import is_staged
from holdfast.learning.statements.candidate import Candidate, concludes, mentions_user, worth
from holdfast.learning.statements.clauses import ANNOUNCEMENT, clauses, fold_clause
from holdfast.learning.statements.compose import MIN_REMEMBER, asks_to_remember, statement_of
from holdfast.learning.statements.context import Context
from holdfast.learning.statements.own_parts import own_parts
from holdfast.learning.statements.own_text import own_clauses
from holdfast.learning.statements.references import POINTS_BACK, sentence_before, with_context
from holdfast.learning.statements.repair import rejected_value
from holdfast.learning.statements.repetitions import without_repeats
from holdfast.learning.statements.replies import answered_question, chosen_statement
from holdfast.learning.statements.rulebook import SINGLE_KEYS, Rulebook, Statement, StatementRule, rulebooks
from holdfast.learning.statements.standalone import (
    is_irreal,
    is_question,
    is_since_clause,
    is_unfinished,
    without_subordinator,
)
from holdfast.learning.statements.statements import retracts
from holdfast.learning.statements.trim import PAUSE, before_question, lasting_request, trimmed, words_to_keep
from holdfast.protocols.sentence_reader import Reading, SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.consent.cues import may_wish, shows_in_part
from holdfast.text.consent.pointing import before_request
from holdfast.text.consent.spelling import respelled
from holdfast.text.dictation import is_statement
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences
from holdfast.types import Message

__all__ = ["read_statements"]

_MIN_KEEP: Final = 0.15
"""Minimum probability, according to the sentence reader, that a sentence is worth keeping.

A sentence below it is dropped, unless a rule matches it or it states a decision or a discovery.
"""
_MIN_CORRECTION: Final = 0.5
"""Minimum probability, according to the sentence reader, that a correction is worth keeping."""
_MIN_WORTH: Final = 0.5
"""Minimum probability, according to :func:`worth`, that a statement is useful as a memory."""
_MIN_PART_WORTH: Final = 0.75
"""The same for a clause that is read alone, because nothing of its whole sentence is worth keeping. It is junk more often."""
_MIN_REFUSAL: Final = 0.9
"""Minimum probability, from the sentence reader, with which one sentence counts as a wish to forget it or not to keep it."""
_MIN_OFF_RECORD: Final = 0.9
"""Minimum probability, from the sentence reader, with which a message counts as a wish that nothing of it is kept."""
_MIN_DOUBT: Final = 0.3
"""Minimum probability of such a wish at which an earlier message is not quoted."""
_REFUSALS: Final[tuple[Literal["off_record", "forget"], ...]] = ("off_record", "forget")
_MAX_WISH_CHARACTERS: Final = 600
_MIN_WORDS: Final = 2
_MIN_LONG_WORDS: Final = 12
"""Minimum number of words of a sentence whose clauses are also read one by one."""
_MAX_LEADS: Final = 8
_MAX_PAUSES: Final = 8
_VERB: Final = regex(
    r"\b(?:is|are|am|was|were|has|have|had|will|\w+'s|\w{3,}s|es|son|era|fue|esta|estan|tiene|tengo|soy|vivo|se|me|sale|empieza|termina|llega|\w{2,}ó)\b \w"
)
"""Matches a verb with a word after it. A correction without it, such as "on Tuesday, not Monday", names only a value."""
_HOME_KEYS: Final = ("home", "ubicacion")


def read_statements(message: Message, *, before: str, reader: SentenceReader, earlier: Sequence[str] = ()) -> list[Statement]:
    """Return the statements of a message that are worth keeping, in order. ``before`` is the previous turn.

    If the user asks not to keep the message, the list is empty. ``earlier`` are the user's last messages before this one. A
    statement about someone whom only they name is returned together with the sentence that names this person.
    """
    language = message.language or detect_language(message.text) or detect_language(before)
    books = rulebooks(language)
    first, *rest = split_sentences(message.text) or [""]
    taken_back = bool(rest) and retracts(first)  # "I was joking. I teach in Hull."
    if not _is_serious(" ".join(rest) if taken_back else message.text, books) or is_staged(message.text, before=before):
        return []
    context = Context(before=before, books=books, reader=reader, language=language)
    context = replace(context, earlier=tuple(text for text in earlier if _is_quotable(text, context)))
    sentences = own_clauses(message.text, language)
    if _is_off_record(message.text[:_MAX_WISH_CHARACTERS], sentences, context):
        return []
    return without_repeats(list(_statements(message, sentences, context)))


def _is_serious(text: str, books: Sequence[Rulebook]) -> bool:
    """Return False if a message is a joke or a role play."""
    return not any(book.shows(sign, fold_clause(text)) for book in books for sign in ("roleplay", "joke"))


def _is_quotable(text: str, context: Context) -> bool:
    """Return True if a memory may quote an earlier message: it is serious, and it does not ask to keep or to forget anything."""
    folded = fold_clause(text)
    if not _is_serious(text, context.books):
        return False
    wishes = [wish for wish in _REFUSALS if may_wish(wish, folded)]
    return not any(context.read(text[:_MAX_WISH_CHARACTERS]).wishes[wish] >= _MIN_DOUBT for wish in wishes)


_Found: TypeAlias = tuple[Candidate, StatementRule | None, bool]
"""A candidate for a memory, the rule that matches it (or None), and True if the user asked to remember it."""


def _is_off_record(text: str, sentences: Sequence[str], context: Context) -> bool:
    """Return True if a message asks not to be kept.

    ``sentences`` are the sentences of the message. The sentence reader is called only if the message contains words that such
    a request uses, such as "off the record".
    """
    if not may_wish("off_record", fold_clause(text)):
        return False
    wished = any(context.off_record(each) >= _MIN_OFF_RECORD for each in (text, *sentences))
    return wished and shows_in_part(text, context.off_record)


def _asks_only(sentence: str, context: Context) -> bool:
    """Return True if an English sentence is a question or a command that does not mention the user.

    Return False for a request to remember something, and for an instruction about all replies. If the result is True, the
    sentence reader is not called for the sentence.
    """
    folded = fold_clause(sentence)
    if context.language != "en" or mentions_user(folded) or any(_asked_text(sentence, book) for book in context.books):
        return False
    book = context.books[0]
    asks = folded.endswith("?") or book.shows("question", folded) or book.shows("command", folded)
    return asks and not _instructs(_rule(sentence, context.books))


def _instructs(rule: StatementRule | None) -> bool:
    return rule is not None and rule.instructs


def _statements(message: Message, sentences: Sequence[str], context: Context) -> Iterator[Statement]:
    for place, said in enumerate(sentences):
        previous = sentence_before(sentences[:place], said, context)
        kept = _kept_in(said, previous, context)
        if not kept and ends_memory(context.reader, message, said, before=context.before):
            context.known.clear()  # the sentence reader now rates the sentence as worth keeping
            kept = _kept_in(said, previous, context)
        for each, rule, asked in kept:
            found = statement_of(each, rule, context.books, context.language, asked=asked)
            text = dated(found.text, message.at, each.reading)
            yield replace(found, text=text, said=each.own, context=each.text.removesuffix(each.own).strip())


def _kept_in(said: str, previous: str, context: Context) -> list[_Found]:
    """Return the candidates (possible memories) in the sentence ``said`` that are worth keeping.

    ``previous`` is the sentence before ``said``. If nothing of a long sentence is kept, its clauses are read one by one, because a
    long request can hide what it says about the user. A sentence that is not meant literally is not split.
    """
    kept = _kept_at_once(said, previous, context)
    if kept or len(said.split()) < _MIN_LONG_WORDS or context.read(said).meant != "fact":
        return kept
    parts = [part for part in own_parts(said) if part.rstrip(".") != said.rstrip(".!")]
    found = [each for before, part in pairwise((previous, *parts)) for each in _kept_at_once(part, before, context)]
    return [each for each in found if each[2] or worth(each[0]) >= _MIN_PART_WORTH]


def _kept_at_once(said: str, previous: str, context: Context) -> list[_Found]:
    """Return the candidates worth keeping in the sentence ``said``, read as a whole. One that the user asked to remember is always kept."""
    return [found for found in _candidates_in(said, previous, context) if found[2] or _is_kept(found[0])]


def candidates(sentences: Sequence[str], context: Context) -> Iterator[_Found]:
    """Yield the parts of sentences that may become memories.

    Each result has three values: the part, the rule that matches the part (or None), and a flag. The flag is True if
    the user asked to remember the part.
    """
    for place, said in enumerate(sentences):
        yield from _candidates_in(said, sentence_before(sentences[:place], said, context), context)


def _candidates_in(said: str, previous: str, context: Context) -> Iterator[_Found]:
    """Yield the parts of the sentence ``said`` that can become memories. ``previous`` is the sentence before ``said``.

    The results have the form described in :func:`candidates`.
    """
    if instruction := lasting_request(said, context.read):
        said = instruction
    elif _asks_only(said, context):
        return
    sentence, (reading, stands_for) = said, _read_reply(said, context)
    stated = before_question(sentence)
    if stated and (shorter := context.read(stated)).keep > reading.keep:
        sentence, reading = stated, shorter
    sentence, asked = _asked_in(sentence, reading, said, context)
    if asked and ANNOUNCEMENT.fullmatch(fold_clause(asked)):  # the fact itself follows
        return
    text = asked or _without_lead(words_to_keep(sentence, reading), context.books)
    corrects = any(book.correction.match(fold_clause(sentence)) for book in context.books)
    rule = _rule(text, context.books)
    if text and rule is None and not sentence.endswith("?") and (rule := _rule(sentence, context.books)) is not None:
        text = asked or sentence
    if not text or not (asked or _may_be_kept(reading, sentence, rule, context)):
        return
    parts = _parts(text, context.books) or [(text, rule)]
    for part, part_rule in parts:
        own = part
        if not asked and reading.area != "instruction":
            own = without_subordinator(trimmed(_without_correction(part, context.books), context.read))
        whole = own if len(parts) > 1 or asked else with_context(own, reading, sentence, previous, context)
        if corrects and whole != own and not whole.endswith(part):  # "So she is seven? No, she's eight."
            whole = f"{whole.removesuffix(own)}{part}"
        found = Candidate(
            text=whole,
            own=own,
            reading=reading,
            judged=stands_for or context.read(whole),
            instructs=_instructs(part_rule),
            names_home=part_rule is not None and part_rule.key in _HOME_KEYS,
            corrects=corrects,
            asks=asks_to_remember(reading, said),
        )
        yield found, part_rule, bool(asked)


def _read_reply(said: str, context: Context) -> tuple[Reading, Reading | None]:
    """Analyze a sentence.

    If it only names one of two alternatives in a question, analyze it as a whole statement. The second result is the analysis of
    this statement, otherwise None.
    """
    reading = context.read(said)
    told = split_sentences(context.before) if reading.reply else []
    chosen = chosen_statement(answered_question(told), said)
    if not chosen:
        return reading, None
    stated = context.reader.read(chosen)
    keep = stated.keep if stated.owner == "user" else 0.0
    if keep <= reading.keep:
        return reading, None
    whole = replace(reading, keep=keep, area=stated.area, owner=stated.owner, time=stated.time, start=0, end=len(said))
    return whole, stated


def _parts(text: str, books: Sequence[Rulebook]) -> list[tuple[str, StatementRule | None]]:
    """Split a text into clauses if each clause states a different attribute, as in "my name is Ana and I live in Lyon".

    Return each clause with the rule that matches it. If the text is not split, return an empty list.
    """
    folded = fold_clause(text)
    for book in books:
        found = [(clause.text, book.find(clause.folded)) for clause in clauses(text, folded, book)]
        keys = {rule.key for _, rule in found if rule is not None and rule.key in SINGLE_KEYS}
        if len(keys) == len(found) > 1 and not any(POINTS_BACK.match(clause) for clause, _ in found):
            return list(found)
    return []


def _asked_in(sentence: str, reading: Reading, said: str, context: Context) -> tuple[str, str]:
    """Return two texts: a sentence, and what it asks to remember, which can be empty.

    If the request points back, both are the words before it: "my boiler is a Vaillant, remember that". They are empty if the user said
    before what to remember.
    """
    asked = _asked(sentence, reading, context.books)
    told = before_request(sentence) if asked or asks_to_remember(reading, said) else None
    if told is None:
        return sentence, asked
    return (told, told) if len(told.split()) >= _MIN_WORDS else ("", "")


def _asked(sentence: str, reading: Reading, books: Sequence[Rulebook]) -> str:
    """Return what a sentence asks to remember, or an empty text. It is a statement, even if the request has the form of a question."""
    asked = next(filter(None, (_asked_text(sentence, book) for book in books)), "")
    if asked.endswith("?") and is_statement(asked):  # "can you remember that the key is under the pot?"
        return asked.rstrip("? ")
    is_question = sentence.endswith("?") and reading.wishes["remember"] < MIN_REMEMBER  # "remember that movie?"
    return "" if is_question else asked


def _asked_text(sentence: str, book: Rulebook) -> str:
    """Return the text after a request to remember: "the key is under the pot" of "remember that the key is under the pot".

    Return an empty text if the sentence is not such a request.
    """
    sentence = respelled(sentence)
    folded = fold_clause(sentence)
    for start in (0, *_after_leads(folded, book)):
        lead = book.asked.match(folded[start:])
        if lead is not None:
            return sentence[start + lead.end() :].strip(" ,;:-–—")
    return ""


def _without_correction(text: str, books: Sequence[Rulebook]) -> str:
    """Return a text without the words that introduce a correction, such as "no" or "actually".

    Return the text unchanged if only one or two words follow them.
    """
    folded = fold_clause(text)
    for book in books:
        lead = book.correction.match(folded)
        if lead is not None and len(text[lead.end() :].split()) > _MIN_WORDS:
            return text[lead.end() :]
    return text


def _without_lead(text: str, books: Sequence[Rulebook]) -> str:
    """Return a text without introductory words such as "and" or "by the way", if a rule matches the text after them."""
    folded = fold_clause(text)
    for book in books:
        starts = [start for start in _after_leads(folded, book) if book.find(folded[start:]) is not None]
        if starts:
            return text[starts[-1] :]
    return text


def _after_leads(folded: str, book: Rulebook) -> Iterator[int]:
    """Yield the position after each introductory word, such as "and", at the beginning of a text.

    ``folded`` is the text in lower case and without accents.
    """
    start = 0
    for _ in range(_MAX_LEADS):
        lead = book.filler.match(folded[start:])
        if lead is None or lead.end() == 0:
            return
        start += lead.end()
        yield start


def _may_be_kept(reading: Reading, sentence: str, rule: StatementRule | None, context: Context) -> bool:
    """Return False if a sentence is certainly not worth keeping. Return True for any other sentence.

    A wish to forget, a wish to stay off the record, and an announcement such as "my address:" are not worth keeping. A
    sentence with a very low score of the sentence reader is not worth keeping either, unless a rule matches it, or it states
    a decision or discovery.
    """
    folded = fold_clause(sentence)
    if sentence.endswith(":") or (reading.wishes["forget"] >= _MIN_REFUSAL and may_wish("forget", folded)):
        return False
    refused = reading.wishes["off_record"] >= _MIN_REFUSAL and may_wish("off_record", folded)
    if refused and shows_in_part(sentence, context.off_record):
        return False
    return reading.keep >= _MIN_KEEP or rule is not None or concludes(folded)


def _is_kept(each: Candidate) -> bool:
    """Return True if a candidate (a possible memory) is worth keeping.

    Decisions, discoveries and corrections are kept even if the sentence reader rates them low.
    """
    folded = fold_clause(each.own)
    if (
        is_unfinished(folded)
        or is_since_clause(folded)
        or is_irreal(folded)
        or (each.text == each.own and (is_question(folded) or _names_only_value(each, folded)))
    ):
        return False
    if len(each.text.split()) < _MIN_WORDS and not each.reading.reply:
        return False
    is_complete = not each.reading.reply or each.text != each.own
    asked = each.asks and each.reading.act != "question"
    if (asked and is_complete) or (each.instructs and each.text == each.own):
        return True
    if each.judged.act not in ("question", "smalltalk") and concludes(folded):
        return True
    if each.corrects and _VERB.search(folded) and each.judged.keep >= _MIN_CORRECTION:
        return True
    return worth(each) >= _MIN_WORTH


def _names_only_value(each: Candidate, folded: str) -> bool:
    """Return True if a candidate is a correction that names only a value, such as "June 14th, not the 7th".

    A correction of this type is not kept. Its value replaces the value in an earlier statement. ``folded`` is the text of the
    candidate in lower case and without accents.
    """
    return each.corrects and bool(rejected_value(each.own)) and not _VERB.search(folded)


def _rule(text: str, books: Sequence[Rulebook]) -> StatementRule | None:
    """Return the first rule that matches the text at its beginning, or after a comma or another pause.

    Return None if no rule matches.
    """
    folded = fold_clause(text)
    starts = [0, *(found.end() for found in islice(PAUSE.finditer(folded), _MAX_PAUSES))]
    return next((rule for book in books for start in starts if (rule := book.find(folded[start:])) is not None), None)
