"""From a question to what is worth knowing: arms find candidates, one score ranks them.

Scope is part of every search, never a filter afterwards. A hit says which arms found it and at which rank.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.embedding import Embedding
from holdfast.protocols import Candidates, Match, MemoryFilter, MessageFilter, Space, Store
from holdfast.ranking import Place, in_company, likelihood, strength
from holdfast.text.clean import clean_query, fold
from holdfast.types import Hit, Memory, Message, Reason, Scope, Where

_DEPTH = 32
"""Candidates an arm gives at least."""
_CATCH_UP = (64, 0.4)
"""Windows, and seconds, that a recall may spend on embedding what is new in its scope."""
_TIE = 5.0
"""What age, importance and being pinned are worth beside meaning and words."""
_CHAIN = 20
"""How many times over a fact may have been replaced for its latest value to be found."""
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
    question = replace(question, text=clean_query(question.text))
    if not question.spaces or question.limit < 1:
        return []
    embedding.catch_up(reader=question.reader, limit=_CATCH_UP[0], seconds=_CATCH_UP[1])
    found = _search(store, embedding, question)
    strong = in_company(_strengths(embedding, question, found), _places(store, found), question.text)
    hits: list[tuple[float, Hit]] = []
    # Reading rows costs more than finding them: only the strongest are read, more if some may not be shown.
    ranked = sorted(found, key=lambda item: -strong[item])
    step = 2 * question.limit + 10
    for start in range(0, len(ranked), step):
        some = {item: found[item] for item in ranked[start : start + step]}
        hits += [_hit(owner, successor, question, some, strong) for owner, successor in _hydrate(store, question, some)]
        if len(hits) >= question.limit + 5:
            break
    # By strength, not by score: two that are both all but certain differ in it.
    hits.sort(key=lambda pair: (-pair[0], -pair[1].at.timestamp(), pair[1].id))
    kept = _without_repeats(store, embedding, [hit for _, hit in hits if hit.score >= question.min_score], question.limit)
    return [_with_excerpt(store, hit, found) for hit in kept]


def _search(store: Store, embedding: Embedding, question: Question) -> dict[int, _Found]:
    """Ask every arm, space by space: messages, being many, must not crowd out memories."""
    found: dict[int, _Found] = {}
    depth = max(_DEPTH, 2 * question.limit)
    vector = embedding.query(question.text)
    for spaces in (tuple(s for s in question.spaces if s != "message"), tuple(s for s in question.spaces if s == "message")):
        if not spaces:
            continue
        where = Candidates(reader=question.reader, spaces=spaces, without_session=question.without_session)
        if "message" not in spaces:
            where = replace(where, kinds=question.memory_kinds, where=question.where)
        if vector is not None:
            _collect(found, "meaning", store.find_vectors(embedding.name or "", vector, where, limit=depth))
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


def _strengths(embedding: Embedding, question: Question, found: dict[int, _Found]) -> dict[int, float]:
    """Return how strongly the arms speak for each item."""
    if not question.text.strip():
        return dict.fromkeys(found, 0.0)
    embedder = embedding.embedder()
    seen = [entry.similarity for entry in found.values() if entry.similarity is not None]
    # What only words have found is farther in meaning than all that meaning has found.
    farthest = min(seen, default=None)
    calibration = embedder.calibration if embedder and seen else None
    return {
        item: strength(farthest if entry.similarity is None else entry.similarity, entry.text, calibration)
        for item, entry in found.items()
    }


def _places(store: Store, found: dict[int, _Found]) -> dict[int, Place]:
    """Return where the messages among what was found stand."""
    wanted = [item for item, entry in found.items() if entry.space == "message"]
    found_at = store.places(wanted) if wanted else []
    return {seq: Place(session=session, role=role, speaker=speaker) for seq, session, role, speaker in found_at}


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
    value = strong[item] + _TIE * tie
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
    cosines = store.similarities(embedding.name, items) if embedding.name and embedding.embedder() else None
    kept: list[int] = []
    said: set[str] = set()
    sources = {source for hit in shortlist if hit.memory for source in hit.memory.sources}
    for place, hit in enumerate(shortlist):
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
    """Numbers and negations make near-identical sentences differ: only like with like is a repeat."""

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
