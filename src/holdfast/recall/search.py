"""From a question to what is worth knowing: arms find candidates, one score ranks them.

Scope is part of every search, never a filter afterwards. A hit says which arms found it and at which rank.
"""

import heapq
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from holdfast.protocols import Match, MemoryFilter, MessageFilter, SearchFilter, Space, Store
from holdfast.recall.duplicates import without_duplicates
from holdfast.recall.embedding import Embedding
from holdfast.recall.query_vectors import QueryVectors, catch_up
from holdfast.recall.ranking import SHORT, Background, Place, in_company, in_time, likelihood, most_in_time, strength
from holdfast.text.clean import clean_query
from holdfast.text.periods import Period, periods_of
from holdfast.types import Hit, Memory, Message, Reason, Scope, Where

_DEPTH = 32
"""Candidates an arm gives at least."""
_COMPANY = 64
"""Messages an arm gives at least: what a conversation and its neighbours say of one counts, and they must have been found."""
_CATCH_UP = 64
"""Windows per model that a recall may embed of what is new in its scope. A count, not a time: an item without a vector is
judged by words alone, so a time limit would make scores depend on the load of the machine."""
_REMOTE_SECONDS = 0.4
"""Seconds after which a recall asks an embedder on a server for no further batch."""
_CANDIDATES = 32
"""Matches by words, per space, that are embedded before others if more than ``_CATCH_UP`` windows wait."""
_TIE = 5.0
"""Weight of age, importance and being pinned next to meaning and words: enough to decide between equals."""
_RECENCY = 0.02
"""Tie-break for an item of now; it decays with age."""
_RECENCY_DAYS = 30
"""Age at which the tie-break for recency has fallen to 1/e."""
_IMPORTANCE = 0.002
"""Tie-break per point of a memory's importance."""
_PINNED = 0.01
"""Tie-break for a pinned memory."""
_MESSAGE = 0.006
"""Tie-break for a message, which has no importance of its own."""
_CHAIN = 20
"""How many times over a fact may have been replaced for its latest value to be found."""
_TODAY = timedelta(days=1)
"""What was said up to a day after now is not the future: clocks and time zones differ."""
_MAX_TIE = 0.05
"""Upper bound of the sum of all tie-breaks."""
_SAID_THEN = 24
"""Messages that an arm gives of the days a question names."""
_SPARE = 5
"""Rows more than are wanted that are read at a time: some may not be shown, and some say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """What is asked, by whom, as seen from when."""

    text: str
    reader: Scope
    now: datetime
    limit: int = 10
    kinds: Collection[str] | None = None
    where: Where | None = None
    as_of: datetime | None = None
    min_score: float = 0.0
    without_session: str | None = None
    """A session whose messages the asker has before them already."""
    languages: tuple[str, ...] = ("en", "es")
    behind: Collection[str] = ()
    """Kinds that stand behind what they were made from, and are left out unless asked for."""
    with_sources: bool = False
    """Whether messages are wanted beside the memories made from them: the asker will leave them out."""
    periods: Sequence[Period] = ()
    """The stretches of time that the text names."""

    @property
    def spaces(self) -> tuple[Space, ...]:
        """Where to look: kinds and metadata are properties of memories alone."""
        memories: tuple[Space, ...] = ("memory", "archive") if self.as_of else ("memory",)
        if self.kinds is not None:
            wanted = set(self.kinds) - {"message"}
            return (*(memories if wanted else ()), *(("message",) if "message" in self.kinds else ()))
        return memories if self.where else (*memories, "message")

    @property
    def memory_kinds(self) -> Collection[str] | None:
        """The kinds of memory that are wanted, None for all."""
        return None if self.kinds is None else set(self.kinds) - {"message"}


class _Vote(NamedTuple):
    """An arm's opinion of an item. A ``Reason`` is made of it only for items that become hits, which are few."""

    arm: str
    rank: int
    score: float


@dataclass(slots=True)
class _Found:
    """What the arms say of one item."""

    window: int
    space: Space = "memory"
    similarity: float | None = None
    text: float = 0.0
    why: list[_Vote] = field(default_factory=list)
    """One vote per arm that found it."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """An item that was read, with all that orders it. The smaller is the better, as a heap wants it."""

    strength: float
    said: datetime
    owner: Memory | Message
    successor: Memory | None

    def __lt__(self, other: "_Ranked") -> bool:
        """By strength, not by score: two hits that are both nearly certain differ in it. Then the newer, then by id."""
        return self._order < other._order

    @property
    def _order(self) -> tuple[float, float, str]:
        return -self.strength, -self.said.timestamp(), self.owner.id


def recall(store: Store, embedding: Embedding, question: RecallQuery) -> list[Hit]:
    """Return the best hits, best first."""
    text = clean_query(question.text)
    question = replace(question, text=text, periods=periods_of(text, question.now))
    if not question.spaces or question.limit < 1:
        return []
    # Models take their time: what they are needed for comes first, and then all that is asked of the store, at once.
    catch_up(
        embedding,
        text,
        reader=question.reader,
        limit=_CATCH_UP,
        remote_seconds=_REMOTE_SECONDS,
        candidates=lambda: _matching_windows(store, question),
    )
    meaning = QueryVectors(store, embedding, text, reader=question.reader)
    with store.snapshot():
        return _answer(store, embedding, meaning, question)


def _matching_windows(store: Store, question: RecallQuery) -> list[tuple[int, int]]:
    """Return the windows that match by words: with a vector each, the hits that words find are scored as all others are."""
    return [
        (match.item, match.chunk)
        for where in _searched(question)
        for match in store.find_text(question.text, where, languages=question.languages, limit=_CANDIDATES)
    ]


def _answer(store: Store, embedding: Embedding, meaning: QueryVectors, question: RecallQuery) -> list[Hit]:
    found, places = _candidates(store, meaning, question)
    own = _strengths(embedding, question, found, words=meaning.besides)
    strong = in_company(own, places, question.text, periods=question.periods, answers=meaning.besides)
    background = _background(question, found, places, strong)
    hits = (hit for hit in _best_first(store, question, found, strong, background) if hit.score >= question.min_score)
    kept = without_duplicates(store, embedding, hits, question.limit)
    return [_with_excerpt(store, hit, found) for hit in kept]


def _background(
    question: RecallQuery, found: dict[int, _Found], places: dict[int, Place], strong: dict[int, float]
) -> Background:
    """Return what hits are judged against: all that was found, and not by the time at which it was said."""
    if not question.text.strip():  # the newest are listed, and none of them has to stand out
        return Background.of(())
    values = list(strong.values())
    if question.periods:
        values = [
            value - in_time(places[item].at, question.periods) if item in places else value for item, value in strong.items()
        ]
    return Background.of(sorted(values, reverse=True), words_alone=all(entry.similarity is None for entry in found.values()))


def _best_first(
    store: Store, question: RecallQuery, found: dict[int, _Found], strong: dict[int, float], background: Background
) -> Iterator[Hit]:
    """Yield what was found, best first, but no message that a memory was made from which was found as well.

    Reading rows costs more than finding them: they are read a few at a time.
    """
    ranked = sorted(found, key=strong.__getitem__, reverse=True)
    step = question.limit + _SPARE
    # A message's time has been counted; a memory's is known when it is read.
    timely = question.periods and any(entry.space != "message" for entry in found.values())
    max_gain = _TIE * _MAX_TIE + (most_in_time(question.periods) if timely else 0.0)
    read: list[_Ranked] = []
    sources: set[str] = set()
    for end in range(step, len(ranked) + step, step):
        some = ranked[end - step : end]
        for owner, successor in _hydrate(store, question, some):
            value, said = _value(owner, question, strong)
            heapq.heappush(read, _Ranked(value, said, owner, successor))
            if isinstance(owner, Memory) and owner.sources and likelihood(value, background) >= question.min_score:
                sources.update(owner.sources)
        reachable = strong[ranked[end]] + max_gain if end < len(ranked) else -math.inf
        while read and read[0].strength >= reachable:
            best = heapq.heappop(read)
            if isinstance(best.owner, Memory) or question.with_sources or best.owner.id not in sources:
                yield _hit(best.owner, best.successor, likelihood(best.strength, background), found)


def _candidates(store: Store, meaning: QueryVectors, question: RecallQuery) -> tuple[dict[int, _Found], dict[int, Place]]:
    """Return what the arms find, without what had not been said yet at the time of asking; deeper, where that is most of it."""
    latest = question.now + _TODAY
    depth = max(_DEPTH, 3 * question.limit) * (3 if question.periods else 1)
    for enough in (depth, 4 * depth):
        found = _search(store, meaning, question, enough)
        places = _places(store, found)
        later = [seq for seq, place in places.items() if place.at is not None and place.at > latest]
        for seq in later:
            del found[seq], places[seq]
        if len(later) <= len(places):
            break
    return found, places


def _search(store: Store, meaning: QueryVectors, question: RecallQuery, depth: int) -> dict[int, _Found]:
    """Ask every arm, space by space: messages, being many, must not crowd out memories."""
    found: dict[int, _Found] = {}
    for where in _searched(question):
        memories = "message" not in where.spaces
        limit = depth if memories else max(depth, _COMPANY)
        _collect(found, "meaning", meaning.nearest(where, limit=limit))
        _collect(found, "text", store.find_text(question.text, where, languages=question.languages, limit=limit))
        days = [(period.start, period.end) for period in question.periods if period.alone or period.end - period.start < SHORT]
        if days and not memories:
            _add_said_then(store, meaning, question, replace(where, said=days), found)
    _add_recent(store, question, found)
    return found


def _searched(question: RecallQuery) -> Iterator[SearchFilter]:
    """Yield what each arm searches: memories, then messages."""
    memories = tuple(space for space in question.spaces if space != "message")
    messages: tuple[Space, ...] = ("message",)
    if memories:
        yield SearchFilter(
            reader=question.reader,
            spaces=memories,
            without_session=question.without_session,
            kinds=question.memory_kinds,
            where=question.where,
        )
    if "message" in question.spaces:
        yield SearchFilter(reader=question.reader, spaces=messages, without_session=question.without_session)


def _collect(found: dict[int, _Found], arm: str, matches: Sequence[Match]) -> None:
    for rank, match in enumerate(matches, 1):
        item, window, score, space = match
        entry = found.get(item)
        if entry is None:
            entry = found[item] = _Found(window, space)
        entry.why.append(_Vote(arm, rank, score))
        if arm == "meaning":
            entry.similarity, entry.window = score, window
        else:
            entry.text = score


def _add_said_then(
    store: Store, meaning: QueryVectors, question: RecallQuery, where: SearchFilter, found: dict[int, _Found]
) -> None:
    """Let in the best of what was said in the days that a question names, and the newest where it names nothing else."""
    if any(period.alone for period in question.periods):
        wanted = MessageFilter(reader=question.reader, said=where.said, newest=_SAID_THEN)
        for rank, message in enumerate(reversed(store.messages(wanted)), 1):
            found.setdefault(message.seq, _Found(0, "message")).why.append(_Vote("time", rank, 1 / rank))
        return
    for arm, matches in (
        ("meaning", meaning.nearest(where, limit=_SAID_THEN)),
        ("text", store.find_text(question.text, where, languages=question.languages, limit=_SAID_THEN)),
    ):
        known = {item for item, entry in found.items() if any(vote.arm == arm for vote in entry.why)}
        _collect(found, arm, [match for match in matches if match.item not in known])


def _add_recent(store: Store, question: RecallQuery, found: dict[int, _Found]) -> None:
    """Let pinned memories in, and where nothing at all was asked, the newest."""
    if question.as_of is not None or question.spaces == ("message",):
        return
    for arm, pinned in (("pinned", True), ("recent", None)):
        if arm == "recent" and question.text.strip():
            continue
        wanted = MemoryFilter(
            reader=question.reader,
            kinds=question.memory_kinds,
            where=question.where,
            unexpired_at=question.now,
            pinned=pinned,
            limit=question.limit,
        )
        for rank, memory in enumerate(store.memories(wanted), 1):
            entry = found.setdefault(memory.item, _Found(0))
            entry.why.append(_Vote(arm, rank, 1 / rank))


def _hydrate(store: Store, question: RecallQuery, found: Sequence[int]) -> list[tuple[Memory | Message, Memory | None]]:
    """Read what was found, leaving out what may not be shown; a message comes with what has replaced it."""
    wanted = MemoryFilter(items=found, unexpired_at=question.now)
    if question.as_of is not None:
        wanted = MemoryFilter(items=found, as_of=question.as_of, statuses=("live", "superseded", "expired"))
    owners: list[tuple[Memory | Message, Memory | None]] = [
        (memory, None)
        for memory in store.memories(wanted)
        if question.reader.sees(memory.scope) and memory.kind not in question.behind
    ]
    if "message" in question.spaces and len(owners) < len(found):
        owners.extend(_messages(store, question, found))
    return owners


def _messages(store: Store, question: RecallQuery, found: Sequence[int]) -> list[tuple[Message, Memory | None]]:
    """Read the messages found: not those of the present session, noise, or what was forgotten since."""
    messages = [
        message
        for message in store.messages(MessageFilter(seqs=found, before=question.as_of))
        if message.session != question.without_session and message.action is None and question.reader.sees(message.scope)
    ]
    if not messages:
        return []
    gone, successors = _fates(store, question.reader, [message.id for message in messages])
    return [(message, successors.get(message.id)) for message in messages if message.id not in gone]


def _fates(store: Store, reader: Scope, messages: Collection[str]) -> tuple[set[str], dict[str, Memory]]:
    """Return the messages whose memory was forgotten, and what replaced those whose memory was superseded."""
    made = store.memories(MemoryFilter(reader=reader, sources=messages, statuses=("forgotten", "superseded")))
    gone = {source for memory in made if memory.status == "forgotten" for source in memory.sources}
    latest = {source: memory for memory in made if memory.status == "superseded" for source in memory.sources}
    for _ in range(_CHAIN):
        wanted = {memory.replaced_by for memory in latest.values() if memory.status == "superseded" and memory.replaced_by}
        if not wanted:
            break
        newer = {memory.id: memory for memory in store.memories(MemoryFilter(reader=reader, ids=list(wanted), statuses=None))}
        latest = {source: newer.get(memory.replaced_by or "", memory) for source, memory in latest.items()}
        if not newer:
            break
    return gone, {source: memory for source, memory in latest.items() if memory.status == "live"}


def _strengths(embedding: Embedding, question: RecallQuery, found: dict[int, _Found], *, words: float) -> dict[int, float]:
    """Return how strongly the arms speak for each item; ``words`` is the share of their usual weight that words have."""
    if not question.text.strip():
        return dict.fromkeys(found, 0.0)
    embedder = embedding.embedder()
    seen = [entry.similarity for entry in found.values() if entry.similarity is not None]
    # What only words have found is farther in meaning than all that meaning has found.
    farthest = min(seen, default=None)
    calibration = embedder.calibration if embedder and seen else None
    return {
        item: strength(farthest if entry.similarity is None else entry.similarity, words * entry.text, calibration)
        for item, entry in found.items()
    }


def _places(store: Store, found: dict[int, _Found]) -> dict[int, Place]:
    """Return where the messages among what was found stand."""
    wanted = [item for item, entry in found.items() if entry.space == "message"]
    found_at = store.places(wanted) if wanted else []
    return {seq: Place(session=session, role=role, speaker=speaker, at=at) for seq, session, role, speaker, at in found_at}


def _value(owner: Memory | Message, question: RecallQuery, strong: dict[int, float]) -> tuple[float, datetime]:
    """Return the strength of what was read, and when it was said; age and importance decide between equals."""
    if isinstance(owner, Memory):
        said, item = owner.valid_from, owner.item
        own, timely = _IMPORTANCE * owner.importance + _PINNED * owner.pinned, in_time(said, question.periods)
    else:
        said, item = owner.at, owner.seq
        own, timely = _MESSAGE, 0.0  # its time has been counted among its company
    age_days = max((question.now - said).total_seconds() / 86400, 0.0)
    recency = _RECENCY * math.exp(-age_days / _RECENCY_DAYS)
    return strong[item] + _TIE * (recency + own) + timely, said


def _hit(owner: Memory | Message, successor: Memory | None, score: float, found: dict[int, _Found]) -> Hit:
    """Make a hit of what was found, with the reasons."""
    memory, message = (owner, None) if isinstance(owner, Memory) else (None, owner)
    entry = found[owner.item if isinstance(owner, Memory) else owner.seq]
    return Hit(
        memory=memory,
        message=message,
        score=round(score, 4),
        similarity=entry.similarity,
        why=tuple([Reason(arm=vote.arm, rank=vote.rank, score=vote.score) for vote in entry.why]),
        successor=successor,
    )


def _with_excerpt(store: Store, hit: Hit, found: dict[int, _Found]) -> Hit:
    """Show of a long message the window that was found."""
    message: Message | None = hit.message
    if message is None or len(message.text) <= 1600:
        return hit
    return replace(hit, excerpt=store.chunk_text(message.seq, found[message.seq].window, message.text).strip())
