"""Find the data that a user wishes to be forgotten: the user's own memories and messages about a subject."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from holdfast.learning.changes.parts.claims import split_claims
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, MessageFilter, Store
from holdfast.recall.reader import Reader
from holdfast.runtime.regex import regex
from holdfast.text.consent.rules import subject_words
from holdfast.text.dictation import has_verb
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences
from holdfast.text.terms import document_terms, query_terms
from holdfast.types import Hit, Memory, Message, Scope

__all__ = ["About", "Terms", "find_about", "find_everything", "find_known", "find_mentioned", "without_reason"]

_MAX_HITS: Final = 100
_MIN_SHARE: Final = 0.5
"""Lowest share of the subject's terms, from 0 to 1, that a memory or message must contain."""
_FULL_SHARE: Final = 0.67
"""Upper limit of the share of the subject's terms that a memory or message must contain.

The required share is that of the best memory, or for messages that of the best message. It is at least ``_MIN_SHARE`` and
at most this value.
"""
_MIN_SCORE: Final = 0.75
"""Minimum recall score of a hit. It is used only if no memory or message contains enough of the subject's terms.

It is far above the minimum score of a context block.
"""

_MAX_MENTIONING: Final = 3
"""Maximum number of memories that a word of a wish may occur in. A word of more memories does not tell what to forget."""
_MIN_BEST: Final = 0.4
"""Minimum recall score of the best hit, if no hit reaches ``_MIN_SCORE``. If its score is lower, nothing is found."""
_CLOSE: Final = 0.75
"""A hit scores nearly as high as the best hit if its score is at least this share (0 to 1) of the best score."""

_FRAME: Final = regex(
    r"(?:(?:what|everything|anything|all|the things?|that thing|the stuff|that stuff|the bit)\s(?:(?:that\s)?(?:i|you|we)\s(?:\S+\s){1,3}?)?about\s"
    r"|(?:todo\s)?lo\s(?:que\s(?:\S+\s){1,3}?)?(?:del?|sobre|acerca\sdel?)\s)(?=\S)",
    re.IGNORECASE,
)
"""Matches words before a subject that say nothing about it: "what I told you about", "lo que dije de"."""

_REASON: Final = regex(
    r"[,;:.–—]\s|\s+-+\s|\s(?=(?:they|we|it|he|she|i|i'm|i've|i'll|we're|they're|they've|it's|because|cause|since|as i|now that|ya no"
    r"|porque|ya que|que ya|nos|me han|me lo|lo han|la han|ahora)\b)",
    re.IGNORECASE,
)
"""Matches the start of a reason after a subject: the comma in "my locker number, they moved us", or a word such as "because"."""

_OF_THE_USER: Final = regex(
    r"(?:i|im|i['’]\w+|we|we['’]\w+|my|our|yo|nosotr[oa]s|mis?|nuestr[oa]s?|me|nos)\b|(?:\w+ )?(?:soy|estoy|tengo|voy|hago|quiero|puedo|\w{2,}mos|\w{3,}o)\b",
    re.IGNORECASE,
)
"""Matches the start of a clause whose subject is the user or somebody of the user's: "I'm a nurse", "my aunt", "trabajo"."""
_LIKELY_VERB: Final = regex(
    r"(?:my|our|mis?|nuestr[oa]s?)\s+(?:(?!and\b|y\b)[\w'’-]+,?\s+){1,3}?(?:[a-z]{2,}(?:ches|les|ns|ms|ks|ts|rs|ds|es)|[A-Z]{2,}s)\s+\S"
)
"""Matches a clause that names somebody and has a word with the ending of a verb: "my partner Ann handles the finances"."""
_NEW_PART: Final = regex(
    r",\s+(?:(?:and|but|y|e|pero)\s+)?(?=(?:i|im|i['’]\w+|we|we['’]\w+|my|our|yo|mis?|nuestr[oa]s?|soy|estoy|tengo|vivo|trabajo|fui|le|me)\b)"
    r"|\s+(?:and|y)\s+(?=(?:i|im|i['’]\w+|we|we['’]\w+|my|our|yo|mis?|nuestr[oa]s?|soy|estoy|tengo|ando|fui|le|me)\b)",
    re.IGNORECASE,
)
"""Matches the place before a new claim about the user or somebody of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The stored memories and messages about a subject."""

    memories: tuple[tuple[Memory, str], ...] = ()
    """Pairs of a memory and the part of its text that is not about the subject.

    That part is empty if the whole memory is about the subject.
    """
    messages: tuple[Message, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if nothing is stored about the subject."""
        return not self.memories and not self.messages


def find_everything(store: Store, preset: Preset, scope: Scope, now: datetime) -> About:
    """Return all memories and messages that belong to the scope's user and that the scope may read.

    If the scope has no user, return only the shared memories and messages that have exactly this scope. Memories of plain
    kinds are left out.
    """
    owner = {} if scope.user is None else {"user": scope.user}
    exactly = scope if scope.user is None else None
    memories = store.memories(MemoryFilter(reader=scope, owner=owner, exactly=exactly, unexpired_at=now))
    messages = store.messages(MessageFilter(reader=scope, owner=owner, exactly=exactly, actions=[None]))
    kept = [memory for memory in memories if not preset.is_plain(memory.kind)]
    return About(memories=tuple((memory, "") for memory in kept), messages=tuple(messages))


def find_about(reader: Reader, scope: Scope, subject: str, *, by: Literal["words", "meaning"]) -> About:
    """Return a user's own memories and messages about a subject. Shared data and other users' data are left out.

    With ``by="words"``, a memory or message is returned if it shares enough words with the subject. With ``by="meaning"``,
    :func:`_by_meaning` chooses from the memories and messages that recall finds for the subject.
    """
    terms = Terms(subject, reader.preset.languages)
    if not terms.wanted:
        return About()
    owned = [hit for hit in _recalled(reader, scope, subject) if _is_owned(hit, scope, reader.preset)]
    shares = {hit.id: terms.share(str(hit.memory) if hit.memory else hit.found.text) for hit in owned}
    floors = {
        is_memory: min(max((shares[hit.id] for hit in owned if bool(hit.memory) == is_memory), default=0.0), _FULL_SHARE)
        for is_memory in (True, False)
    }  # a message with all words of the subject must not protect a memory with most of them
    by_words = [hit for hit in owned if shares[hit.id] >= max(floors[bool(hit.memory)], _MIN_SHARE)]
    taken = by_words if by == "words" else _by_meaning(owned)
    memories = [(hit.memory, _remainder(hit.memory, terms, floors[True])) for hit in taken if hit.memory]
    return About(memories=tuple(memories), messages=tuple(hit.message for hit in taken if hit.message))


def find_known(reader: Reader, scope: Scope, name: str, *, is_fact: Callable[[str], bool]) -> About:
    """Return a user's own memories and messages that contain every word of a name.

    If there are only messages, one of them must be a message of the user that states a fact. Otherwise the result is empty:
    the words of the name may belong to a task, such as a text being written. ``is_fact`` returns True if a text states a
    fact.
    """
    terms = Terms(name, reader.preset.languages)
    if not terms.wanted:
        return About()
    owned = [hit for hit in _recalled(reader, scope, name) if _is_owned(hit, scope, reader.preset)]
    found = [hit for hit in owned if terms.share(str(hit.memory) if hit.memory else hit.found.text) == 1]
    memories = tuple((hit.memory, _remainder(hit.memory, terms, 1)) for hit in found if hit.memory)
    messages = tuple(hit.message for hit in found if hit.message)
    is_known = memories or any(message.role == "user" and is_fact(message.text) for message in messages)
    return About(memories=memories, messages=messages) if is_known else About()


def find_mentioned(reader: Reader, scope: Scope, clauses: Sequence[str], *, is_fact: Callable[[str], bool]) -> About:
    """Return a user's own memories that the clauses of a wish mention, and the messages with the same words.

    It is for wishes that name their subject in unforeseen words: "the part about the scan, lose that". ``clauses`` are the clauses of
    the message, the one with the wish first. The first clause decides that has words of few stored memories, or of few messages in
    which the user states a fact. The memories, or messages, with the most of these words are returned.
    """
    for clause in clauses:
        terms = Terms(subject_words(clause), reader.preset.languages)
        hits = _recalled(reader, scope, clause) if terms.wanted else []
        owned = [hit for hit in hits if _is_owned(hit, scope, reader.preset)]
        memories = [hit.memory for hit in owned if hit.memory]
        told = [hit.message for hit in owned if hit.message and hit.message.role == "user"]
        texts = [str(memory) for memory in memories]
        rare = terms.in_few_of(texts, _MAX_MENTIONING)
        if not rare.wanted:
            texts = [each.text for each in told if is_fact(each.text)]
            rare = terms.in_few_of(texts, _MAX_MENTIONING)
        most = max(map(rare.share, texts), default=0.0) if rare.wanted else 0.0
        if most:
            known = rare.found_in(" ".join(text for text in texts if rare.share(text) == most))
            found = [memory for memory in memories if rare.share(str(memory)) == most]
            messages = tuple(hit.message for hit in owned if hit.message and known.share(hit.found.text) == 1)
            return About(memories=tuple((memory, _remainder(memory, known, 1)) for memory in found), messages=messages)
    return About()


def without_reason(subject: str) -> str:
    """Return a subject without the reason that follows it: "my locker number, they moved us" becomes "my locker number".

    Words before the subject, such as "what I told you about", are removed, too.
    """
    frame = _FRAME.match(subject)
    bare = subject[frame.end() :] if frame else subject
    heads = (bare[: found.start()].strip() for found in _REASON.finditer(bare))
    return next((head for head in heads if len(head.split()) > 1), bare)


def _by_meaning(owned: Sequence[Hit]) -> list[Hit]:
    """Return the hits that a subject refers to. Return an empty list if that is unclear.

    If some relevant hits have a score of at least ``_MIN_SCORE``, return these. Otherwise return the best memory, and the
    messages that score nearly as high. If there is no memory, return the best message, and the messages that score nearly as
    high. The list is empty if the best score is below ``_MIN_BEST``, or if a second memory scores nearly as high.
    """
    if sure := [hit for hit in owned if hit.is_relevant and hit.score >= _MIN_SCORE]:
        return sure
    memories = [hit.score for hit in owned if hit.memory is not None]
    best = max(memories or [hit.score for hit in owned], default=0.0)
    if best < _MIN_BEST or sum(score >= _CLOSE * best for score in memories) > 1:
        return []
    return [hit for hit in owned if hit.score >= _CLOSE * best]


def _recalled(reader: Reader, scope: Scope, subject: str) -> Iterable[Hit]:
    kinds = [kind.name for kind in reader.preset.kinds if not kind.plain]
    return reader.recall(scope, subject, limit=_MAX_HITS, kinds=[*kinds, "message"], distinct=False)


def _is_owned(hit: Hit, scope: Scope, preset: Preset) -> bool:
    """Return True if a hit belongs to the user of this scope. If the scope has no user, the hit must have exactly this scope.

    A memory of a plain kind (stored exactly as given) never counts as owned.
    """
    if hit.memory is not None and preset.is_plain(hit.memory.kind):
        return False
    return hit.found.scope.user == scope.user if scope.user is not None else hit.found.scope == scope


class Terms:
    """The search terms of the subject that the user wants the assistant to forget."""

    def __init__(self, subject: str, languages: Sequence[str]) -> None:
        self.wanted = [each for each in query_terms(subject, languages) if each]

    def found_in(self, text: str) -> "Terms":
        """Return the terms that a text contains."""
        words = _words_of(text)
        known = Terms("", ())
        known.wanted = [spellings for spellings in self.wanted if not spellings.isdisjoint(words)]
        return known

    def in_few_of(self, texts: Sequence[str], most: int) -> "Terms":
        """Return the terms that some of the texts contain, but no more than ``most`` of them."""
        words = [_words_of(text) for text in texts]
        rare = Terms("", ())
        rare.wanted = [each for each in self.wanted if 0 < sum(not each.isdisjoint(said) for said in words) <= most]
        return rare

    def share(self, text: str) -> float:
        """Return the fraction of the subject's terms that a text contains."""
        words = _words_of(text)
        return sum(not spellings.isdisjoint(words) for spellings in self.wanted) / len(self.wanted)


def _words_of(text: str) -> set[str]:
    return {term for language in ("en", "es") for term in document_terms(text, language)}


def _remainder(memory: Memory, terms: Terms, floor: float) -> str:
    """Return a memory's text without the sentences about the subject. ``terms`` are the search terms of the subject.

    A sentence is about the subject if it contains at least the fraction ``floor`` of the subject's terms, and at least
    half of them. Only its other claims are then left: "I'm a judge" of "I'm a judge and I have asthma". If the text has several
    lines, whole lines are removed instead of sentences.

    Return an empty text if nothing would remain. Also return an empty text if no single sentence contains enough terms:
    the memory is then about the subject as a whole.
    """
    lines = memory.text.split("\n")
    split: Callable[[str], list[str]] = (lambda line: [line]) if len(lines) > 1 else split_sentences
    parts = [part for line in lines for part in split(line)]
    is_other = [terms.share(part) < max(floor, _MIN_SHARE) for part in parts]
    if all(is_other):
        return ""
    if len(lines) > 1:
        kept = [part for part, other in zip(parts, is_other, strict=True) if other]
    else:
        kept = [
            each for part, other in zip(parts, is_other, strict=True) for each in ([part] if other else _claims_left(part, terms))
        ]
    return ("\n" if len(lines) > 1 else " ").join(kept) if any(part.strip() for part in kept) else ""


def _parts_of(sentence: str) -> list[str]:
    """Return the claims of a sentence. It is also cut before words such as "my" and "tengo" if each part then has a verb."""
    claims = split_claims(sentence, detect_language(sentence))
    parts: list[str] = []
    for claim in claims:
        cut = [part for part in _NEW_PART.split(claim) if part.strip()]
        parts += cut if all(has_verb(part) or _LIKELY_VERB.match(part) for part in cut) else [claim]
    return parts


def _claims_left(sentence: str, terms: Terms) -> list[str]:
    """Return the claims of a sentence that have no term of a subject, each as a sentence.

    A claim after one about the subject is left out, too, unless it is about the user or somebody of the user's. It may continue
    the claim about the subject: "My tattoo is on my back and shows a fox".
    """
    kept: list[str] = []
    is_after = False
    for claim in _parts_of(sentence):
        if terms.share(claim) > 0:
            is_after = True
        elif not is_after or _OF_THE_USER.match(claim):
            kept.append(claim if claim.endswith((".", "!", "?")) else f"{claim}.")
    return kept
