"""A conversation in a few sentences, by rules: the central ones, quoted with who said them, and the details they leave out.

Nothing is rephrased, so nothing can be made up. What the chosen sentences do not hold (names, numbers, dates) follows in one
closing clause as far as there is room.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from holdfast.learning.summaries.centrality import centrality
from holdfast.learning.summaries.importance import importance_of
from holdfast.text.clean import fold, one_line
from holdfast.text.details import Detail, details, find_details, missing
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences
from holdfast.types import Message

RULE_VERSION = "report-rules-1"

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_IDLE = re.compile(
    r"\W*(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|yes|no|sure|great|perfect|nice|cool|bye|good (?:morning|night|evening|idea|luck)"
    r"|you'?re welcome|got it|sounds good|hola|gracias|vale|s[ií]|claro|genial|perfecto|estupendo|adi[oó]s|buen[oa]s?(?: \w+)?|de nada"
    r"|entendido|muy bien)(?:[\s,]+(?:\w+[\s,]*){0,3})?\W*",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:(?:yes|yeah|yep|no|ok(?:ay)?|sure|great|perfect|right|oh|well|so|and|thanks|s[ií]|vale|bueno|pues|claro|perfecto|genial|ah|y|exacto)"
    r"[,.!]+\s+|(?:and|so|y|pues) )(?=\w+ \w+)",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\W*(?:no|nope|not (?:really|quite)|wrong|actually|en realidad|qué va|te equivocas|incorrecto)\b(?! problem)", re.IGNORECASE
)
_MAX_SENTENCES = 240
"""More than this are thinned out first, those with details last, so that a huge conversation is ranked in no time."""
_MAX_MESSAGE_CHARACTERS = 20_000
"""Characters of one message that are looked at: what is longer was pasted."""
_MAX_SENTENCE_CHARACTERS = 180
_MIN_GAIN = 0.5
"""What gains less than this is small talk: better a shorter summary."""
ALSO = {"en": "Also mentioned", "es": "También se mencionó"}
"""How the closing clause with the remaining details begins."""
_WORDS = {
    "en": {
        "user": "The user",
        "assistant": "The assistant",
        "said": "said",
        "asked": "asked",
        "answered": "answered",
    },
    "es": {
        "user": "El usuario",
        "assistant": "El asistente",
        "said": "dijo",
        "asked": "preguntó",
        "answered": "respondió",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuotableSentence:
    """One sentence that may be quoted, and the words that say who said it."""

    place: int
    text: str
    who: str
    by_user: bool
    details: frozenset[str]
    rank: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportFormat:
    """What a report looks like: at most ``max_characters`` characters in ``min_sentences`` to ``max_sentences`` sentences, ``listed`` of it a bare list."""

    max_characters: int
    min_sentences: int
    max_sentences: int
    listed: float
    language: str


def summarize(messages: Sequence[Message], *, max_characters: int = 700, language: str | None = None) -> str:
    """Return 3-5 sentences on what was said, within ``max_characters`` characters, keeping names, numbers and dates."""
    return _report(
        messages,
        _ReportFormat(
            max_characters=max_characters, min_sentences=3, max_sentences=5, listed=0.5, language=language_of(messages, language)
        ),
    )


def paragraph(messages: Sequence[Message], *, max_characters: int = 200, language: str | None = None) -> str:
    """Return one paragraph of 2-4 sentences on what was said, within ``max_characters`` characters."""
    return _report(
        messages,
        _ReportFormat(
            max_characters=max_characters, min_sentences=2, max_sentences=4, listed=0.25, language=language_of(messages, language)
        ),
    )


def language_of(messages: Sequence[Message], language: str | None = None) -> str:
    """Return the language to write in: the given one, or the one most was said in; English or Spanish."""
    if language is None:
        language = detect_language(" ".join(message.text for message in messages)[:2000])
    return language if language in _WORDS else "en"


def spoken(messages: Iterable[Message]) -> list[Message]:
    """Return what people and assistants said, without what tools and systems wrote."""
    return [message for message in _shortened(messages) if message.role in ("user", "assistant") and message.action is None]


def _undenied(messages: Sequence[Message]) -> list[Message]:
    """Return messages without what an assistant stated and was told is wrong: a report of it would tell what is not so."""
    kept = []
    for message, following in zip_longest(messages, messages[1:]):
        if message.role == "assistant" and following is not None and _DENIAL.match(following.text):
            asked = [sentence for sentence in split_sentences(message.text) if sentence.endswith("?")]
            kept.append(replace(message, text=" ".join(asked)))
        else:
            kept.append(message)
    return kept


def _shortened(messages: Iterable[Message]) -> list[Message]:
    return [
        message if len(message.text) <= _MAX_MESSAGE_CHARACTERS else replace(message, text=message.text[:_MAX_MESSAGE_CHARACTERS])
        for message in messages
    ]


def wanted_details(messages: Sequence[Message]) -> dict[str, Detail]:
    """Return the details of what was said: users' first, since they know, then those that come up most; bare numbers last."""
    found = find_details("\n".join(message.text for message in messages))
    theirs = details("\n".join(message.text for message in messages if message.role == "user"))
    text = fold("\n".join(message.text for message in messages))
    order = sorted(
        found, key=lambda key: (key not in theirs, key.isdigit(), -text.count(fold(found[key].short)), len(found[key].full))
    )
    return {key: found[key] for key in order}


def add_details(text: str, wanted: Iterable[Detail], *, max_characters: int, language: str) -> str:
    """Return the text with the wanted details it lacks in a closing clause, as many as there is room for."""
    every = {detail.key: detail for detail in wanted}
    lost = missing(every, text)
    left = [detail for key, detail in every.items() if key in lost]
    full = _with_clause(text, [detail.full for detail in left], max_characters, language)
    if not missing(lost, full):
        return full
    short = _with_clause(text, [detail.short for detail in left], max_characters, language)
    return min(full, short, key=lambda each: len(missing(lost, each)))


def _with_clause(text: str, spellings: Sequence[str], max_characters: int, language: str) -> str:
    lead = f"{text} {ALSO[language]}: ".lstrip()
    listed = ""
    for spelling in spellings:
        longer = f"{listed}, {spelling}" if listed else spelling
        if len(lead) + len(longer) + 1 <= max_characters:
            listed = longer
    return f"{lead}{listed}." if listed else text


def _report(messages: Sequence[Message], form: _ReportFormat) -> str:
    heard = _undenied(spoken(messages) or _shortened(messages))
    wanted = wanted_details(heard)
    chosen = _choose(_candidates(heard, form), wanted, form)
    if not chosen:
        return clipped(one_line(" ".join(message.text for message in heard)), form.max_characters)
    # The closing clause is a sentence, too; where nothing is left to list, one more is made of what was chosen.
    told = _told(chosen, form, min_sentences=form.min_sentences - 1)
    ended = add_details(told, wanted.values(), max_characters=form.max_characters, language=form.language)
    return ended if ended != told else _told(chosen, form, min_sentences=form.min_sentences)


def _candidates(messages: Sequence[Message], form: _ReportFormat) -> list[_QuotableSentence]:
    said: dict[str, _QuotableSentence] = {}
    widest = min(_MAX_SENTENCE_CHARACTERS, max(60, form.max_characters // 2))
    for message in messages:
        who = message.speaker or _WORDS[form.language]["assistant" if message.role == "assistant" else "user"]
        for sentence in split_sentences(_CODE.sub("\n", message.text)):
            text = clipped(_FILLER.sub("", one_line(sentence).lstrip("> #*")), widest).rstrip(" .,;:")
            if len(text.split()) < 3 or _IDLE.fullmatch(text) or fold(text) in said:
                continue
            said[fold(text)] = _QuotableSentence(
                place=len(said), text=text, who=one_line(who), by_user=message.role == "user", details=details(text)
            )
    kept = sorted(said.values(), key=lambda each: -len(each.details))[:_MAX_SENTENCES]
    kept.sort(key=lambda each: each.place)
    ranks = centrality([each.text for each in kept], form.language)
    return [replace(each, rank=_weighed(each, rank)) for each, rank in zip(kept, ranks, strict=True)]


def _weighed(said: _QuotableSentence, rank: float) -> float:
    """Return how much a sentence is worth: central, important, less for questions and for what an assistant said."""
    worth = 0.5 * rank + 0.12 * importance_of(said.text)
    return worth * (0.4 if said.text.endswith("?") else 1.0) * (1.0 if said.by_user else 0.7)


def _choose(candidates: Sequence[_QuotableSentence], wanted: dict[str, Detail], form: _ReportFormat) -> list[_QuotableSentence]:
    """Choose sentences one by one, each for being central and for the details it adds, while there is room."""
    chosen: list[_QuotableSentence] = []
    covered: set[str] = set()
    rest = list(candidates)
    while rest:
        best = max(rest, key=lambda said: _gain(said, covered, wanted))
        if len(chosen) >= form.min_sentences and _gain(best, covered, wanted) < _MIN_GAIN:
            break
        rest.remove(best)
        longer = sorted([*chosen, best], key=lambda said: said.place)
        reserve = _reserve(wanted, covered | best.details, form)
        size = len(_told(longer, form, min_sentences=form.min_sentences)) + (reserve if chosen else 0)
        if size <= form.max_characters and len(_turns(longer, form.max_sentences - 1)) < form.max_sentences:
            chosen = longer
            covered |= best.details
    return chosen


def _gain(said: _QuotableSentence, covered: set[str], wanted: dict[str, Detail]) -> float:
    fresh = sum(len(wanted[key].full) for key in said.details if key in wanted and key not in covered)
    return said.rank + 2.5 * fresh / (len(said.text) + 20)


def _reserve(wanted: dict[str, Detail], covered: set[str], form: _ReportFormat) -> int:
    """Return the room to leave for the closing clause: what is still missing, but never most of the text."""
    left = sum(len(detail.short) + 2 for key, detail in wanted.items() if key not in covered)
    return min(left + 22 if left else 0, int(form.listed * form.max_characters))


def _turns(chosen: Sequence[_QuotableSentence], max_sentences: int) -> list[list[_QuotableSentence]]:
    """Return the chosen sentences in turns, each of one speaker; too many are joined with what that speaker said before."""
    turns = _runs(chosen)
    while len(turns) > max_sentences:
        earlier = {at: [home for home in range(at) if turns[home][0].who == turns[at][0].who] for at in range(len(turns))}
        movable = [at for at, homes in earlier.items() if homes]
        if not movable:
            break
        at = min(movable, key=lambda each: len(turns[each]))
        turns[earlier[at][-1]] += turns.pop(at)
        turns = _runs([said for turn in turns for said in turn])
    return turns


def _runs(chosen: Sequence[_QuotableSentence]) -> list[list[_QuotableSentence]]:
    return [list(turn) for _, turn in groupby(chosen, key=lambda said: said.who)]


def _told(chosen: Sequence[_QuotableSentence], form: _ReportFormat, *, min_sentences: int) -> str:
    """Return the chosen sentences in a few of our own, each of which says who spoke."""
    turns = _turns(chosen, form.max_sentences - 1)
    while len(turns) < min_sentences and max(len(turn) for turn in turns) > 1:
        longest = max(range(len(turns)), key=lambda at: len(turns[at]))
        turn = turns[longest]
        middle = (len(turn) + 1) // 2
        turns[longest : longest + 1] = [turn[:middle], turn[middle:]]
    words = _WORDS[form.language]
    told = []
    for turn in turns:
        asked = all(said.text.endswith("?") for said in turn)
        how = words["asked" if asked else "said" if turn[0].by_user else "answered"]
        quoted = "; ".join(said.text for said in turn)
        told.append(f"{turn[0].who} {how}: {quoted}{'' if quoted.endswith(('?', '!', '…')) else '.'}")
    return " ".join(told)


def clipped(text: str, max_characters: int) -> str:
    """Return the text, or its beginning up to the end of a clause or word."""
    if len(text) <= max_characters:
        return text
    head = text[: max_characters - 1]
    cut = max(head.rfind(mark) for mark in (", ", "; ", " - ", " — ", ": "))
    if cut < max_characters // 2:
        cut = head.rfind(" ")
    return f"{head[: cut if cut > 0 else max_characters - 1].rstrip(' ,;:-—')}…"
