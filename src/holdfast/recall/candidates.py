"""The retrieval methods ("arms") of a search: they find candidates among memories and messages.

Every arm searches only items that the scope may see, so the results need no filtering by scope.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import NamedTuple

from holdfast.protocols import Match, MemoryFilter, MessageFilter, MessagePlace, SearchFilter, Space, Store
from holdfast.recall.query import RecallQuery
from holdfast.recall.query_vector import QueryVector
from holdfast.recall.ranking import SHORT_PERIOD
from holdfast.recall.relevance.stored_asks import asks
from holdfast.recall.traces.search_log import current_log, current_run
from holdfast.text.dialogue_acts import is_about_assistant_asking
from holdfast.types import TRUST

_MIN_CANDIDATES = 32
"""Minimum number of candidates to request from each arm (retrieval method)."""
_MIN_MESSAGES = 64
"""Minimum number of messages to request from each arm (retrieval method).

It is larger than the minimum for memories, because a message can gain strength from its session and its neighbors.
"""
_MAX_PERIOD_MESSAGES = 24
"""Maximum number of messages that each arm (retrieval method) adds from the period of time that the question names."""
_MAX_PERIOD_QUESTIONS = 96
"""Maximum number of messages to read for a query such as "what did I ask you yesterday?".

Of these messages, only those that ask something are kept.
"""
_DEPTHS = (1, 4, 16)
"""Factors that multiply the number of candidates per arm.

The first search uses the first factor. If more than half of the found messages must be left out, the search runs again with
the next factor.
"""
_CLOCK_TOLERANCE = timedelta(days=1)
"""Time by which a message may be dated later than ``now`` and still be found. Clocks and time zones may differ."""
_MAX_WORD_MATCHES = 32
"""Maximum number of chunks that are embedded first because they share words with the query.

The maximum applies to memories and to messages separately.
"""


class Vote(NamedTuple):
    """Rank and score of an item in one arm (retrieval method). A hit's votes are converted to ``Reason`` objects."""

    arm: str
    rank: int
    score: float


@dataclass(slots=True)
class Found:
    """An item that was found, with its scores in each arm (retrieval method)."""

    chunk: int
    space: Space = "memory"
    similarity: float | None = None
    text: float = 0.0
    why: list[Vote] = field(default_factory=list)
    """One vote per arm (retrieval method) that found the item."""


def find_candidates(store: Store, vector: QueryVector, question: RecallQuery) -> tuple[dict[int, Found], dict[int, MessagePlace]]:
    """Return two mappings: the candidates by item number, and the places of the messages among them by item number.

    A place is the session, role, speaker and time of a message. A query searches either trusted or untrusted text. Messages
    of the other type are removed from the candidates, and so are messages dated after ``now``. If more messages are removed
    than stay, the search is repeated with more candidates. Otherwise many web pages with matching words could displace the
    user's own messages.
    """
    latest = question.now + _CLOCK_TOLERANCE
    log, run = current_log(), current_run()
    depth = max(_MIN_CANDIDATES, 3 * question.limit) * (3 if question.periods else 1) * (log.depth if log else 1)
    for factor in _DEPTHS:
        found = _search(store, vector, question, factor * depth)
        places = _places(store, found)
        left_out = [seq for seq, place in places.items() if place.at > latest or not _may_be_admitted(place, question)]
        if run is not None:
            run.dropped = {seq: "future" if places[seq].at > latest else "origin" for seq in left_out}
            run.left_out = {seq: found[seq] for seq in left_out}
        for seq in left_out:
            del found[seq], places[seq]
        if len(left_out) <= len(places):
            break
    if question.lists_questions:
        _keep_questions(question, found, places)
    return found, places


def _keep_questions(question: RecallQuery, found: dict[int, Found], places: dict[int, MessagePlace]) -> None:
    """Keep only the candidates that are messages and ask something. Drop all other candidates.

    If the query is about questions of the assistant, only messages of the assistant are kept. If not, only messages of the
    user are kept. Messages that name their speaker are kept in both cases.
    """
    role, run = "assistant" if is_about_assistant_asking(question.text) else "user", current_run()
    kept = {seq for seq, place in places.items() if (place.speaker or place.role == role) and asks(place)}
    for item in found.keys() - kept:
        if run is not None:
            run.dropped[item], run.left_out[item] = "floor", found[item]
        del found[item]
        places.pop(item, None)


def _may_be_admitted(place: MessagePlace, question: RecallQuery) -> bool:
    """Return False if the origin of a message already shows that the message cannot be a hit of the query.

    A query searches either trusted or untrusted text. The origin of a message decides whether its text is trusted. There is
    one exception: a query for untrusted text also accepts the user's messages, because they may contain quotations.
    Quotations are untrusted. They are looked for later, when the text is read.
    """
    return question.admits(TRUST[place.origin]) or (question.outside and place.origin == "user")


def _search(store: Store, vector: QueryVector, question: RecallQuery, depth: int) -> dict[int, Found]:
    """Return the items that the arms (retrieval methods) find, by item number.

    Memories and messages are searched separately, so that messages do not displace memories. ``depth`` is the number of items
    to request from each arm. For messages, at least ``_MIN_MESSAGES`` items are requested.

    If the query names a short period, or only a period, messages of this period are added. Pinned memories are added, too. If
    the query is empty, the newest memories are also added. A query for an earlier time, or for messages only, gets no pinned
    and no newest memories.
    """
    found: dict[int, Found] = {}
    short = [period for period in question.periods if period.alone or period.end - period.start < SHORT_PERIOD]
    for where in _search_filters(question):
        in_messages = "message" in where.spaces
        limit = max(depth, _MIN_MESSAGES) if in_messages else depth
        _collect(found, "meaning", vector.nearest(where, limit=limit))
        _collect(found, "text", store.find_text(question.text, where, languages=question.languages, limit=limit))
        if short and in_messages:
            ranges = [(period.start, period.end) for period in short]
            _add_period_messages(store, vector, question, replace(where, said=ranges), found)
    _add_pinned_and_recent(store, question, found)
    return found


def _search_filters(question: RecallQuery) -> Iterator[SearchFilter]:
    """Yield the filter for the search of memories, then the filter for the search of messages."""
    memories = tuple(space for space in question.spaces if space != "message")
    messages: tuple[Space, ...] = ("message",)
    if memories:
        yield SearchFilter(
            reader=question.reader,
            spaces=memories,
            without_session=question.without_session,
            kinds=question.memory_kinds,
            where=question.where,
            namespace=question.namespace,
            namespace_prefix=question.namespace_prefix,
        )
    if "message" in question.spaces:
        yield SearchFilter(reader=question.reader, spaces=messages, without_session=question.without_session)


def _collect(found: dict[int, Found], arm: str, matches: Sequence[Match]) -> None:
    for rank, match in enumerate(matches, 1):
        item, chunk, score, space = match
        entry = found.get(item)
        if entry is None:
            entry = found[item] = Found(chunk, space)
        entry.why.append(Vote(arm, rank, score))
        if arm == "meaning":
            entry.similarity, entry.chunk = score, chunk
        else:
            entry.text = score


def _add_period_messages(
    store: Store, vector: QueryVector, question: RecallQuery, where: SearchFilter, found: dict[int, Found]
) -> None:
    """Add to ``found`` messages from the periods of time that the question names. ``where`` selects the messages of the periods.

    If the question names only a period, the newest messages of the period are added. Otherwise, the messages that match the
    question best are added.
    """
    if any(period.alone for period in question.periods):
        number = _MAX_PERIOD_QUESTIONS if question.lists_questions else _MAX_PERIOD_MESSAGES
        wanted = MessageFilter(reader=question.reader, said=where.said, newest=number)
        for rank, message in enumerate(reversed(store.messages(wanted)), 1):
            found.setdefault(message.seq, Found(chunk=0, space="message")).why.append(Vote("time", rank, 1 / rank))
        return
    for arm, matches in (
        ("meaning", vector.nearest(where, limit=_MAX_PERIOD_MESSAGES)),
        ("text", store.find_text(question.text, where, languages=question.languages, limit=_MAX_PERIOD_MESSAGES)),
    ):
        known = {item for item, entry in found.items() if any(vote.arm == arm for vote in entry.why)}
        _collect(found, arm, [match for match in matches if match.item not in known])


def _add_pinned_and_recent(store: Store, question: RecallQuery, found: dict[int, Found]) -> None:
    """Add pinned memories to ``found``. If the query is empty, also add the newest memories.

    At most ``question.limit`` memories of each group are added. Nothing is added if the query is about an earlier time
    (``as_of``), or searches only messages.
    """
    if question.as_of is not None or question.spaces == ("message",):
        return
    for arm, pinned in (("pinned", True), ("recent", None)):
        if arm == "recent" and not question.is_empty:
            continue
        wanted = MemoryFilter(
            reader=question.reader,
            kinds=question.memory_kinds,
            where=question.where,
            namespace=question.namespace,
            namespace_prefix=question.namespace_prefix,
            unexpired_at=question.now,
            pinned=pinned,
            limit=question.limit,
        )
        for rank, memory in enumerate(store.memories(wanted), 1):
            entry = found.setdefault(memory.item, Found(chunk=0))
            entry.why.append(Vote(arm, rank, 1 / rank))


def find_matching_chunks(store: Store, question: RecallQuery) -> list[tuple[int, int]]:
    """Return the chunks that share words with the question, as pairs: the number of the item, and the number of the chunk in it.

    These chunks are embedded before other chunks, because they are likely hits and their scores should include the cosine.
    """
    return [
        (match.item, match.chunk)
        for where in _search_filters(question)
        for match in store.find_text(question.text, where, languages=question.languages, limit=_MAX_WORD_MATCHES)
    ]


def _places(store: Store, found: dict[int, Found]) -> dict[int, MessagePlace]:
    """Return the place (session, role, speaker and time) of each message among the candidates, by item number."""
    messages = [item for item, entry in found.items() if entry.space == "message"]
    rows = store.places(messages) if messages else []
    return {place.seq: place for place in rows}
