"""Check a statement of the model, which is one entry of a model's answer, against the messages it comes from.

The statement is refused if it has no content, or if a name, number, date, person or negation in it contradicts the messages.
A computed date ("last night" as a calendar date) and a consequence ("KPMG let me go", so "no longer works at KPMG") are
accepted. In doubt, the statement is accepted. If it is refused, the sentence reader or the rules read the messages.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from holdfast.learning.answer_check.amounts import Said, shares_amount, wrong_amount
from holdfast.learning.answer_check.meaning import is_reworded, is_stated_end
from holdfast.learning.answer_check.mentions import is_cognate, unknown_name, unknown_person
from holdfast.learning.answer_check.sentences import (
    Owner,
    Polarity,
    Voice,
    Word,
    bare,
    is_past,
    read_sentence,
    under_reply,
    wishes,
)
from holdfast.learning.answer_check.words import Person, opposites, people, translations, words
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.language import STOP_WORDS, detect_language
from holdfast.text.names import find_names
from holdfast.text.sentences import split_sentences

__all__ = ["Evidence", "SourceSentence", "distortion", "problem", "source_sentences", "states_date", "without_distortions"]

_MIN_SHARE: Final = 0.34
"""Minimum share, from 0 to 1, of a statement's content words that must occur in the messages."""
_MAX_CONSEQUENCE_WORDS: Final = 7
"""Maximum number of content words of a statement that states a consequence: "no longer works at KPMG" after "KPMG let me go".

Such a statement has only a name or a number in common with the messages. If it has more words, it is refused.
"""
_ACRONYM: Final = regex(r"\b[A-Z]{2,5}\b")
_UNRELATED: Final = "an item whose words do not occur in the conversation"
_DENIED: Final = "an item that the messages deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSentence:
    """A sentence of the conversation. It is a possible source of a statement of the model.

    For a sentence of the assistant, ``reply`` says how the user's reply treats the sentence: ``yes`` (affirmed), ``no``
    (denied) or ``open`` (neither). For other sentences, ``reply`` is None.
    """

    text: str
    voice: Voice
    at: datetime
    reply: Polarity | None = None

    def words(self, user_names: frozenset[str]) -> tuple[Word, ...]:
        """Return the words of the sentence. Each word says which people it is about, and whether it is affirmed or denied.

        The user's reply to a sentence of the assistant can change this. If the reply is "no", affirmed words count as denied, and
        denied words as affirmed. If the reply is neither "yes" nor "no", no word counts as affirmed or denied.
        """
        read = read_sentence(self.text, self.voice, user_names)
        return read if self.reply is None else under_reply(read, self.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The texts and names against which a statement of the model is checked."""

    sources: Sequence[SourceSentence]
    """Sentences of the messages that the statement comes from."""
    context: Sequence[SourceSentence] = ()
    """Sentences of the other messages. The statement may also use names and numbers from these sentences."""
    known: Sequence[str] = ()
    """Texts of memories that the model was shown."""
    user_names: frozenset[str] = frozenset()
    """Words that name the user, in lower case and without accents."""


def problem(item: str, evidence: Evidence, reader: SentenceReader | None = None) -> str | None:
    """Return in a few words why a statement of the model (``item``) must not be stored. Return None if it may be stored.

    The sentence reader is called if the statement uses other words than the messages, or if it says that something has ended.
    If ``reader`` is None or cannot be used, only words are compared.
    """
    read = read_sentence(item, "report", evidence.user_names, _names_of_others(evidence))
    content = [word for word in read if word.is_content and word.text not in words("empty")]
    if not content and not any(word.is_person for word in read):
        return "an item without content"
    is_listed = detect_language(item) in ("en", "es", None)  # the word lists are English and Spanish
    unstated = _unstated(item, read, evidence, is_listed=is_listed)
    if unstated or not is_listed:
        return unstated
    if content and not _is_grounded(item, content, evidence) and not _has_meaning(item, evidence, reader):
        return _UNRELATED
    wrong = _contradiction(item, [word for word in read if word in content or word.is_person], evidence)
    return None if wrong == _DENIED and is_stated_end(item, _said(evidence), reader) else wrong


def _has_meaning(item: str, evidence: Evidence, reader: SentenceReader | None) -> bool:
    said = _said(evidence)
    return is_reworded(item, said, reader) or is_stated_end(item, said, reader)


def _said(evidence: Evidence) -> list[str]:
    return [each.text for each in evidence.sources if each.voice == "user"]


def distortion(text: str, evidence: Evidence, *, names_and_numbers: bool = False) -> str | None:
    """Return a few words that describe what a sentence of a summary states wrongly. Return None if nothing is wrong.

    With ``names_and_numbers``, only names and numbers are checked. Other words need not occur in the messages, because a
    summary is written in its own words.
    """
    read = read_sentence(text, "report", evidence.user_names, _names_of_others(evidence))
    is_listed = detect_language(text) in ("en", "es", None)
    unstated = _unstated(text, read, evidence, is_listed=is_listed)
    if unstated or names_and_numbers or not is_listed:
        return unstated
    content = [word for word in read if word.is_content and word.text not in words("empty")]
    if len(content) > 1 and not _shared(content, evidence) and not shares_amount(text, _dated(evidence)):
        return _UNRELATED
    return _contradiction(text, [word for word in read if word.is_content or word.is_person], evidence)


def without_distortions(text: str, evidence: Evidence) -> tuple[str, tuple[str, ...]]:
    """Return a text without the sentences that state something wrongly, and one reason for each removed sentence."""
    kept, wrong = [], []
    for sentence in split_sentences(text):
        reason = distortion(sentence, evidence)
        if reason:
            wrong.append(f"left out {reason}".replace("an item", "a sentence"))
        else:
            kept.append(sentence)
    return (" ".join(kept), tuple(wrong)) if wrong else (text, ())


def _unstated(item: str, read: Sequence[Word], evidence: Evidence, *, is_listed: bool) -> str | None:
    """Return the reason why a statement of the model is not supported by the evidence, or None if it is supported.

    It is not supported if it contains a name, person, number or date that does not occur in the evidence. ``item`` is the
    statement, and ``read`` are its words. ``is_listed`` is True if the word lists cover the language of the statement. If
    ``is_listed`` is False, only numbers and dates are checked.
    """
    said = [Said(each.text, each.at) for each in (*evidence.sources, *evidence.context) if each.reply != "no"]
    if is_listed and unknown_name(item, [*(each.text for each in said), *evidence.known], evidence.user_names):
        return "an item with a name that nobody mentioned"
    if is_listed and unknown_person(item, read, _texts(evidence)):
        return "an item about a person whom nobody mentioned"
    wrong = wrong_amount(item, said, evidence.known)
    return f"an item with {wrong} that nobody stated" if wrong else None


def _texts(evidence: Evidence) -> list[str]:
    return [*(each.text for each in (*evidence.sources, *evidence.context)), *evidence.known]


def _names_of_others(evidence: Evidence) -> frozenset[str]:
    """Return the words in the evidence that name people other than the user.

    A capitalized first word of a text also counts as a name.
    """
    texts = _texts(evidence)
    first = {match[1] for text in texts if (match := re.match(r"\W*([^\W\d_]{3,})", text)) and match[1][0].isupper()}
    found = {bare(part.casefold()) for text in texts for name in find_names(text) for part in name.split()}
    ordinary = STOP_WORDS["en"] | STOP_WORDS["es"] | words("user") | evidence.user_names | people().keys()
    return frozenset((found | {bare(word.casefold()) for word in first}) - ordinary)


def _is_grounded(item: str, content: Sequence[Word], evidence: Evidence) -> bool:
    found = _shared(content, evidence)
    if _ignores_reply(content, evidence):
        return False
    if found >= _MIN_SHARE * len(content):
        return True
    if len(content) > _MAX_CONSEQUENCE_WORDS:
        return False
    own = {
        stem for each in evidence.sources for word in each.words(evidence.user_names) if word.is_content for stem in word.stems
    }
    named = any(word.is_name and not word.stems.isdisjoint(own) for word in content) or _abbreviated(item, evidence)
    return named or shares_amount(item, _dated(evidence))


def _shared(content: Sequence[Word], evidence: Evidence) -> int:
    """Return how many of the words in ``content`` occur in the evidence."""
    sentences = [*evidence.sources, *evidence.context]
    shown = {stem for each in sentences for word in each.words(evidence.user_names) for stem in word.stems}
    shown |= {stem for text in evidence.known for word in read_sentence(text[:2000], "report") for stem in word.stems}
    found = [word for word in content if not (word.stems | translations().get(word.text, frozenset())).isdisjoint(shown)]
    spoken = {detect_language(each.text) for each in sentences}
    if not found and len(spoken) == 1 and detect_language(" ".join(word.text for word in content)) not in spoken:
        found = [word for word in content if is_cognate(word.text, shown)]  # the statement is in another language
    return len(found)


def _dated(evidence: Evidence) -> list[Said]:
    return [Said(each.text, each.at) for each in evidence.sources]


def _abbreviated(item: str, evidence: Evidence) -> bool:
    """Return True if a source abbreviates a name in the statement ``item``: "NYC" for "New York City"."""
    initials = {word for each in evidence.sources for word in re.findall(r"\b[A-Z]{2,5}\b", each.text)}
    return any("".join(part[0] for part in name.split()).upper() in initials for name in find_names(item))


def _ignores_reply(content: Sequence[Word], evidence: Evidence) -> bool:
    """Return True if a statement of the model only repeats the assistant's question, but the user's reply says something else.

    ``content`` are the content words of the statement.
    """
    asked = [word for each in evidence.sources if each.voice == "assistant" for word in each.words(evidence.user_names)]
    said = [word for each in evidence.sources if each.voice != "assistant" for word in each.words(evidence.user_names)]
    stated = {stem for word in said if word.is_content and word.text not in words("empty") for stem in word.stems}
    repeats = any(not word.stems.isdisjoint(other.stems) for word in content for other in asked if other.is_content)
    return bool(asked and stated) and repeats and all(word.stems.isdisjoint(stated) for word in content)


@dataclass(slots=True)
class _Votes:
    """Counts how many words of a statement of the model agree with the messages in one property, and how many differ.

    The property is, for example, the person whom a word is about. The statement is wrong if more words differ than agree.
    """

    agree: int = 0
    differ: int = 0

    def add(self, *, agrees: bool) -> None:
        self.agree += agrees
        self.differ += not agrees

    @property
    def is_wrong(self) -> bool:
        return self.differ > self.agree


def _contradiction(item: str, content: Sequence[Word], evidence: Evidence) -> str | None:
    """Return the reason why a statement of the model contradicts its source messages, or None.

    There are three reasons. The statement is about another person than the messages. The messages deny the statement. Or the
    messages do not state it as a fact: they only ask about it, or make it part of a wish or a condition. ``item`` is the
    statement, and ``content`` are its content words.
    """
    person, reality = _Votes(), _Votes()
    polarities: dict[int, _Votes] = {}
    denying = {word.clause for word in content if word.polarity == "no"}
    wished, past = wishes(item), is_past(item)
    acronyms = set(_ACRONYM.findall(item))  # "HIV" is no person's name
    shown = [word for each in evidence.sources for word in each.words(evidence.user_names) if word.is_content or word.is_person]
    for word in content:
        found = [other for other in shown if not other.stems.isdisjoint(word.stems)]
        same = [other for other in found if _may_be_same(word.owners, other.owners)]
        meant = same or found
        if not meant:
            continue
        if (
            word.is_content
            and word.owners
            and any(other.owners for other in found)
            and (not word.is_name or word.text.upper() in acronyms or (same and not word.is_label))
        ):
            person.add(agrees=bool(same))
        # The subject of a clause stands before its negation, and a number ("since 2019") is neither affirmed nor denied.
        if (word.clause not in denying or word.polarity == "no") and not word.text.isdigit():
            _vote_on_polarity(polarities.setdefault(word.clause, _Votes()), word, meant, past=past)
        reality.add(agrees=wished or any(not other.unreal for other in meant))
    if person.is_wrong:
        # "I'm not diabetic. That was my father" denies of the user what it says of the father.
        return None if _is_denied_of_user(content, evidence) else "an item about another person than the messages"
    if any(votes.is_wrong for votes in polarities.values()) or _states_opposite(content, shown):
        return _DENIED
    return "an item that the messages only imagine or ask" if reality.is_wrong else None


def _vote_on_polarity(votes: _Votes, word: Word, meant: Sequence[Word], *, past: bool) -> None:
    if word.polarity == "yes" and not past and all(other.ceased for other in meant):
        votes.add(agrees=False)
    elif word.polarity != "open" and all(other.polarity != "open" for other in meant):
        votes.add(agrees=any(other.polarity == word.polarity for other in meant))


def _states_opposite(content: Sequence[Word], shown: Sequence[Word]) -> bool:
    """Return True if a statement of the model has a word such as "approved", and the messages have the opposite, "refused".

    ``content`` are the words of the statement, and ``shown`` are the words of the messages. Return False if one of the two
    words is negated, or if the statement or the messages contain both words.
    """
    own, said = {word.text for word in content}, {word.text for word in shown}
    return any(
        "no" not in (word.polarity, other.polarity) and (_may_be_same(word.owners, other.owners) or "other" in other.owners)
        for word in content
        for other in shown
        if other.text in opposites().get(word.text, ()) and word.text not in said and other.text not in own
    )


def _is_denied_of_user(content: Sequence[Word], evidence: Evidence) -> bool:
    """Return True if a statement of the model is about another person, and the messages deny the same thing about the user.

    Such a statement is accepted. For example, "I'm not diabetic. That was my father" supports "the user's father was
    diabetic". ``content`` are the content words of the statement.
    """
    about_other = all("user" not in word.owners for word in content if word.owners)
    wanted = {stem for word in content for stem in word.stems}
    denied = any(
        word.polarity == "no" and "user" in word.owners and not word.stems.isdisjoint(wanted)
        for each in evidence.sources
        for word in each.words(evidence.user_names)
    )
    return about_other and denied


def _may_be_same(one: frozenset[Owner], other: frozenset[Owner]) -> bool:
    """Return True if two words can be about the same person. Each argument is the set of people that one word is about.

    An empty set means that the person is unknown and can be anyone.
    """
    if not one or not other:
        return True
    return any(_same_owner(a, b) for a in one for b in other)


def _same_owner(one: Owner, other: Owner) -> bool:
    if one == other:
        return True
    if "user" in (one, other):
        return False
    if isinstance(one, Person) and isinstance(other, Person):
        return one.may_be(other)
    named = isinstance(one, str) and isinstance(other, str) and "other" not in (one, other)
    return not named


def states_date(day: str, evidence: Evidence) -> bool:
    """Return True if an ISO date follows from the evidence."""
    said = [Said(each.text, each.at) for each in (*evidence.sources, *evidence.context)]
    return wrong_amount(day, said, evidence.known) is None


def source_sentences(text: str, voice: Voice, at: datetime) -> list[SourceSentence]:
    """Split a text into sentences that can be used as evidence.

    ``voice`` says who wrote the text, such as ``user`` or ``assistant``. ``at`` is the time at which it was written.
    """
    return [SourceSentence(text=sentence, voice=voice, at=at) for sentence in split_sentences(text)]
