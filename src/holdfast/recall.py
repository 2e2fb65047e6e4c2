"""From a question to what is worth knowing: arms find candidates, one score ranks them.

Scope is part of every search, never a filter afterwards. A hit says which arms found it and at which rank.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from holdfast.embedding import Embedding
from holdfast.meaning import Meaning, catch_up
from holdfast.protocols import Candidates, Match, MemoryFilter, MessageFilter, Space, Store
from holdfast.ranking import Place, in_company, in_time, likelihood, strength
from holdfast.text.clean import clean_query, fold
from holdfast.text.periods import Period, periods_of
from holdfast.types import Hit, Memory, Message, Reason, Scope, Where

_DEPTH = 32
"""Candidates an arm gives at least."""
_CATCH_UP = (64, 0.4)
"""Windows, and seconds, that a recall may spend on embedding what is new in its scope."""
_TIE = 5.0
"""What age, importance and being pinned are worth beside meaning and words."""
_CHAIN = 20
"""How many times over a fact may have been replaced for its latest value to be found."""
_TODAY = timedelta(days=1)
"""What was said up to a day after now is not the future: clocks and time zones differ."""
_SPARE = 5
"""Hits more than are wanted that are compared with each other at first."""
_SAME = 0.96
"""Two hits with a cosine above this say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
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


@dataclass(slots=True)
class _Found:
    """What the arms say of one item."""

    window: int
    space: Space = "memory"
    similarity: float | None = None
    text: float = 0.0
    why: list[Reason] = field(default_factory=list)


def recall(store: Store, embedding: Embedding, question: Question) -> list[Hit]:
    """Return the best hits, best first."""
    text = clean_query(question.text)
    question = replace(question, text=text, periods=periods_of(text, question.now))
    if not question.spaces or question.limit < 1:
        return []
    catch_up(embedding, question.text, reader=question.reader, limit=_CATCH_UP[0], seconds=_CATCH_UP[1])
    meaning = Meaning(store, embedding, text, reader=question.reader)
    found, places = _candidates(store, meaning, question)
    own = _strengths(embedding, question, found, words=meaning.besides)
    strong = in_company(own, places, text, periods=question.periods, answers=meaning.besides)
    hits: list[tuple[float, Hit]] = []
    # Reading rows costs more than finding them: only the strongest are read, more if some may not be shown.
    ranked = sorted(found, key=lambda item: -strong[item])
    step = 2 * question.limit + 10
    for start in range(0, len(ranked), step):
        some = {item: found[item] for item in ranked[start : start + step]}
        owners = _hydrate(store, question, some)
        hits += [_hit(owner, successor, question, some, strong) for owner, successor in owners]
        if len(hits) >= question.limit + 5:
            break
    # By strength, not by score: two that are both all but certain differ in it.
    hits.sort(key=lambda pair: (-pair[0], -pair[1].at.timestamp(), pair[1].id))
    kept = _without_repeats(store, embedding, [hit for _, hit in hits if hit.score >= question.min_score], question.limit)
    return [_with_excerpt(store, hit, found) for hit in kept]


def _candidates(store: Store, meaning: Meaning, question: Question) -> tuple[dict[int, _Found], dict[int, Place]]:
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


def _search(store: Store, meaning: Meaning, question: Question, depth: int) -> dict[int, _Found]:
    """Ask every arm, space by space: messages, being many, must not crowd out memories."""
    found: dict[int, _Found] = {}
    for spaces in (tuple(s for s in question.spaces if s != "message"), tuple(s for s in question.spaces if s == "message")):
        if not spaces:
            continue
        where = Candidates(reader=question.reader, spaces=spaces, without_session=question.without_session)
        if "message" not in spaces:
            where = replace(where, kinds=question.memory_kinds, where=question.where)
        _collect(found, "meaning", meaning.nearest(where, limit=depth))
        _collect(found, "text", store.find_text(question.text, where, languages=question.languages, limit=depth))
    _add_recent(store, question, found)
    return found


def _collect(found: dict[int, _Found], arm: str, matches: Sequence[Match]) -> None:
    for rank, match in enumerate(matches, 1):
        entry = found.setdefault(match.item, _Found(match.window, match.space))
        entry.why.append(Reason(arm=arm, rank=rank, score=match.score))
        if arm == "meaning":
            entry.similarity, entry.window = match.score, match.window
        else:
            entry.text = match.score


def _add_recent(store: Store, question: Question, found: dict[int, _Found]) -> None:
    """Let pinned memories in, and where nothing at all was asked, the newest."""
    wanted = MemoryFilter(reader=question.reader, kinds=question.memory_kinds, where=question.where, unexpired_at=question.now)
    if question.as_of is not None or question.spaces == ("message",):
        return
    arms = [("pinned", replace(wanted, pinned=True, limit=question.limit))]
    if not question.text.strip():
        arms.append(("recent", replace(wanted, limit=question.limit)))
    for arm, chosen in arms:
        for rank, memory in enumerate(store.memories(chosen), 1):
            entry = found.setdefault(memory.item, _Found(0))
            entry.why.append(Reason(arm=arm, rank=rank, score=1 / rank))


def _hydrate(store: Store, question: Question, found: dict[int, _Found]) -> list[tuple[Memory | Message, Memory | None]]:
    """Read what was found, leaving out what may not be shown; a message comes with what has replaced it."""
    wanted = MemoryFilter(items=list(found), unexpired_at=question.now)
    if question.as_of is not None:
        wanted = MemoryFilter(items=list(found), as_of=question.as_of, statuses=("live", "superseded", "expired"))
    owners: list[tuple[Memory | Message, Memory | None]] = [
        (memory, None)
        for memory in store.memories(wanted)
        if question.reader.sees(memory.scope) and memory.kind not in question.behind
    ]
    if "message" in question.spaces and len(owners) < len(found):
        owners.extend(_messages(store, question, found))
    return owners


def _messages(store: Store, question: Question, found: dict[int, _Found]) -> list[tuple[Message, Memory | None]]:
    """Read the messages found: not those of the present session, noise, or what was forgotten since."""
    messages = [
        message
        for message in store.messages(MessageFilter(seqs=list(found), before=question.as_of))
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


def _strengths(embedding: Embedding, question: Question, found: dict[int, _Found], *, words: float) -> dict[int, float]:
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


def _hit(
    owner: Memory | Message, successor: Memory | None, question: Question, found: dict[int, _Found], strong: dict[int, float]
) -> tuple[float, Hit]:
    """Make a hit of what was found, with its strength; age and importance decide between equals."""
    memory = owner if isinstance(owner, Memory) else None
    message = owner if isinstance(owner, Message) else None
    item = memory.item if memory else message.seq if message else 0
    said = memory.valid_from if memory else owner.at  # type: ignore[union-attr]
    age = max((question.now - said).total_seconds() / 86400, 0.0)
    tie = 0.02 * math.exp(-age / 30) + (0.002 * memory.importance + 0.01 * memory.pinned if memory else 0.006)
    value = strong[item] + _TIE * tie + (in_time(said, question.periods) if memory else 0.0)
    hit = Hit(
        memory=memory,
        message=message,
        score=round(likelihood(value), 4),
        similarity=found[item].similarity,
        why=tuple(found[item].why),
        successor=successor,
    )
    return value, hit


def _without_repeats(store: Store, embedding: Embedding, hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Drop hits that say what a better one said: the same words, the same meaning, or its own source."""
    shortlist = list(hits[: 3 * limit])
    items = [_item(hit) for hit in shortlist]
    name = embedding.name if embedding.name and embedding.embedder() else None
    compared = min(limit + _SPARE, len(items))
    cosines = store.similarities(name, items[:compared]) if name else None
    kept: list[int] = []
    said: set[str] = set()
    sources = {source for hit in shortlist if hit.memory for source in hit.memory.sources}
    for place, hit in enumerate(shortlist):
        if place == compared and name:  # so many repeats are rare: only then is all the rest compared, too
            cosines = store.similarities(name, items)
        folded = fold(hit.text[:2000])
        repeats = folded in said or (hit.message is not None and hit.id in sources)
        if not repeats and cosines is not None and len(folded) < 1000:
            repeats = any(cosines[place][other] > _SAME and _alike(hit, shortlist[other]) for other in kept)
        if not repeats:
            kept.append(place)
            said.add(folded)
            if len(kept) == limit:
                break
    return [shortlist[place] for place in kept]


def _alike(one: Hit, other: Hit) -> bool:
    """Numbers and negations make near-identical sentences differ: only like with like is a repeat.

    What was said twice in nearly the same words, in two conversations, is evidence of both.
    """
    if one.message is not None and other.message is not None and one.message.session != other.message.session:
        return False

    def marks(hit: Hit) -> frozenset[str]:
        words = fold(hit.text).split()
        return frozenset(w for w in words if any(c.isdigit() for c in w) or w in {"not", "no", "never", "nunca"})

    return marks(one) == marks(other) and one.kind == other.kind


def _item(hit: Hit) -> int:
    return hit.memory.item if hit.memory else hit.message.seq if hit.message else 0


def _with_excerpt(store: Store, hit: Hit, found: dict[int, _Found]) -> Hit:
    """Show of a long message the window that was found."""
    message: Message | None = hit.message
    if message is None or len(message.text) <= 1600:
        return hit
    return replace(hit, excerpt=store.window_text(message.seq, found[message.seq].window, message.text).strip())
