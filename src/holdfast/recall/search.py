"""Search: several retrieval methods ("arms") find candidates, and a single score ranks them.

Every arm searches only items that the scope may see, so the results need no filtering by scope. Each hit lists the arms
that found it, and its rank in each arm.
"""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from holdfast.protocols import MessagePlace, Store
from holdfast.recall.candidates import Found, find_candidates, find_matching_chunks
from holdfast.recall.duplicates import without_duplicates
from holdfast.recall.embedding import Embedding
from holdfast.recall.hydration import own_part, read_rows
from holdfast.recall.later import with_later
from holdfast.recall.query import RecallQuery, is_keyword
from holdfast.recall.query_vector import QueryVector, catch_up
from holdfast.recall.ranking import (
    WORD_WEIGHT,
    Background,
    likelihood,
    max_period_gain,
    period_gain,
    relevance_margin,
    strength,
    with_context_gains,
)
from holdfast.recall.relevance.companions import companion_margin
from holdfast.recall.relevance.near_misses import asks_for_detail, is_near_miss
from holdfast.recall.relevance.stored_asks import without_questions
from holdfast.recall.traces.search_log import SearchRun, current_log, current_run, step
from holdfast.text.clean import clean_query, fold
from holdfast.text.dialogue_acts import is_about_asking
from holdfast.text.periods import period_of_last_questions, periods_of
from holdfast.text.sentences import split_sentences
from holdfast.text.terms import document_terms, query_terms
from holdfast.types import Hit, Memory, Message, Reason

_EXTRA_ROWS = 5
"""Number of rows to read beyond the limit. They replace rows that are left out, such as duplicates and expired memories."""
_MAX_WHOLE_CHARACTERS = 1600
"""Maximum length of a message that is shown as a whole. Of a longer message, only the matching chunk is shown."""

# Embedding before a search
_MAX_NEW_CHUNKS = 64
"""Maximum number of new chunks to embed before a search.

Items without a vector are scored differently. A limit on the time instead of the number would therefore make scores depend on
the load of the machine.
"""
_FREE_HITS = 3
"""Number of first hits whose distance to the best hit does not matter. They only have to exceed the relevance floor."""
_MESSAGE_MARGIN = 1.0
"""Strength by which a message must exceed the memories derived from it to be returned instead of them."""
_MIN_OWN_WORDS = 12
_MIN_OWN_SHARE = 0.1
"""Minimum share of the user's own words in a message with a quotation. ``_MIN_OWN_WORDS`` is their minimum number.

Below either minimum, the vector of the message describes mainly the quotation, and its cosine does not count.
"""

_ENDS = " .,;:!?¡¿"

_IMPORTANT = 7.0
"""Importance (0 to 10) above which a memory may be shown even if its strength is below the relevance floor."""
_IMPORTANCE_BONUS = 2.0
"""How much each point of importance above ``_IMPORTANT`` lowers the relevance floor."""

# Breaking ties
_TIE_WEIGHT = 5.0
"""Factor for the sum of an item's tie-break values. The product is added to the strength of the item.

Tie-break values order items of almost equal strength.
"""
_RECENCY = 0.02
"""Tie-break value of a brand-new item. It decays with age."""
_RECENCY_DAYS = 30
"""Age in days at which the tie-break value for recency has decayed to 1/e."""
_IMPORTANCE = 0.002
"""Tie-break value per point of a memory's importance."""
_PINNED = 0.01
"""Tie-break value of a pinned memory."""
_MESSAGE = 0.006
"""Tie-break value of every message. It takes the place of the importance, which messages do not have."""
_MAX_TIE = 0.05
"""Maximum sum of the tie-break values of an item."""


class _Ranked(NamedTuple):
    """A candidate that was read from the store: its memory or message, and its strength."""

    strength: float
    at: datetime
    owner: Memory | Message
    successor: Memory | None

    @property
    def order(self) -> tuple[float, float, str]:
        """Order by strength, then by time (newest first), then by id. Better candidates sort first, as ``heapq`` requires.

        Probabilities are not compared, because the probabilities of strong candidates are all close to 1.
        """
        return -self.strength, -self.at.timestamp(), self.owner.id


class _Baseline(NamedTuple):
    """Baselines for a candidate: the typical strength of the best candidates, and the minimum strength of a relevant hit."""

    background: Background
    floor: float
    sentences: int
    """Number of sentences in the query."""
    calibration: tuple[float, float] | None = None
    """Calibration of the embedder, if hits of this query can be near misses."""

    def admits(self, strength: float) -> bool:
        """Return True if an item of this strength reaches the relevance floor."""
        return relevance_margin(strength, self.background, best=strength, floor=self.floor, sentences=self.sentences) >= 0


def recall(store: Store, embedding: Embedding, question: RecallQuery) -> list[Hit]:
    """Run a search and return the best hits, best first."""
    text = clean_query(question.text)
    periods = periods_of(text, question.now) or period_of_last_questions(text, question.now)
    question = replace(question, text=text, periods=periods)
    if not question.spaces or question.limit < 1:
        return []
    log = current_log()
    if log is not None:
        log.runs.append(SearchRun(question))
    # Models are slow, so they run before the snapshot. All reads of the search then share one snapshot.
    with step("models"):
        catch_up(
            embedding,
            None if question.vector is not None else text,
            reader=question.reader,
            limit=_MAX_NEW_CHUNKS,
            candidates=lambda: find_matching_chunks(store, question),
        )
        vector = QueryVector(store, embedding, text, vector=question.vector)
    with step("search"), store.snapshot():
        return _ranked_hits(store, embedding, vector, question)


def _ranked_hits(store: Store, embedding: Embedding, vector: QueryVector, question: RecallQuery) -> list[Hit]:
    found, places = find_candidates(store, vector, question)
    # Questions of a period are listed by their time: they need not resemble the question for them.
    own = dict.fromkeys(found, 0.0) if question.lists_questions else _strengths(embedding, question, found)
    if not is_about_asking(question.text) and not any(period.alone for period in question.periods):
        keyword = is_keyword(question.text) and "?" not in question.text
        own = without_questions(own, places, query_terms(question.text, question.languages), is_keyword=keyword)
    strengths = with_context_gains(own, places, question.text, periods=question.periods)
    verdict = vector.verdict
    run = current_run()
    if run is not None:
        run.found, run.strengths, run.floor = found, strengths, verdict.floor
    background = _background(question, found, places, strengths, verdict.personal)
    embedder = embedding.embedder()
    calibration = embedder.calibration if embedder and asks_for_detail(question) else None
    baseline = _Baseline(background, verdict.floor, max(len(split_sentences(question.text)), 1), calibration)
    hits = (hit for hit in _best_first(store, question, found, strengths, baseline) if hit.score >= question.min_score)
    limit = question.limit
    kept = without_duplicates(store, embedding, hits, limit, beyond=question.beyond) if question.distinct else islice(hits, limit)
    shown = [_with_excerpt(store, question, hit, found) for hit in kept]
    if question.as_of is not None:
        return shown
    return with_later(store, shown, question.reader, min_trust=question.min_trust)


def _background(
    question: RecallQuery, found: dict[int, Found], places: dict[int, MessagePlace], strengths: dict[int, float], personal: float
) -> Background:
    """Return the background of all candidates: the baseline with which hits are compared.

    Gains from named periods of time are not included. ``personal`` is the logit of the probability that the query is about
    the person's life. For an empty query, no candidates are counted.
    """
    if question.is_empty:  # the newest items are listed; none has to stand out
        return Background.of(())
    values = [
        value - period_gain(places[item].at, question.periods) if item in places else value for item, value in strengths.items()
    ]
    words_alone = all(entry.similarity is None for entry in found.values())
    return Background.of(sorted(values, reverse=True), words_alone=words_alone, personal=personal)


def _best_first(
    store: Store, question: RecallQuery, found: dict[int, Found], strengths: dict[int, float], baseline: _Baseline
) -> Iterator[Hit]:
    """Yield hits, best first. Leave out most messages and memories that repeat each other (see :func:`_says_more`).

    A message is left out if a memory derived from it is about as strong. If the message is much stronger, it says more
    about the question and is returned. The memory is then left out once all its source messages were returned. With
    ``question.with_sources``, or if ``question.distinct`` is False, nothing is left out.

    Rows are read a few at a time, because reading a row takes longer than finding it. The memories derived from a message
    are read with it, so that the choice between them does not depend on ``question.limit``.
    """
    ranked = sorted(found, key=strengths.__getitem__, reverse=True)
    size, run = question.limit + _EXTRA_ROWS, current_run()
    # A message's strength includes its period gain. A memory's time is known only once its row is read.
    has_memories = any(entry.space != "message" for entry in found.values())
    max_gain = _TIE_WEIGHT * _MAX_TIE + (max_period_gain(question.periods) if has_memories else 0.0)
    read: list[tuple[tuple[float, float, str], _Ranked]] = []
    derived: dict[str, float] = {}  # strength of each memory by its id, and of the best derived memory by the source's id
    shown: set[str] = set()
    said: dict[str, tuple[str, float]] = {}  # text and strength of each message, by its id
    strongest: list[float] = []
    read_items: set[int] = set()
    for end in range(size, len(ranked) + size, size):
        unread = found.keys() - read_items
        rows = _read_batch(store, question, ranked[end - size : end], unread, with_derived=has_memories and end < len(ranked))
        read_items |= {_item(owner) for owner, _ in rows}
        final = [_final_strength(owner, question, strengths, found) for owner, _ in rows]
        said |= {
            owner.id: (owner.text, value)
            for (owner, _), (value, _) in zip(rows, final, strict=True)
            if isinstance(owner, Message)
        }
        for (owner, successor), (own_value, at) in zip(rows, final, strict=True):
            value = max(own_value, _strength_of_quoted(owner, said)) if isinstance(owner, Memory) else own_value
            candidate = _Ranked(value, at, owner, successor)
            heapq.heappush(read, (candidate.order, candidate))
            if isinstance(owner, Memory) and likelihood(value, baseline.background) >= question.min_score:
                _note_weight(derived, owner, value + _importance_bonus(owner))
        max_unread = strengths[ranked[end]] + max_gain if end < len(ranked) else -math.inf
        while read and read[0][1].strength >= max_unread:
            best = heapq.heappop(read)[1]
            if not (question.with_sources or not question.distinct or _says_more(best, derived, shown, baseline)):
                if run is not None:
                    run.dropped[_item(best.owner)] = "covered"
            else:
                if isinstance(best.owner, Message):
                    shown.add(best.owner.id)
                strongest.append(best.strength)
                # The first few hits need not be close to the best one: they may answer another part of the question.
                best_of_all = strongest[0] if len(strongest) > _FREE_HITS else best.strength
                margin = _margin(best, question, baseline, best_of_all, best_hit=strongest[0])
                hit = _hit(best, found, baseline, margin)
                if run is not None:
                    run.ranked.append(hit)
                yield hit


def _read_batch(
    store: Store, question: RecallQuery, items: Sequence[int], unread: AbstractSet[int], *, with_derived: bool
) -> list[tuple[Memory | Message, Memory | None]]:
    """Read the rows of those items that are still unread. With ``with_derived``, also read the memories derived from them."""
    wanted = [item for item in items if item in unread]
    rows = read_rows(store, question, wanted, unread=unread if with_derived else ())
    if (run := current_run()) is not None:
        run.unreadable |= {*wanted} - {_item(owner) for owner, _ in rows}
    return rows


def _note_weight(derived: dict[str, float], memory: Memory, weight: float) -> None:
    """Record the strength of a memory in ``derived``, under its own id and under the ids of its sources.

    ``weight`` is the strength, raised for an important memory. If an id already has a higher value, that value stays.
    """
    derived.update((name, max(weight, derived.get(name, weight))) for name in (memory.id, *memory.sources))


def _strength_of_quoted(memory: Memory, said: Mapping[str, tuple[str, float]]) -> float:
    """Return the highest strength among the source messages that the memory quotes completely, or ``-inf`` if there are none.

    A memory that quotes a message says as much as the message, so the memory should not rank lower. Its own strength can be
    lower, because only messages gain strength from their conversation. ``said`` maps message ids to texts and strengths.
    """
    longest = 2 * len(memory.text)  # a longer message cannot be in it, and folding a very long one takes time
    told = [said[source] for source in memory.sources if source in said and len(said[source][0]) <= longest]
    if not told:
        return -math.inf
    text = fold(memory.text)
    quoted = ((fold(words).strip(_ENDS), value) for words, value in told)
    return max((value for words, value in quoted if words and words in text), default=-math.inf)


def _says_more(candidate: _Ranked, derived: Mapping[str, float], shown: AbstractSet[str], baseline: _Baseline) -> bool:
    """Return True if a candidate adds something to the other hits.

    A candidate adds nothing in these cases:

    - The candidate is a memory, and all its source messages are already ``shown``.
    - It is a message, and a memory derived from it is about as strong. If only the message is relevant, it does add something.
    - It is a message, a memory derived from it was superseded, and the new memory reaches the relevance floor.

    ``derived`` maps the ids of memories to their strengths. It also maps the ids of messages to the strengths of the best
    memories derived from them.
    """
    owner = candidate.owner
    if isinstance(owner, Message):
        if candidate.successor is not None and derived.get(candidate.successor.id, -math.inf) >= baseline.floor:
            return False
        best = derived.get(owner.id, -math.inf)
        return best < candidate.strength - _MESSAGE_MARGIN or (not baseline.admits(best) and baseline.admits(candidate.strength))
    return not owner.sources or not shown >= set(owner.sources)


def _strengths(embedding: Embedding, question: RecallQuery, found: dict[int, Found]) -> dict[int, float]:
    """Return the strength of each found item, by item number. It is computed from the item's cosine and word match.

    If the query is empty, all strengths are 0.
    """
    if question.is_empty:
        return dict.fromkeys(found, 0.0)
    embedder = embedding.embedder()
    cosines = [entry.similarity for entry in found.values() if entry.similarity is not None]
    # An item that only the word arm found has a lower cosine than every item of the meaning arm.
    lowest = min(cosines, default=None)
    calibration = embedder.calibration if embedder and cosines else None
    return {
        item: strength(lowest if entry.similarity is None else entry.similarity, entry.text, calibration)
        for item, entry in found.items()
    }


def _final_strength(
    owner: Memory | Message, question: RecallQuery, strengths: dict[int, float], found: Mapping[int, Found]
) -> tuple[float, datetime]:
    """Return two values: the strength of a memory or message after all adjustments, and its time.

    Recency, importance and pinning add small amounts, which only matter between items of about equal strength. A memory also
    gains strength if its time is in a period that the question names. The strength of a message already contains this gain. A
    message with an untrusted quotation loses strength if its other words match the question less well.
    """
    if isinstance(owner, Memory):
        at, item = owner.valid_from, owner.item
        tie = _IMPORTANCE * owner.importance + _PINNED * owner.pinned
        gain = period_gain(at, question.periods)
    else:
        at, item = owner.at, owner.seq
        tie = _MESSAGE
        gain = 0.0  # a message's strength includes its period gain
    age_days = max((question.now - at).total_seconds() / 86400, 0.0)
    recency = _RECENCY * math.exp(-age_days / _RECENCY_DAYS)
    value = strengths[item]
    if isinstance(owner, Message) and not question.outside and (own := own_part(owner, question)) != owner.text:
        value = min(value, _strength_of_own_part(own, owner.text, question, value, found[item].text))
    return value + _TIE_WEIGHT * (recency + tie) + gain, at


def _strength_of_own_part(own: str, text: str, question: RecallQuery, value: float, word_match: float) -> float:
    """Return the strength of a user's message without the quotation in it.

    ``own`` is the text without the quotation, and ``text`` is the whole text. ``value`` is the strength of the whole message,
    and ``word_match`` is the share of the query's words in the whole message. Words that occur only in the quotation do not
    count. The cosine of the message counts if the user wrote a good part of the message, as in a question about pasted code.
    Otherwise it does not count, because it describes mainly the quotation.
    """
    matched = _word_match(own, question)
    count = len(own.split())
    if count < _MIN_OWN_WORDS or count < _MIN_OWN_SHARE * len(text.split()):
        return strength(None, matched, None)
    return value - WORD_WEIGHT * max(word_match - matched, 0.0)


def _word_match(text: str, question: RecallQuery) -> float:
    """Return the share of the query's terms that a text contains."""
    terms = query_terms(question.text, question.languages)
    words = {word for language in question.languages for word in document_terms(text, language)}
    return sum(not words.isdisjoint(term) for term in terms) / max(len(terms), 1)


def _margin(candidate: _Ranked, question: RecallQuery, baseline: _Baseline, strongest: float, *, best_hit: float) -> float:
    """Return how far a candidate is above the minimum for relevance. The margin is negative if the candidate is not relevant.

    If the query is empty, every candidate is relevant. If the query names only a period of time, every candidate in that
    period is relevant. In all other cases, a candidate must meet two conditions. It must be close enough to ``strongest`` and
    above the relevance floor (see :func:`relevance_margin`). If it is weaker than the best hit, whose strength is
    ``best_hit``, it must also have a minimum score (see :func:`companion_margin`).

    ``strongest`` is normally the strength of the best hit. For the first few hits, it is the candidate's own strength, so
    that these hits can be much weaker than the best hit.
    """
    if question.is_empty:
        return 0.0
    if any(period.alone for period in question.periods):
        return 0.0 if period_gain(candidate.at, question.periods) else -max_period_gain(question.periods)
    margin = relevance_margin(
        candidate.strength, baseline.background, best=strongest, floor=baseline.floor, sentences=baseline.sentences
    )
    bonus = _importance_bonus(candidate.owner) if isinstance(candidate.owner, Memory) else 0.0
    next_to_best = companion_margin(
        candidate.owner, candidate.strength, baseline.background, best=best_hit, is_important=bonus > 0
    )
    return round(min(margin + bonus, next_to_best), 4)


def _importance_bonus(memory: Memory) -> float:
    """Return the amount by which the relevance floor is lowered for an important memory, such as an allergy."""
    return max(memory.importance - _IMPORTANT, 0.0) * _IMPORTANCE_BONUS


def _hit(candidate: _Ranked, found: dict[int, Found], baseline: _Baseline, margin: float) -> Hit:
    """Return the hit for a candidate, with its score and its reasons."""
    owner = candidate.owner
    memory, message = (owner, None) if isinstance(owner, Memory) else (None, owner)
    entry = found[_item(owner)]
    return Hit(
        memory=memory,
        message=message,
        score=round(likelihood(candidate.strength, baseline.background), 4),
        margin=margin,
        similarity=entry.similarity,
        why=tuple([Reason(arm=vote.arm, rank=vote.rank, score=vote.score) for vote in entry.why]),
        successor=candidate.successor,
        is_near_miss=baseline.calibration is not None and is_near_miss(owner, entry.similarity, entry.text, baseline.calibration),
    )


def _item(owner: Memory | Message) -> int:
    """Return the store's item number of a memory's revision or of a message."""
    return owner.item if isinstance(owner, Memory) else owner.seq


def _with_excerpt(store: Store, question: RecallQuery, hit: Hit, found: dict[int, Found]) -> Hit:
    """Return the hit. If the hit is a long message, add an excerpt: the chunk that matches the query.

    If a user's message contains a quotation, the excerpt is the message without the quotation, even if the message is short.
    A query for untrusted text keeps the quotation, and marks the hit as quoted.
    """
    message: Message | None = hit.message
    if message is None:
        return hit
    own = own_part(message, question)
    if own != message.text:
        if not question.outside:
            return replace(hit, excerpt=own[:_MAX_WHOLE_CHARACTERS])
        hit = replace(hit, is_quoted=True)
    if len(message.text) <= _MAX_WHOLE_CHARACTERS:
        return hit
    return replace(hit, excerpt=store.chunk_text(message.seq, found[message.seq].chunk, message.text).strip())
