"""Summarize a conversation by rules: quote its central sentences, with their speakers.

Sentences are quoted, not rephrased, so the summary contains nothing invented. Details are names, numbers and dates.
Details that no quoted sentence contains are listed in a closing clause, as far as the length limit allows.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from holdfast.learning.summaries.centrality import centrality
from holdfast.learning.summaries.importance import importance_of
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line
from holdfast.text.details import Detail, details, find_details, missing
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences
from holdfast.types import Message

RULE_VERSION = "report-rules-1"

_CODE = regex(r"```.*?(?:```|\Z)", re.DOTALL)
_SMALL_TALK = regex(
    r"\W*(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|yes|no|sure|great|perfect|nice|cool|bye|good (?:morning|night|evening|idea|luck)"
    r"|you'?re welcome|got it|sounds good|hola|gracias|vale|s[ií]|claro|genial|perfecto|estupendo|adi[oó]s|buen[oa]s?(?: \w+)?|de nada"
    r"|entendido|muy bien)(?:[\s,]+(?:\w+[\s,]*){0,3})?\W*",
    re.IGNORECASE,
)
_FILLER = regex(
    r"^(?:(?:yes|yeah|yep|no|ok(?:ay)?|sure|great|perfect|right|oh|well|so|and|thanks|s[ií]|vale|bueno|pues|claro|perfecto|genial|ah|y|exacto)"
    r"[,.!]+\s+|(?:and|so|y|pues) )(?=\w+ \w+)",
    re.IGNORECASE,
)
_DENIAL = regex(
    r"\W*(?:no|nope|not (?:really|quite)|wrong|actually|en realidad|qué va|te equivocas|incorrecto)\b(?! problem)", re.IGNORECASE
)
_MAX_SENTENCES = 240
"""Maximum number of sentences to rank, to bound the time.

In a longer conversation, only the sentences with the most details (names, numbers, dates) are ranked.
"""
_MAX_MESSAGE_CHARACTERS = 20_000
"""Maximum number of characters read of one message. A longer message is usually a pasted file."""
_MAX_SENTENCE_CHARACTERS = 180
_MIN_GAIN = 0.5
"""Minimum gain of a sentence that is added once the summary has its minimum number of sentences.

The gain is the sentence's score plus a bonus for new details. A sentence with less gain is usually small talk.
"""
ALSO = {"en": "Also mentioned", "es": "También se mencionó"}
"""First words of the closing clause, by language. The clause lists names, numbers and dates that no quoted sentence contains."""
_WORDS = {
    "en": {
        "user": "The user",
        "assistant": "The assistant",
        "said": "said",
        "quotation": 'The user said: "{text}"',
        "asked": "asked",
        "answered": "answered",
    },
    "es": {
        "user": "El usuario",
        "assistant": "El asistente",
        "said": "dijo",
        "quotation": "El usuario dijo: «{text}»",
        "asked": "preguntó",
        "answered": "respondió",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuotableSentence:
    """A candidate sentence to quote, with the name of its speaker."""

    place: int
    text: str
    who: str
    by_user: bool
    details: frozenset[str]
    rank: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportFormat:
    """Limits and language of a summary.

    A summary quotes sentences. A closing clause then lists the names, numbers and dates that no quoted sentence contains.
    While sentences are chosen, room is reserved for this clause: at most the share ``listed`` (0 to 1) of
    ``max_characters``. The finished clause may also use the room that the sentences leave.
    """

    max_characters: int
    min_sentences: int
    max_sentences: int
    listed: float
    language: str


def summarize(messages: Sequence[Message], *, max_characters: int = 700, language: str | None = None) -> str:
    """Summarize messages in 3-5 sentences, keeping names, numbers and dates. ``max_characters`` limits the whole summary."""
    return _report(
        messages,
        _ReportFormat(
            max_characters=max_characters, min_sentences=3, max_sentences=5, listed=0.5, language=language_of(messages, language)
        ),
    )


def paragraph(messages: Sequence[Message], *, max_characters: int = 200, language: str | None = None) -> str:
    """Summarize messages in one paragraph of 2-4 sentences. ``max_characters`` limits the whole paragraph."""
    return _report(
        messages,
        _ReportFormat(
            max_characters=max_characters, min_sentences=2, max_sentences=4, listed=0.25, language=language_of(messages, language)
        ),
    )


def report_words(language: str) -> Mapping[str, str]:
    """Return the words that summaries use for the speakers and their acts, such as "The user" and "said"."""
    return _WORDS[language]


def language_of(messages: Sequence[Message], language: str | None = None) -> str:
    """Return the given language or, if None is given, the language of the messages.

    If that is neither English nor Spanish, return English.
    """
    if language is None:
        language = detect_language(" ".join(message.text for message in messages)[:2000])
    return language if language in _WORDS else "en"


def spoken(messages: Iterable[Message]) -> list[Message]:
    """Return the messages of users and assistants. Tool and system messages are left out.

    Messages with an ``action``, a marker such as ``IGNORE``, are left out, too.
    """
    return [message for message in _truncate(messages) if message.role in ("user", "assistant") and message.action is None]


def _without_denied(messages: Sequence[Message]) -> list[Message]:
    """Drop an assistant's statements that the next message denies, so that a summary does not report something false."""
    kept = []
    for message, following in zip_longest(messages, messages[1:]):
        if message.role == "assistant" and following is not None and _DENIAL.match(following.text):
            questions = [sentence for sentence in split_sentences(message.text) if sentence.endswith("?")]
            kept.append(replace(message, text=" ".join(questions)))
        else:
            kept.append(message)
    return kept


def _truncate(messages: Iterable[Message]) -> list[Message]:
    return [
        message if len(message.text) <= _MAX_MESSAGE_CHARACTERS else replace(message, text=message.text[:_MAX_MESSAGE_CHARACTERS])
        for message in messages
    ]


def wanted_details(messages: Sequence[Message]) -> dict[str, Detail]:
    """Return the details (names, numbers, dates) in messages, most important first. The keys are the normalized details.

    Details from users come first, then all other details. In each of these two groups, the most frequent details come
    first, but bare numbers come after all other details of the group.
    """
    found = find_details("\n".join(message.text for message in messages))
    from_users = details("\n".join(message.text for message in messages if message.role == "user"))
    text = fold("\n".join(message.text for message in messages))
    order = sorted(
        found, key=lambda key: (key not in from_users, key.isdigit(), -text.count(fold(found[key].short)), len(found[key].full))
    )
    return {key: found[key] for key in order}


def add_details(text: str, wanted: Iterable[Detail], *, max_characters: int, language: str) -> str:
    """Append a closing clause with the wanted details (names, numbers, dates) that are missing in the text, as many as fit."""
    by_key = {detail.key: detail for detail in wanted}
    lost = missing(by_key, text)
    remaining = [detail for key, detail in by_key.items() if key in lost]
    full = _with_clause(text, [detail.full for detail in remaining], max_characters, language)
    if not missing(lost, full):
        return full
    short = _with_clause(text, [detail.short for detail in remaining], max_characters, language)
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
    relevant = _without_denied(spoken(messages) or _truncate(messages))
    wanted = wanted_details(relevant)
    chosen = _choose(_candidates(relevant, form), wanted, form)
    if not chosen:
        return clipped(one_line(" ".join(message.text for message in relevant)), form.max_characters)
    # The closing clause counts as one sentence. If there is nothing to list, the chosen sentences fill the minimum alone.
    reported = _render(chosen, form, min_sentences=form.min_sentences - 1)
    ended = add_details(reported, wanted.values(), max_characters=form.max_characters, language=form.language)
    return ended if ended != reported else _render(chosen, form, min_sentences=form.min_sentences)


def _candidates(messages: Sequence[Message], form: _ReportFormat) -> list[_QuotableSentence]:
    said: dict[str, _QuotableSentence] = {}
    max_sentence_characters = min(_MAX_SENTENCE_CHARACTERS, max(60, form.max_characters // 2))
    for message in messages:
        who = message.speaker or _WORDS[form.language]["assistant" if message.role == "assistant" else "user"]
        for sentence in split_sentences(_CODE.sub("\n", message.text)):
            text = clipped(_FILLER.sub("", one_line(sentence).lstrip("> #*")), max_sentence_characters).rstrip(" .,;:")
            if len(text.split()) < 3 or _SMALL_TALK.fullmatch(text) or fold(text) in said:
                continue
            said[fold(text)] = _QuotableSentence(
                place=len(said), text=text, who=one_line(who), by_user=message.role == "user", details=details(text)
            )
    kept = sorted(said.values(), key=lambda each: -len(each.details))[:_MAX_SENTENCES]
    kept.sort(key=lambda each: each.place)
    ranks = centrality([each.text for each in kept], form.language)
    return [replace(each, rank=_score(each, rank)) for each, rank in zip(kept, ranks, strict=True)]


def _score(said: _QuotableSentence, rank: float) -> float:
    """Return a score from centrality (``rank``) and importance. Questions and the assistant's sentences score lower."""
    score = 0.5 * rank + 0.12 * importance_of(said.text, said.details)
    return score * (0.4 if said.text.endswith("?") else 1.0) * (1.0 if said.by_user else 0.7)


def _choose(candidates: Sequence[_QuotableSentence], wanted: dict[str, Detail], form: _ReportFormat) -> list[_QuotableSentence]:
    """Choose sentences one at a time, within the limits of the format.

    Sentences with a high score are preferred. So are sentences with a detail in ``wanted`` that no chosen sentence contains.
    Details are names, numbers and dates.
    """
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
        size = len(_render(longer, form, min_sentences=form.min_sentences)) + (reserve if chosen else 0)
        if size <= form.max_characters and len(_turns(longer, form.max_sentences - 1)) < form.max_sentences:
            chosen = longer
            covered |= best.details
    return chosen


def _gain(said: _QuotableSentence, covered: set[str], wanted: dict[str, Detail]) -> float:
    new_characters = sum(len(wanted[key].full) for key in said.details if key in wanted and key not in covered)
    return said.rank + 2.5 * new_characters / (len(said.text) + 20)


def _reserve(wanted: dict[str, Detail], covered: set[str], form: _ReportFormat) -> int:
    """Return the number of characters to reserve for the closing clause of a summary.

    The closing clause lists the details in ``wanted`` whose keys are not in ``covered``. Details are names, numbers and
    dates. ``form.listed`` limits the length of the clause, as a share of the summary.
    """
    remaining = sum(len(detail.short) + 2 for key, detail in wanted.items() if key not in covered)
    return min(remaining + 22 if remaining else 0, int(form.listed * form.max_characters))


def _turns(chosen: Sequence[_QuotableSentence], max_sentences: int) -> list[list[_QuotableSentence]]:
    """Group consecutive sentences of one speaker, in at most ``max_sentences`` groups if possible.

    If there are more groups, small groups are merged into earlier groups of the same speaker.
    """
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


def _render(chosen: Sequence[_QuotableSentence], form: _ReportFormat, *, min_sentences: int) -> str:
    """Render the chosen sentences as reported sentences, each starting with its speaker.

    If there are fewer than ``min_sentences``, long reported sentences are divided.
    """
    turns = _turns(chosen, form.max_sentences - 1)
    while len(turns) < min_sentences and max(len(turn) for turn in turns) > 1:
        longest = max(range(len(turns)), key=lambda at: len(turns[at]))
        turn = turns[longest]
        middle = (len(turn) + 1) // 2
        turns[longest : longest + 1] = [turn[:middle], turn[middle:]]
    words = _WORDS[form.language]
    reported = []
    for turn in turns:
        questions = all(said.text.endswith("?") for said in turn)
        verb = words["asked" if questions else "said" if turn[0].by_user else "answered"]
        quoted = "; ".join(said.text for said in turn)
        reported.append(f"{turn[0].who} {verb}: {quoted}{'' if quoted.endswith(('?', '!', '…')) else '.'}")
    return " ".join(reported)


def clipped(text: str, max_characters: int) -> str:
    """Return the text, cut at the end of a clause or word if it is too long."""
    if len(text) <= max_characters:
        return text
    head = text[: max_characters - 1]
    cut = max(head.rfind(mark) for mark in (", ", "; ", " - ", " — ", ": "))
    if cut < max_characters // 2:
        cut = head.rfind(" ")
    return f"{head[: cut if cut > 0 else max_characters - 1].rstrip(' ,;:-—')}…"
