"""Analyze a sentence word by word: which person each word is about, and whether it is negated or hypothetical."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, Literal, TypeAlias

from holdfast.learning.answer_check.relations import is_acquaintance, is_anyone, is_whose, person_at
from holdfast.learning.answer_check.words import Person, people, table, words
from holdfast.runtime.regex import regex
from holdfast.text.language import STOP_WORDS, detect_language
from holdfast.text.names import find_names
from holdfast.text.terms import document_terms

Voice: TypeAlias = Literal["user", "assistant", "report"]
"""Who speaks in a sentence: the user or the assistant. A ``report`` is a sentence about "the user", such as a memory."""
Owner: TypeAlias = Person | str
"""The person that a word is about: ``user``, ``other`` (another person), a type of person such as a sister, or a name."""
Polarity: TypeAlias = Literal["yes", "no", "open"]

_WORD: Final = regex(r"[^\W_]+(?:['’.:,-][^\W_]+)*|[^\w\s]")
_PAUSES: Final = frozenset(',;:.!?()—–¿¡…"«»“”')
_PRONOUNS: Final = frozenset("i i'm im i've ive i'd i'll we we're we've he she it they he's she's it's they're".split())
_SPANISH_PRONOUNS: Final = frozenset("yo ella ellos ellas nosotros".split())
_BEFORE_SUBJECTS: Final = frozenset("and y but pero that que because porque when cuando".split())
_SOMEONE: Final = Person("someone", "any")
_PREPOSITIONS: Final = frozenset("of with for to by from at in near about de del con para por a al en".split())
_INVERTED: Final = frozenset("am do did have should was were are is can could will would has".split())
_SPANISH_PAST: Final = regex(r"[^\W\d_]{2,}[éí]$")
_NO_VERBS: Final = frozenset("café así aquí ahí allí también qué sí mí té porqué después bebé jamás josé".split())
_CONDITIONAL: Final = regex(r"[^\W\d_]{3,}(?:ría|rías|ríamos|rían)$|(?:vivi|tuvi|fue|hubi|pudi|quisi)(?:era|ese)(?:mos|n)?$")
_PAST: Final = regex(r"[^\W\d_]{2,}(?:ed|aba|ían?|ía|ó)$")
_NUMBER_WORDS: Final = {
    word: str(number)
    for number, spelled in enumerate(
        "zero/cero one/uno/una two/dos three/tres four/cuatro five/cinco six/seis seven/siete eight/ocho nine/nueve ten/diez eleven/once "
        "twelve/doce thirteen/trece fourteen/catorce fifteen/quince sixteen/dieciseis seventeen/diecisiete eighteen/dieciocho "
        "nineteen/diecinueve twenty/veinte".split()
    )
    for word in spelled.split("/")
    if number > 1
} | {"thirty": "30", "treinta": "30", "forty": "40", "cuarenta": "40", "fifty": "50", "cincuenta": "50", "sixty": "60", "sesenta": "60",
     "seventy": "70", "setenta": "70", "eighty": "80", "ochenta": "80", "ninety": "90", "noventa": "90", "hundred": "100", "cien": "100"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a sentence, with the people it is about and its context, such as negation."""

    text: str
    """The word in lower case and without accents."""
    stems: frozenset[str]
    is_content: bool
    """False for stop words, pronouns, and words for people."""
    is_person: bool = False
    is_name: bool = False
    is_label: bool = False
    """True for a name that identifies a person, such as "Ada" in "my sister Ada"."""
    owners: frozenset[Owner] = frozenset()
    """The people that the word is about. Empty if they are unknown."""
    polarity: Polarity = "yes"
    unreal: bool = False
    """True if the word is part of a condition, a wish or a question."""
    ceased: bool = False
    """True if the word is about something that used to be so and is no longer so."""
    clause: int = 0
    """Number of the clause that contains the word, within the sentence."""


@lru_cache(maxsize=512)
def read_sentence(
    text: str, voice: Voice, user_names: frozenset[str] = frozenset(), other_names: frozenset[str] = frozenset()
) -> tuple[Word, ...]:
    """Return the words of a sentence, each with the people it is about and its context, such as negation.

    ``user_names`` are words that name the user, and ``other_names`` are words that name other people. Both are in lower
    case and without accents.
    """
    spelled = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    plain, spanish = plain_words(text, spelled)
    names = {part for name in find_names(text) for part in bare(name.casefold()).split()} | other_names
    owners = _owners(spelled, plain, voice, names - user_names, spanish=spanish)
    about_end = [False] * len(plain) if voice == "assistant" else _about_end(plain, voice)
    clauses = list(accumulate(_begins_clause(plain, at, spanish=spanish) for at in range(len(plain))))
    polarity, unreal = _polarities(plain, about_end, spanish=spanish), _unreal(spelled, plain, spanish=spanish)
    ceased = _in_part(plain, lambda part: not words("polarity", "ceased").isdisjoint(part))
    asked = _asks(text, plain) if voice == "user" else False
    return tuple(
        Word(
            text=_in_digits(word, spanish=spanish),
            stems=stems_of(word) | {_in_digits(word, spanish=spanish)},
            is_content=_is_content(word, user_names),
            is_person=word.removesuffix("'s") in people(),
            is_name=word.removesuffix("'s") in names,
            is_label=word.removesuffix("'s") in names and (at == 0 or plain[at - 1] in people()),
            owners=owners[at],
            polarity=polarity[at],
            unreal=asked or unreal[at],
            ceased=ceased[at],
            clause=clauses[at],
        )
        for at, word in enumerate(plain)
    )


def plain_words(text: str, spelled: Sequence[str]) -> tuple[list[str], bool]:
    """Return the words of a text without accents, and whether the text is Spanish. ``spelled`` are the words in lower case.

    In a Spanish text, "son" (they are) is replaced by "es", so that it is not taken for the English word for a child.
    """
    plain = [bare(word) for word in spelled]
    language = detect_language(text)
    spanish = language == "es" or (language != "en" and not words("spanish").isdisjoint(plain))
    return ["es" if spanish and word == "son" else word for word in plain], spanish


def _in_digits(word: str, *, spanish: bool) -> str:
    return word if word == "once" and not spanish else _NUMBER_WORDS.get(word, word)


def under_reply(read: tuple[Word, ...], polarity: Polarity) -> tuple[Word, ...]:
    """Return the words of an assistant's question with the polarity that the user's reply gives them.

    After "yes", the words are unchanged. After "no", affirmed words become denied, and denied words become affirmed. After
    any other reply, the polarity of all words is ``open``.
    """
    if polarity == "yes":
        return read
    denied: dict[Polarity, Polarity] = {"yes": "no", "no": "yes", "open": "open"}
    return tuple(replace(word, polarity=denied[word.polarity] if polarity == "no" else "open") for word in read)


def bare(word: str) -> str:
    """Return a word without accents."""
    return "".join(sign for sign in unicodedata.normalize("NFD", word) if not unicodedata.combining(sign))


@lru_cache(maxsize=8192)
def stems_of(word: str) -> frozenset[str]:
    """Return the stems of a word in English and Spanish."""
    return frozenset(document_terms(word.removesuffix("'s"), None))


def is_past(text: str) -> bool:
    """Return True if a sentence is about the past, such as "played the cello"."""
    spelled = [word.casefold() for word in _WORD.findall(text)]
    return any(bare(word) in words("polarity", "was") or _PAST.match(word) for word in spelled)


def wishes(text: str) -> bool:
    """Return True if a sentence states what somebody wants or plans, or what depends on a condition."""
    return any(bare(word.casefold()) in words("polarity", "wished") or _CONDITIONAL.match(word) for word in _WORD.findall(text))


def _is_content(word: str, user_names: frozenset[str]) -> bool:
    if not word[0].isalnum() or word in user_names:
        return False
    if word in STOP_WORDS["en"] or word in STOP_WORDS["es"] or word in words("user") or word.removesuffix("'s") in words("user"):
        return False
    polar = words("polarity", "not") | words("speaker", "first") | words("speaker", "other") | words("speaker", "second")
    return word not in polar and word.removesuffix("'s") not in people()


def _owners(spelled: list[str], plain: list[str], voice: Voice, names: set[str], *, spanish: bool) -> list[frozenset[Owner]]:
    """Return, for each word, the people it is about: the people who were mentioned last, up to and including the word.

    There are two exceptions. If a report mentions nobody, all its words are normally about the user. In Spanish, a word can
    also be about a person who is mentioned directly after it: "murió mi abuelo".

    ``spelled`` are the words of a sentence in lower case, and ``plain`` are the same words without accents. ``voice`` says
    who wrote the sentence. ``names`` are the words that name people other than the user.
    """
    found: list[frozenset[Owner]] = []
    current: frozenset[Owner] = frozenset()
    joined = False
    for at, word in enumerate(plain):
        owner = _named(spelled, plain, at, voice, names, spanish=spanish)
        if voice == "report" and owner == "user" and current and _follows_preposition(plain, at):
            owner = None  # "Lena, the au pair of the user's family, is ..." is about Lena
        if voice == "report" and word.removesuffix("'s") in ("assistant", "asistente"):
            current = frozenset()
        if owner is not None:
            current = current | {owner} if joined else frozenset({owner})
        if (
            word in ("and", "y", "e", "&")
            and current
            and _named(spelled, plain, at - 1, voice, names, spanish=spanish) is not None
        ):
            joined = True
        elif owner is None and word not in ("the", "el", "la", "my", "mi", "del"):
            joined = False
        if owner is not None and found and _is_attribute(plain, at, owner):
            is_theirs = at > 1 and plain[at - 2] in words("speaker", "possessive")  # "my diabetic father"
            found[-1] = frozenset({owner}) if is_theirs else found[-1] | {owner}
        found.append(current)
    if any(word in ("by", "por") and after.removesuffix("'s") in names for word, after in pairwise(plain)):
        return found  # "The report was written by Inge" is not about the user
    if voice == "report" and not any(found) and plain[:1] and plain[0] not in words("speaker", "refers_back"):
        return [frozenset({"user"})] * len(plain)
    return _with_later_subject(found, plain) if spanish else found


def _is_attribute(plain: list[str], at: int, owner: Owner) -> bool:
    """Return True if the word before position ``at`` describes a person: "diabetic" in "my diabetic father".

    The word at position ``at`` stands for the person ``owner``.
    """
    before = plain[at - 1]
    return isinstance(owner, Person) and before.isalpha() and before not in STOP_WORDS["en"] and before not in STOP_WORDS["es"]


def _follows_preposition(plain: list[str], at: int) -> bool:
    before = [word for word in plain[max(0, at - 2) : at] if word not in ("the", "el", "la")]
    return bool(before) and before[-1] in _PREPOSITIONS


def _with_later_subject(owners: list[frozenset[Owner]], plain: list[str]) -> list[frozenset[Owner]]:
    """Return ``owners``, corrected for subjects that follow their verb, as in Spanish "murió mi abuelo".

    ``owners`` are the people that each word is about, and ``plain`` are the words.
    """
    found = list(owners)
    for at, word in enumerate(plain):
        before = at - 2 if at > 1 and plain[at - 1] in words("speaker", "possessive") else None
        if word in people() and before is not None:
            found[before] = found[before] | {people()[word]}
    return found


def _named(spelled: list[str], plain: list[str], at: int, voice: Voice, names: set[str], *, spanish: bool) -> Owner | None:
    """Return the person whom the word at position ``at`` mentions, or None. The words after it are then about this person.

    The other arguments are those of :func:`_owners`: the words of the sentence with and without accents, who wrote the
    sentence, and the words that name people other than the user.
    """
    word = plain[at].removesuffix("'s")
    if word in people():
        if is_whose(plain, at):
            return None
        is_self = _is_self(plain[:at], voice)
        return "user" if is_self else person_at(plain, at, voice, names)
    if is_acquaintance(plain, at, names):
        return _SOMEONE
    if voice == "report":
        return _named_in_report(plain, at, names)
    return _named_by_speaker(spelled, plain, at, voice, names, spanish=spanish)


def _named_by_speaker(
    spelled: list[str], plain: list[str], at: int, voice: Voice, names: set[str], *, spanish: bool
) -> Owner | None:
    """Return the person whom a word of the user or the assistant mentions by a name, a pronoun or a verb form, or None.

    The arguments are those of :func:`_named`.
    """
    before = plain[at - 1] if at else ""
    word = plain[at].removesuffix("'s")
    if word in names and (not before or before in _PAUSES or before in _BEFORE_SUBJECTS):
        return word.capitalize()
    if plain[at] in words("speaker", "possessive") and any(word in people() for word in plain[at + 1 : at + 4]):
        return None
    return _spoken_of(spelled[at], plain[at], voice, spanish=spanish)


def _spoken_of(spelled: str, plain: str, voice: Voice, *, spanish: bool) -> Owner | None:
    """Return the person meant by a pronoun or verb form: ``user`` for "I" and "tengo", ``other`` for "she".

    Return None for other words. In a sentence of the assistant, only words such as "you" count, and they mean the user.
    ``spelled`` is the word in lower case, and ``plain`` is the same word without accents. ``voice`` says who wrote the
    sentence.
    """
    if voice == "assistant":
        return "user" if plain in words("speaker", "second") else None
    is_past = _SPANISH_PAST.match(spelled) and spelled not in _NO_VERBS
    if spelled == "he":
        return "user" if spanish else "other"
    if plain in words("speaker", "first") or is_past:
        return "user"
    return "other" if spelled == "él" or plain in words("speaker", "other") else None


def _named_in_report(plain: list[str], at: int, names: set[str]) -> Owner | None:
    """Return the person whom the word at position ``at`` mentions, or None. The words are those of a report.

    A report is a sentence about "the user". A word for the user usually mentions the user. In "the user's sister" and "la
    hermana del usuario" it does not, because the sister is meant: the result is None. A name in ``names`` counts only at the
    beginning of a clause.
    """
    word = plain[at].removesuffix("'s")
    if word in words("user"):
        owned = plain[at].endswith("'s") and any(map(is_anyone, plain[at + 1 : at + 4]))
        held = plain[max(0, at - 2) : at] in (["de", "la"], ["de", "el"]) or plain[at - 1 : at] == ["del"]
        return None if owned or (held and any(map(is_anyone, plain[:at]))) else "user"
    begins = at == 0 or plain[at - 1] in _PAUSES or plain[at - 1] in words("polarity", "boundary")
    return word.capitalize() if word in names and begins else None


def _is_self(before: list[str], voice: Voice) -> bool:
    """Return True if a word for a person describes the user: it follows "I'm a" or "as a", or "the user is a" in a report.

    ``before`` are the words before the word for a person, and ``voice`` says who wrote the sentence.
    """
    described = [word for word in before[-4:] if word not in words("speaker", "articles")]
    if voice == "report":
        return described[-1:] in (["is"], ["was"], ["es"], ["era"]) and not words("user").isdisjoint(described[-2:-1])
    return voice == "user" and described[-1:] in (["i'm"], ["im"], ["am"], ["soy"], ["as"])


def _polarities(plain: list[str], about_end: list[bool], *, spanish: bool) -> list[Polarity]:
    """Return, for each word, whether its clause affirms it (``yes``) or denies it (``no``).

    A word is ``open`` if ``about_end`` is True for it, because its part of the sentence says that something ended.
    """
    idle = _idle(plain)
    denied = disliked = False
    found: list[Polarity] = []
    for at, word in enumerate(plain):
        if _begins_clause(plain, at, spanish=spanish):
            denied = disliked = False
        if at not in idle:
            denied |= word in words("polarity", "not") or word in words("polarity", "over")
            disliked |= word in words("polarity", "dislike")
        found.append("open" if about_end[at] else "no" if denied != disliked else "yes")
    return found


def _about_end(plain: list[str], voice: Voice) -> list[bool]:
    """Return, for each word, True if its part of the sentence says that something ended, as in "I left Acme".

    Such a part neither affirms nor denies its words: they were true before, but not any more. There is one exception. In a
    report (a sentence about "the user"), a part with a word such as "stopped" denies its words. The result for these words is
    False. ``plain`` are the words of the sentence, and ``voice`` says who wrote it.
    """

    def ends(part: list[str]) -> bool:
        if voice == "report" and not words("polarity", "over").isdisjoint(part):
            return False
        left = not words("polarity", "moved").isdisjoint(part) and not words("polarity", "away").isdisjoint(part)
        return left or not words("polarity", "ended").isdisjoint(part)

    return _in_part(plain, ends)


def _in_part(plain: list[str], holds: Callable[[list[str]], bool]) -> list[bool]:
    """Return, for each word, the result of ``holds`` for the part of the sentence that contains the word.

    Punctuation and words such as "but" separate the parts.
    """
    found: list[bool] = []
    part: list[str] = []
    for word in [*plain, "."]:
        if word in _PAUSES or word in words("polarity", "apart"):
            found += [holds(part)] * len(part)
            part = []
        part.append(word)
    return found


def _idle(plain: list[str]) -> set[int]:
    """Return the positions of negative words that negate nothing, such as "not" in "not only"."""
    return {place for idiom in table()["polarity"]["idioms"] for place in _places(plain, bare(idiom).split())}


def _unreal(spelled: list[str], plain: list[str], *, spanish: bool) -> list[bool]:
    idle, inside, found = _idle(plain), False, []
    for at, word in enumerate(plain):
        if _begins_clause(plain, at, spanish=spanish):
            inside = False
        follows = plain[at + 1] if at + 1 < len(plain) else ""
        is_if = (
            word in words("polarity", "unreal") and follows not in _PAUSES and (word != "si" or (spanish and spelled[at] == "si"))
        )
        liked = spelled[at] in ("gustaría", "encantaría", "querría")
        if at not in idle and (is_if or (_CONDITIONAL.match(spelled[at]) and not liked)):
            inside = True
        found.append(inside)
    return found


def _begins_clause(plain: list[str], at: int, *, spanish: bool) -> bool:
    """Return True if a new clause begins at position ``at`` of a sentence. ``plain`` are its words without accents."""
    word, before = plain[at], plain[at - 1] if at else ""
    if word in _PAUSES:
        return True
    if word in words("polarity", "boundary"):
        return before not in ("not", "no")
    return word in (_SPANISH_PRONOUNS if spanish else _PRONOUNS) and at > 0 and before not in words("polarity", "carries_on")


def _places(plain: list[str], sought: list[str]) -> list[int]:
    size = len(sought)
    starts = [at for at in range(len(plain) - size + 1) if plain[at : at + size] == sought]
    return [start + step for start in starts for step in range(size)]


def _asks(text: str, plain: list[str]) -> bool:
    """Return True if a sentence of the user is a yes-or-no question: "am I allergic to nuts?"."""
    start = [word for word in plain if word not in _PAUSES][:2]
    if not text.rstrip(" \"'”»)").endswith("?") or not start:
        return False
    inverted = start[0] in _INVERTED and start[1:] and start[1] in ("i", "we")
    return bool(inverted) or (
        text.lstrip().startswith("¿") and start[0] in words("speaker", "first") and start[0] not in ("me", "mi")
    )
