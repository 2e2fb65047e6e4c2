"""Check an item of a model's answer against the messages it comes from.

An item is refused if it has no content, or if a name, number, date, person or negation in it contradicts the messages.
A computed date ("last night" as a calendar date) and a stated consequence ("KPMG let me go", so "no longer works at
KPMG") are accepted. In doubt, an item is accepted. The messages of a refused item are left to the sentence reader or
the rules.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import Final

from holdfast.learning.answer_check.amounts import Said, shares_amount, wrong_amount
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
from holdfast.learning.answer_check.words import Person, hints, people, words
from holdfast.text.language import STOP_WORDS, detect_language
from holdfast.text.names import find_names
from holdfast.text.sentences import split_sentences

__all__ = ["Evidence", "SourceSentence", "distortion", "problem", "source_sentences", "states_date", "without_distortions"]

_MIN_SHARE: Final = 0.34
"""Minimum share, from 0 to 1, of an item's content words that must occur in the messages."""
_MAX_CONSEQUENCE_WORDS: Final = 7
"""Maximum number of content words of an item that has only a name or a number in common with the messages.

Such an item states a consequence, such as "no longer works at KPMG" after "KPMG let me go".
"""
_MIN_TYPO_LENGTH: Final = 5
_MIN_TYPO_RATIO: Final = 0.88


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSentence:
    """A sentence of the conversation. It is a possible source of an item (one statement of a model's answer).

    For a sentence of the assistant, ``reply`` says how the user's reply treats the sentence: ``yes`` (affirmed), ``no``
    (denied) or ``open`` (neither). For other sentences, ``reply`` is None.
    """

    text: str
    voice: Voice
    at: datetime
    reply: Polarity | None = None

    def words(self, user_names: frozenset[str]) -> tuple[Word, ...]:
        """Return the words of the sentence, each with its context: the people it is about, and whether it is denied.

        The user's reply to a sentence of the assistant changes which words are denied. If the reply is "no", affirmed words
        count as denied, and denied words as affirmed. After any reply except "yes" and "no", all words count as neither.
        """
        read = read_sentence(self.text, self.voice, user_names)
        return read if self.reply is None else under_reply(read, self.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The texts and names that an item (one statement of a model's answer) is checked against."""

    sources: Sequence[SourceSentence]
    """Sentences of the messages that the item comes from."""
    context: Sequence[SourceSentence] = ()
    """Sentences of the other messages. An item may also use names and numbers from these sentences."""
    known: Sequence[str] = ()
    """Texts of memories that the model was shown."""
    user_names: frozenset[str] = frozenset()
    """Words that name the user, in lower case and without accents."""


def problem(item: str, evidence: Evidence) -> str | None:
    """Return the reason why an item (one statement of a model's answer) must not be stored, in a few words.

    Return None if the item may be stored.
    """
    read = read_sentence(item, "report", evidence.user_names, _names_of_others(evidence))
    content = [word for word in read if word.is_content and word.text not in words("empty")]
    if not content and not any(word.is_person for word in read):
        return "an item without content"
    is_listed = detect_language(item) in ("en", "es", None)  # the word lists are English and Spanish
    unstated = _unstated(item, read, evidence, is_listed=is_listed)
    if unstated or not is_listed:
        return unstated
    if content and not _is_grounded(item, content, evidence):
        return "an item whose words do not occur in the conversation"
    return _contradiction(item, [word for word in read if word in content or word.is_person], evidence)


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
    """Return the reason why an item is not supported, or None.

    An item is not supported if it contains a name, person, number or date that does not occur in the evidence. ``is_listed``
    is True if the word lists cover the language of the item. If it is False, only numbers and dates are checked.
    """
    said = [Said(each.text, each.at) for each in (*evidence.sources, *evidence.context) if each.reply != "no"]
    if is_listed and _unknown_name(item, said, evidence):
        return "an item with a name that nobody mentioned"
    if is_listed and _unknown_person(read, evidence):
        return "an item about a person whom nobody mentioned"
    wrong = wrong_amount(item, said, evidence.known)
    return f"an item with {wrong} that nobody stated" if wrong else None


def _names_of_others(evidence: Evidence) -> frozenset[str]:
    """Return the words in the evidence that name people other than the user.

    A capitalized first word of a text also counts as a name.
    """
    texts = [*(each.text for each in (*evidence.sources, *evidence.context)), *evidence.known]
    first = {match[1] for text in texts if (match := re.match(r"\W*([^\W\d_]{3,})", text)) and match[1][0].isupper()}
    found = {bare(part.casefold()) for text in texts for name in find_names(text) for part in name.split()}
    ordinary = STOP_WORDS["en"] | STOP_WORDS["es"] | words("user") | evidence.user_names | people().keys()
    return frozenset((found | {bare(word.casefold()) for word in first}) - ordinary)


def _unknown_name(item: str, said: Sequence[Said], evidence: Evidence) -> bool:
    texts = [*(each.text for each in said), *evidence.known]
    shown = {bare(word).removesuffix("'s") for text in texts for word in re.findall(r"[\w'’.&-]+", text.casefold())}
    shown |= {part for word in shown for part in re.findall(r"[^\W_]+", word)} | evidence.user_names | words("user")
    initials = {word for text in texts for word in re.findall(r"\b[A-Z]{2,5}\b", text)}
    for name in find_names(item):
        parts = [part for part in re.findall(r"[^\W_]+", bare(name.casefold())) if len(part) > 1]
        if "".join(part[0] for part in name.split()).upper() in initials or _is_date_word(parts):
            continue
        if any(
            part not in shown and not _is_misspelled(part, shown) for part in parts if part not in words("polarity", "boundary")
        ):
            return True
    return False


def _is_date_word(parts: Sequence[str]) -> bool:
    from_dates = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
    months = "january february march april may june july august september october november december".split()
    return all(part in from_dates or part in months or part.isdigit() for part in parts)


def _is_misspelled(name: str, shown: set[str]) -> bool:
    """Return True if the texts contain the name with a typing error, such as "philadelpia".

    ``shown`` are the words of the texts, in lower case.
    """
    return len(name) >= _MIN_TYPO_LENGTH and any(
        abs(len(word) - len(name)) <= 1
        and word[:1] == name[:1]
        and len(word) >= _MIN_TYPO_LENGTH
        and SequenceMatcher(None, word, name, autojunk=False).ratio() >= _MIN_TYPO_RATIO
        for word in shown
    )


def _unknown_person(read: Sequence[Word], evidence: Evidence) -> bool:
    """Return True if an item mentions a sort of person, such as a sister, that the evidence does not mention.

    Only sorts of persons with a gender are checked: "sister", but not "sibling". ``read`` are the words of the item.
    """
    texts = [*(each.text for each in (*evidence.sources, *evidence.context)), *evidence.known]
    known = hints() | people()
    mentioned = {
        known[word]
        for text in texts
        for word in (bare(found).removesuffix("'s") for found in re.findall(r"[\w'-]+", text.casefold().replace("’", "'")))
        if word in known
    }
    for word in read:
        person = people().get(word.text.removesuffix("'s"))
        if person is not None and person.gender != "any" and not any(person.may_be(other) for other in mentioned):
            return True
        if person is not None and _is_contradicted(person, mentioned):
            return True
    return False


def _is_contradicted(person: Person, mentioned: set[Person]) -> bool:
    """Return True if the evidence mentions this sort of relative only with the other gender: a brother instead of a sister.

    ``person`` is the relative in the item, and ``mentioned`` are the people in the evidence. Words without a gender, such
    as "sibling", do not count. If ``person`` has no gender, return False.
    """
    family = {other.gender for other in mentioned if other.family == person.family}
    return person.gender != "any" and bool(family) and person.gender not in family and family != {"any"}


def _is_grounded(item: str, content: Sequence[Word], evidence: Evidence) -> bool:
    sentences = [*evidence.sources, *evidence.context]
    shown = {stem for each in sentences for word in each.words(evidence.user_names) for stem in word.stems}
    shown |= {stem for text in evidence.known for word in read_sentence(text[:2000], "report") for stem in word.stems}
    found = sum(not word.stems.isdisjoint(shown) for word in content)
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
    return named or shares_amount(item, [Said(each.text, each.at) for each in evidence.sources])


def _abbreviated(item: str, evidence: Evidence) -> bool:
    """Return True if a source abbreviates a name in the item: "NYC" for "New York City"."""
    initials = {word for each in evidence.sources for word in re.findall(r"\b[A-Z]{2,5}\b", each.text)}
    return any("".join(part[0] for part in name.split()).upper() in initials for name in find_names(item))


def _ignores_reply(content: Sequence[Word], evidence: Evidence) -> bool:
    """Return True if an item only repeats the assistant's question, although the user's reply states something else.

    ``content`` are the words of the item that carry its content.
    """
    asked = [word for each in evidence.sources if each.voice == "assistant" for word in each.words(evidence.user_names)]
    said = [word for each in evidence.sources if each.voice != "assistant" for word in each.words(evidence.user_names)]
    stated = {stem for word in said if word.is_content and word.text not in words("empty") for stem in word.stems}
    repeats = any(not word.stems.isdisjoint(other.stems) for word in content for other in asked if other.is_content)
    return bool(asked and stated) and repeats and all(word.stems.isdisjoint(stated) for word in content)


@dataclass(slots=True)
class _Votes:
    """Counts the words of an item that agree with the messages in one property, and the words that differ.

    The property is, for example, the person whom a word is about. The item is wrong if more words differ than agree.
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
    """Return the reason why an item contradicts its source messages, or None.

    An item contradicts them if it is about another person, if the messages deny it, or if they only ask about it or imagine
    it.
    """
    person, reality = _Votes(), _Votes()
    polarities: dict[int, _Votes] = {}
    denying = {word.clause for word in content if word.polarity == "no"}
    wished, past = wishes(item), is_past(item)
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
            and (not word.is_name or (same and not word.is_label))
        ):
            person.add(agrees=bool(same))
        if word.clause not in denying or word.polarity == "no":  # the subject of a clause stands before its negation
            _vote_on_polarity(polarities.setdefault(word.clause, _Votes()), word, meant, past=past)
        reality.add(agrees=wished or any(not other.unreal for other in meant))
    if person.is_wrong:
        # "I'm not diabetic. That was my father" denies of the user what it says of the father.
        return None if _is_denied_of_user(content, evidence) else "an item about another person than the messages"
    if any(votes.is_wrong for votes in polarities.values()):
        return "an item that the messages deny"
    return "an item that the messages only imagine or ask" if reality.is_wrong else None


def _vote_on_polarity(votes: _Votes, word: Word, meant: Sequence[Word], *, past: bool) -> None:
    if word.polarity == "yes" and not past and all(other.ceased for other in meant):
        votes.add(agrees=False)
    elif word.polarity != "open" and all(other.polarity != "open" for other in meant):
        votes.add(agrees=any(other.polarity == word.polarity for other in meant))


def _is_denied_of_user(content: Sequence[Word], evidence: Evidence) -> bool:
    """Return True if an item is about another person, and the user's messages deny the same thing about the user.

    The item is then accepted. For example, "I'm not diabetic. That was my father" supports the item "the user's father
    was diabetic". ``content`` are the words of the item that carry its content.
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
