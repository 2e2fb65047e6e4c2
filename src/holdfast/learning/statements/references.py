"""Find the earlier words that a statement needs: the sentence or the question that its pronouns or its answer refer to.

The words come from the same message, from the previous turn, or from the user's last messages. A memory is a quote, so
the earlier words are put before the statement, and nothing is rephrased.
"""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.learning.placement import starts_with_project
from holdfast.learning.statements.candidate import concludes, mentions_user
from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.context import Context
from holdfast.learning.statements.project_reader import in_project
from holdfast.learning.statements.replies import answered_question, leaves_person_out, leaves_topic_out
from holdfast.learning.statements.standalone import (
    PERSONS,
    is_english,
    leaves_subject_out,
    names_no_object,
    refers_to_someone,
    unnamed,
)
from holdfast.learning.statements.trim import without_lead
from holdfast.protocols.sentence_reader import Reading
from holdfast.runtime.regex import regex
from holdfast.text.dictation import HE, has_verb
from holdfast.text.name_kinds.classify import kind_of_name
from holdfast.text.sentences import split_sentences

__all__ = ["POINTS_BACK", "sentence_before", "with_context"]

_MAX_CONTEXT_CHARACTERS: Final = 200
_MIN_TOPIC_WORDS: Final = 3
_MAX_ANSWER_WORDS: Final = 3
"""Maximum number of words of an answer without a verb. The next sentence needs its question, too: "What's his name? Rex. He bites"."""
POINTS_BACK: Final = regex(
    r"(?:(?:and|but|so|y|pero|o sea|also|too|well|oh|yeah|yes)\W+)*"
    rf"(?:{HE}|she|hes|shes|they|it|its|it's|that|that's|this|these|those|his|her|their|there|one|both|él|ella|ellos|ellas|eso|esa|ese|esto|ahí|allí|allá|el(?= (?:es|tiene|está|esta|vive|trabaja|va|dice|quiere|se|no)\b)|(?:(?:en|con|a|de) )?sus?(?= \w)"
    r"|mine|ours|el mío|la mía|since then|that way|desde entonces)\b"
    r"|(?:\w+ing|i(?:'ve|’ve| have)(?: been)? \w+(?: \w+)?)\s+(?:(?:to|about|of|for)\s+)?(?:it|them|those|that one)\b",
    re.IGNORECASE,
)
"""Matches a sentence that refers to something in an earlier sentence, such as "she moved there"."""
_YES_OR_NO: Final = regex(r"^(?:no|nope|yes|yeah|yep|sí|si|claro)\b[,.! ]+", re.IGNORECASE)
_POINTING_QUESTION: Final = regex(
    r"\b(?:(?P<place>(?<!is )(?<!are )(?<!was )(?<!were )there|allí|allá|ahí)|they|them|their|those|it(?!'s| is| was)|he|she|his|her|him|ell[oa]s?|él)\b"
    r"|^¿?(?:(?:y|no|ya|se) )*l[ao]s? (?!quier|prefier|necesit|hag|pong)\w+",
    re.IGNORECASE,
)
"""Matches a question that refers to something the user has just said: "how long have you lived there?", "¿la ves a menudo?"."""
_PERSON_PRONOUN: Final = regex(r"\b(?:he|she|his|her|him|él|ella)\b", re.IGNORECASE)
_ASKS_USER: Final = regex(r"\b(?:you|your|u|ur|tus?|te|ti|vos|usted(?:es)?|sus?|le|\w+[aeiá]s)\b", re.IGNORECASE)
"""Matches a word in a question that addresses the user, or a Spanish verb in the second person."""
_NAME: Final = regex(
    r"(?<=[a-záéíóúñ,:] )[A-ZÁÉÍÓÚÑ][a-záéíóúñ]{2,}\b|^[A-ZÁÉÍÓÚÑ][a-záéíóúñ]{2,}(?= (?:es|está|tiene|vive|trabaja|is|was|has|lives|works)\b)"
)
_SUBJECT_NAME: Final = regex(r"[A-ZÁÉÍÓÚÑ][a-záéíóúñ]{2,} (?:es|está|tiene|vive|trabaja|is|was|has|lives|works)\b")
_ONLY_NAME: Final = regex(r"[A-ZÁÉÍÓÚÑ][\w'-]+[.!]")
"""Matches an answer that is one capitalized word, which can be a name."""
_HEAD_END: Final = regex(r"[,;.:(]|\s(?:que|y|pero|porque)\s")
_FIRST_PERSON: Final = regex(r"(?:(?:no|ya|me|le|lo|la|se|te)\s+)*(?:\w{3,}[oéí]|doy|sé|veo)\b", re.IGNORECASE)
"""Matches a Spanish text that begins with a verb in the first person, such as "cobro"."""
_PURPOSE: Final = regex(r"(?:es que )?(?:es|era|son) (?:para|por)\b")
"""Matches a text about a thing: "es para mi sobrina"."""
_FEMALE: Final = regex(
    r"(?:\w+a|mujer|madre|wife|mother|mom|mum|daughter|sister|girlfriend|fiancee|grandmother|granny|aunt|auntie|niece|woman|girl|lady)s?"
)
_MALE: Final = regex(
    r"(?:\w+o|padre|papa|compadre|husband|father|dad|son|brother|boyfriend|grandfather|grandpa|uncle|nephew|man|guy|boy)s?"
)
_SEVERAL: Final = regex(r"(?:\w*[^s\W]s|children|familia|family|equipo)")
"""Matches a word for several persons. Neither "he" nor "she" can refer to them."""
_MINE: Final = (regex(r"\bmi \w+o\b"), regex(r"\bmi \w+a\b(?<!\bmi casa)(?<!\bmi vida)"))
"""Match a man and a woman of the user whom no list names: "mi pololo", "mi patrona"."""
_FEMALE_PRONOUN: Final = regex(r"\b(?:ella|she|shes|her)\b", re.IGNORECASE)
_MALE_PRONOUN: Final = regex(rf"\b(?:él|{HE}|hes|his|him)\b", re.IGNORECASE)


def sentence_before(earlier: Sequence[str], said: str, context: Context) -> str:
    """Return the earlier sentence that ``said`` can refer to, or an empty text if there is none.

    This is normally the last of the sentences in ``earlier``. If ``said`` is about someone whom it does not name, it is the
    last one that mentions a person.
    """
    last = earlier[-1] if earlier else ""
    if not refers_to_someone(said) or _names_someone(last, context):
        return last
    return _last_named(earlier, said, context) or last


def with_context(text: str, reading: Reading, sentence: str, previous: str, context: Context) -> str:
    """Return the statement ``text``, preceded by earlier words if the statement cannot be understood without them.

    The earlier words come from the sentence that contains the statement (``sentence``), from the sentence before it
    (``previous``), from the previous turn, or from the user's messages before that.
    """
    folded = fold_clause(text)
    pronoun = unnamed(text, folded) if is_english(folded, context.language) else ""
    if pronoun not in PERSONS and concludes(folded):
        pronoun = ""
    names_someone = _names_someone(previous, context) or _ONLY_NAME.fullmatch(previous) is not None
    is_other = reading.owner == "other" or names_someone
    leaves_out = is_other and leaves_subject_out(folded, context.language)
    dangling = (
        POINTS_BACK.match(text) or refers_to_someone(text) or pronoun or leaves_out or names_no_object(folded, context.language)
    )
    if dangling and in_project(context.reader) and starts_with_project(text):
        return text  # "My sister is ill. This repo uses Bazel."
    longer = without_lead(sentence[: sentence.find(text) + len(text)]) if text in sentence else text
    if dangling and _YES_OR_NO.sub("", longer) != _YES_OR_NO.sub("", text) and len(longer) <= _MAX_CONTEXT_CHARACTERS:
        return longer
    is_personal = refers_to_someone(text) or pronoun in PERSONS
    is_personal = is_personal or (leaves_out and reading.owner == "other" and not _PURPOSE.match(folded))
    named = _closed(_last_named(context.earlier_sentences(), text, context)) if is_personal and not names_someone else ""
    question = "" if previous else _question(text, reading, context, is_lost=bool(pronoun))
    if question and named and not (reading.reply or leaves_person_out(question)):
        question = ""  # the person is named, and nothing else needs the question
    if question:
        return _joined(named or _topic(question, text, reading, context), question, text)
    if named or not previous:
        return _joined(named, text)
    needs_previous = dangling and (names_someone or not is_personal)
    return _joined(*_before(text, previous, reading, context, needs_previous=bool(needs_previous)), text)


def _before(text: str, previous: str, reading: Reading, context: Context, *, needs_previous: bool) -> tuple[str, ...]:
    """Return the words before a statement that it needs: ``previous``, the sentence before it, perhaps with a question.

    The second part of an answer ("postgres 15. and redis") needs the question and the first part. ``needs_previous`` is True
    if the statement refers to the sentence before it.
    """
    is_part = reading.act == "reply" and _is_fragment(text, context)
    names_only = needs_previous and len(previous.split()) <= _MAX_ANSWER_WORDS and not has_verb(previous)
    asked = ""
    if is_part:
        asked = _question(previous, reading, context)
    elif names_only and context.read(previous).act != "smalltalk":
        asked = answered_question(split_sentences(context.before))
    is_short = len(previous) <= _MAX_CONTEXT_CHARACTERS
    if asked and len(asked) <= _MAX_CONTEXT_CHARACTERS and is_short:
        return asked, without_lead(previous)
    if not needs_previous or not is_short:
        return ()
    last = context.earlier_sentences()[-1:]
    if last and unnamed(previous, fold_clause(previous)) and _is_clear(last[0], context):
        return _closed(last[0]), without_lead(previous)  # "We're selling the van. It guzzles diesel. My uncle needs it."
    return (without_lead(previous),) if context.read(previous).act != "smalltalk" else ()


def _joined(*parts: str) -> str:
    """Return parts of a memory as one text."""
    return " ".join(filter(None, parts))


def _closed(sentence: str) -> str:
    """Return a sentence of an earlier message without leading conjunctions and with a punctuation mark at its end."""
    sentence = without_lead(sentence)
    return sentence if not sentence or sentence[-1] in ".?!…" else f"{sentence}."


def _question(text: str, reading: Reading, context: Context, *, is_lost: bool = False) -> str:
    """Return the question of the previous turn that a statement answers, or an empty text.

    ``is_lost`` is True if a pronoun in the statement refers to something that the statement does not name.
    """
    asked = answered_question(split_sentences(context.before))
    needs_question = POINTS_BACK.match(text) or _is_fragment(text, context)
    is_reply = reading.reply or is_lost or (reading.act == "reply" and needs_question)
    if reading.owner == "world" and not _ASKS_USER.search(asked):  # the answer to a quiz
        is_reply = False
    return asked if is_reply and reading.act != "smalltalk" and len(asked) <= _MAX_CONTEXT_CHARACTERS else ""


def _is_fragment(text: str, context: Context) -> bool:
    """Return True if the main clause of a Spanish text has no verb: "losartán en la mañana, que me lo dio el médico"."""
    head = _HEAD_END.split(text)[0]
    return context.language == "es" and not has_verb(head) and not _FIRST_PERSON.match(head)


def _topic(question: str, text: str, reading: Reading, context: Context) -> str:
    """Return the user's sentence that a question is about, if the question does not name it: "when is it?", "¿usa bastón?".

    ``text`` is the answer to the question, and ``reading`` its analysis.
    """
    earlier, folded = context.earlier_sentences(), fold_clause(text)
    last = earlier[-1] if earlier else ""
    is_other = reading.owner == "other" or leaves_subject_out(folded, context.language) or _PERSON_PRONOUN.search(question)
    is_open = leaves_topic_out(question)
    about_person = leaves_person_out(question) and (is_other or is_open or _tells_of_other(last, context))
    if about_person and not mentions_user(folded) and not _persons(text, context):
        return _closed(_last_named(earlier, text, context))
    if not is_open:
        pointing = _POINTING_QUESTION.search(question)
        is_fit = pointing and (pointing["place"] or has_verb(_HEAD_END.split(last)[0])) and _is_clear(last, context)
        return _closed(last) if is_fit else ""
    occasions = (each for each in reversed(earlier) if context.books[0].shows("occasion", fold_clause(each)))
    occasion = next(occasions, "")
    return _closed(occasion) if len(occasion) <= _MAX_CONTEXT_CHARACTERS else ""


def _tells_of_other(sentence: str, context: Context) -> bool:
    """Return True if a sentence of the user is about another person whom it names: "my father has asthma"."""
    return has_verb(sentence) and bool(_persons(sentence, context)) and context.reader.read(sentence).owner == "other"


def _is_clear(sentence: str, context: Context) -> bool:
    """Return True if a later sentence can quote a sentence as what it refers to: a short statement that needs no other sentence."""
    folded = fold_clause(sentence)
    is_short = len(sentence.split()) >= _MIN_TOPIC_WORDS and len(sentence) <= _MAX_CONTEXT_CHARACTERS
    is_said = is_short and not sentence.endswith("?") and not sentence.startswith("[")  # "[shares a photo]"
    is_whole = is_said and not POINTS_BACK.match(sentence) and not refers_to_someone(sentence)
    return is_whole and not unnamed(sentence, folded) and context.reader.read(sentence).act != "smalltalk"


def _last_named(sentences: Sequence[str], said: str, context: Context) -> str:
    """Return the last of several sentences that names someone whom ``said`` can be about, or an empty text.

    A woman is preferred for "she", and a man for "he". A sentence that names only a man cannot be meant by "she".
    """
    right, wrong = (_FEMALE, _MALE) if _FEMALE_PRONOUN.search(said) else (_MALE, _FEMALE)
    is_gendered = right is _FEMALE or _MALE_PRONOUN.search(said) is not None
    same = _FEMALE_PRONOUN if right is _FEMALE else _MALE_PRONOUN
    unclear = ""
    for sentence in reversed(sentences):
        is_short = len(sentence) <= _MAX_CONTEXT_CHARACTERS and not sentence.startswith("[")  # "[shares a photo]"
        persons = _persons(sentence, context) if is_short else []
        is_clear = not refers_to_someone(sentence)
        is_right = any(map(right.fullmatch, persons)) if is_gendered else bool(persons)
        if is_right and (is_clear or (is_gendered and not same.match(sentence))):
            return sentence
        named_so = persons or (is_short and is_gendered and _MINE[right is _FEMALE].search(fold_clause(sentence)))
        if is_clear and named_so and not unclear and not (persons and all(map(wrong.fullmatch, persons))):
            unclear = sentence
    return unclear


def _names_someone(sentence: str, context: Context) -> bool:
    """Return True if a sentence names someone whom the next sentence of the same message can be about."""
    return not refers_to_someone(sentence) and bool(_persons(sentence, context) or _names(sentence))


def _persons(text: str, context: Context) -> list[str]:
    """Return the words for the persons in a text whom the next sentence can be about: "sister" of "my sister", and names.

    The words are in lower case and without accents.
    """
    folded = fold_clause(text)
    matches = context.books[0].signs["person"].finditer(folded)
    found = [word for match in matches if not _SEVERAL.fullmatch(word := match[0].split()[-1])]
    is_subject = _SUBJECT_NAME.match(text) is not None
    return [*found, *(fold_clause(name) for name in _names(text) if is_subject or kind_of_name(name, [text]) == "person")]


def _names(text: str) -> list[str]:
    """Return the names inside a text that are not names of places."""
    found = [match[0] for match in _NAME.finditer(text)]
    return [name for name in found if kind_of_name(name, [text]) != "place"]
