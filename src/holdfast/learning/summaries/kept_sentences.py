"""Write a paragraph about a conversation from the user's sentences that the sentence reader rates as worth keeping.

Sentences are quoted whole. If not all of them fit, permissions, rules, identity and health come first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.learning.change_reader import ends_memory
from holdfast.learning.changes.wording import spoken_words
from holdfast.learning.statements.conversation import is_spoken_by_user
from holdfast.learning.statements.own_text import own_sentences
from holdfast.learning.summaries.extractive import clipped, language_of, paragraph, report_words
from holdfast.learning.summaries.importance import areas_of, importance_of, is_worth_keeping
from holdfast.protocols.sentence_reader import Area, Reading, SentenceReader
from holdfast.text.clean import fold, one_line
from holdfast.text.consent.cues import may_wish
from holdfast.text.details import details
from holdfast.text.sentences import split_sentences
from holdfast.types import Message

_MIN_KEEP: Final = 0.5
"""Minimum probability, according to the sentence reader, that an ordinary sentence is worth keeping."""
_MIN_KEEP_STANDING: Final = 0.15
"""Minimum probability of being worth keeping, for a permission, a rule, or a sentence about identity or health."""
_MIN_KEEP_UNLIKELY: Final = 0.9
"""Minimum probability of being worth keeping, for small talk, past events, and sentences not meant literally."""
_MIN_IMPORTANCE: Final = 5.5
"""Minimum importance (0 to 10) with which a sentence is kept, whatever its probability. All permissions reach it."""
_MIN_REFUSAL: Final = 0.8
_REFUSALS: Final[tuple[Literal["off_record", "forget"], ...]] = ("off_record", "forget")
_MIN_WISH: Final = 0.5
_STANDING: Final = frozenset({"permission", "constraint", "identity", "health", "request"})
_RANKS: Final[dict[Area, float]] = {"instruction": 3.0, "identity": 3.0, "health": 3.0, "family": 2.0, "home": 2.0, "work": 1.0}
"""Bonus for the rank of a sentence, by area of life. It matters if not all sentences fit into the paragraph."""
_ROOM_FACTOR: Final = 2
"""Maximum length of a paragraph, as a multiple of the requested length. Sentences are quoted whole and need more room."""
_MAX_SENTENCE_CHARACTERS: Final = 240
_MAX_ANSWERS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    place: int
    text: str
    rank: float


def paragraph_of_kept(
    messages: Sequence[Message], reader: SentenceReader, *, max_characters: int, language: str | None = None
) -> str:
    """Return a paragraph that quotes the user's sentences worth keeping.

    If there are none, return a summary of the user's requests that contain a name, number or date. If there are no such
    requests, return an empty string.
    """
    words = report_words(language_of(messages, language))
    kept = _chosen(_kept(messages, reader), _ROOM_FACTOR * max_characters)
    if not kept:
        others = _requests(messages, reader)
        return paragraph(others, max_characters=max_characters, language=language) if others else ""
    quoted = " ".join(each.text if each.text.endswith(("!", "…")) else f"{each.text}." for each in kept)
    text = words["quotation"].format(text=quoted.replace('"', "'"))
    for answer in _answers(messages, text):
        longer = f"{text} {words['assistant']} {words['answered']}: {answer}."
        text = longer if len(longer) <= max_characters else text
    return text


def without_sentences(text: str, is_left_out: Callable[[str], bool]) -> str:
    """Return a paragraph without the sentences for which ``is_left_out`` returns True.

    Return an empty string if no sentence of the user is left.
    """
    before, words, after = spoken_words(text)
    sentences = split_sentences(words)
    kept = [sentence for sentence in sentences if not is_left_out(sentence)]
    return text if len(kept) == len(sentences) else f"{before}{' '.join(kept)}{after}" if kept else ""


def _kept(messages: Sequence[Message], reader: SentenceReader) -> list[_Kept]:
    """Return the user's sentences that are worth keeping, in order."""
    found: dict[str, _Kept] = {}
    before = ""
    for message in messages:
        if not is_spoken_by_user(message):
            before = message.text
            continue
        for sentence in own_sentences(message.text, message.language):
            reading = reader.read(sentence, before=before)
            text = clipped(one_line(sentence), _MAX_SENTENCE_CHARACTERS).rstrip(" .,;:")
            if not _is_kept(sentence, reading) and ends_memory(reader, message, sentence, before=before):
                reading = reader.read(sentence, before=before)
            if _is_kept(sentence, reading):
                rank = importance_of(sentence) + _RANKS.get(reading.area, 0.0) + 2 * reading.keep
                shown = f"{_question(before)} {text}".strip() if reading.reply and len(text.split()) < 4 else text
                found.setdefault(fold(text), _Kept(place=len(found), text=shown, rank=rank))
    return list(found.values())


def _is_kept(sentence: str, reading: Reading) -> bool:
    folded = fold(sentence)
    if any(reading.wishes[wish] >= _MIN_REFUSAL and may_wish(wish, folded) for wish in _REFUSALS) or sentence.endswith("?"):
        return False
    standing = reading.area == "instruction" or not areas_of(sentence).isdisjoint(_STANDING)
    strong = importance_of(sentence) >= _MIN_IMPORTANCE and reading.meant not in ("joke", "hypothesis")
    if strong or reading.wishes["remember"] >= _MIN_WISH:
        return True
    if reading.meant != "fact" or reading.act == "smalltalk" or (reading.act == "question" and not standing):
        return reading.act != "question" and reading.keep >= _MIN_KEEP_UNLIKELY
    if reading.act == "request":
        return reading.keep >= _MIN_KEEP_STANDING or bool(details(sentence))
    if reading.owner == "world" or (reading.time in ("dated", "past") and not standing):
        return reading.keep >= _MIN_KEEP_UNLIKELY
    return reading.keep >= (_MIN_KEEP_STANDING if standing else _MIN_KEEP)


def _chosen(kept: Sequence[_Kept], room: int) -> list[_Kept]:
    """Return the most important sentences that fit into ``room`` characters, in the order of the conversation."""
    chosen = []
    for each in sorted(kept, key=lambda one: -one.rank):
        if len(each.text) + 2 <= room:
            room -= len(each.text) + 2
            chosen.append(each)
    return sorted(chosen, key=lambda one: one.place)


def _requests(messages: Sequence[Message], reader: SentenceReader) -> list[Message]:
    """Return the user's requests that contain a name, number or date, each followed by the assistant's answer, if there is one.

    The requests are used for the paragraph of a conversation in which no other sentence is worth keeping.
    """
    kept: list[Message] = []
    before = ""
    for place, message in enumerate(messages):
        if is_spoken_by_user(message) and is_worth_keeping(message.text):
            reading = reader.read(message.text[:_MAX_SENTENCE_CHARACTERS], before=before)
            if reading.act == "request" and reading.meant == "fact" and details(message.text):
                kept += [message, *(each for each in messages[place + 1 : place + 2] if each.role == "assistant")]
        before = message.text
    return kept


def _answers(messages: Sequence[Message], text: str) -> list[str]:
    """Return sentences of the assistant with details that ``text`` lacks, such as "Moved to Thursday, 3pm".

    Details are names, numbers and dates. Questions and sentences of one or two words are left out. If there are many
    sentences, only the last few are returned.
    """
    known = details(text)
    said = [
        one_line(sentence).rstrip(" .,;:").replace('"', "'")
        for message in messages
        if message.role == "assistant" and message.action is None
        for sentence in split_sentences(message.text)
        if not sentence.endswith("?") and details(sentence) - known
    ]
    return [each for each in dict.fromkeys(said) if len(each.split()) > 2][-_MAX_ANSWERS:]


def _question(before: str) -> str:
    """Return the question at the end of a turn, or an empty text if the turn does not end with a question."""
    last = (split_sentences(before) or [""])[-1]
    return one_line(last) if last.endswith("?") else ""
