"""Compose a trace from the notes of the searches for a context block. This reads rows, so it runs in the background."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.protocols import MemoryFilter, MessageFilter, Reads
from holdfast.recall.hydration import memory_obstacle, message_obstacle
from holdfast.recall.query import RecallQuery
from holdfast.recall.traces.search_log import FoundItem, SearchLog, SearchRun
from holdfast.text.clean import clean_query
from holdfast.text.secrets.redact import redact
from holdfast.types import Context, Hit, Memory, Message, Outcome, Reason, Scope, Trace, TracedCandidate

MAX_CANDIDATES = 60
"""Maximum number of candidates that a stored trace lists. A recall finds up to a few hundred."""
_MAX_QUESTION_CHARACTERS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedContext:
    """A context block that was returned, with the log of its searches. The trace of the block is composed from this object."""

    id: str
    scope: Scope
    at: datetime
    query: str
    block: Context
    log: SearchLog
    max_tokens: int
    milliseconds: float
    session: str | None = None
    message: str | None = None
    """Id of the message that was the query, if it is known."""
    preset: str = ""
    embedder: str | None = None
    erasures: str | None = None
    """The store's counter of erasures before the searches. If it has changed since, the notes may contain erased data."""


def compose(reads: Reads, noted: NotedContext, *, max_candidates: int | None = MAX_CANDIDATES) -> Trace:
    """Return the trace of a context block."""
    runs, log = noted.log.runs, noted.log
    found = {item: entry for run in runs for item, entry in (*run.left_out.items(), *run.found.items())}
    return Trace(
        id=noted.id,
        scope=replace(noted.scope, also_apps=()),
        at=noted.at,
        question=redact(clean_query(noted.query)[:_MAX_QUESTION_CHARACTERS]).text,
        session=noted.session,
        message=noted.message,
        tokens=noted.block.tokens,
        max_tokens=noted.max_tokens,
        milliseconds=round(noted.milliseconds, 2),
        steps={name: round(value, 2) for name, value in log.steps.items()},
        arms=dict(Counter(vote.arm for entry in found.values() for vote in entry.why)),
        found=len(found),
        floor=next((run.floor for run in runs if run.floor is not None), None),
        preset=noted.preset,
        embedder=noted.embedder,
        notices=noted.block.notices,
        candidates=tuple(_candidates(reads, noted, max_candidates)),
    )


def _candidates(reads: Reads, noted: NotedContext, max_candidates: int | None) -> Iterator[TracedCandidate]:
    """Yield the candidates of a context block with their outcomes.

    First come memories that are in the block without a search, such as pinned memories. Then come the hits of the searches by
    rank, and finally the found items that did not become hits.
    """
    block, log = noted.block, noted.log
    final = {hit.id: hit for hit in (*block.hits, *block.left_out)}
    shown = {hit.id for hit in block.hits}
    duplicates = {id: other for run in log.runs for id, other in run.duplicates.items()}
    ordered = _ranked(log)
    strengths = {item: value for run in log.runs for item, value in run.strengths.items()}
    for hit in final.values():
        if hit.id not in ordered:
            yield _from_hit(hit, "shown" if hit.id in shown else log.excluded.get(hit.id, "limit"), rank=None)
    for rank, hit in enumerate(ordered.values(), 1):
        outcome: Outcome = "shown" if hit.id in shown else log.excluded.get(hit.id) or (
            "duplicate" if hit.id in duplicates else "limit"
        )  # fmt: skip
        repeats = duplicates.get(hit.id) if outcome == "duplicate" else None
        own = final.get(hit.id, hit)
        yield replace(_from_hit(own, outcome, rank=rank), repeats=repeats, strength=_rounded(strengths.get(_item(hit))))
    room = None if max_candidates is None else max(max_candidates - len(ordered), 0)
    yield from _without_rows(reads, log, {_item(hit) for hit in ordered.values()}, rank=len(ordered), limit=room)


def _ranked(log: SearchLog) -> dict[str, Hit]:
    """Return the ranked hits, with their ids as keys: first the hits that the recall returned, then the hits that it dropped."""
    ranked: dict[str, Hit] = {}
    for hit in (*log.best, *(hit for run in log.runs for hit in run.ranked)):
        ranked.setdefault(hit.id, hit)
    return ranked


def _from_hit(hit: Hit, outcome: Outcome, *, rank: int | None) -> TracedCandidate:
    return TracedCandidate(
        id=hit.id,
        kind=hit.kind,
        outcome=outcome,
        rank=rank,
        score=None if rank is None else round(hit.score, 4),
        margin=None if rank is None else round(hit.margin, 4),
        similarity=_rounded(hit.similarity),
        why=hit.why,
        revision=hit.memory.revision if hit.memory else None,
    )


def _without_rows(reads: Reads, log: SearchLog, known: set[int], *, rank: int, limit: int | None) -> Iterator[TracedCandidate]:
    """Yield the found items that did not become hits, strongest first, and at most ``limit``.

    There are two types of these items. Some would have become hits if the limit of the search had been higher. They get the
    ranks after ``rank``, the rank of the last hit. Other items were left out for another reason and get no rank. For example,
    the recall is not allowed to use them. ``known`` contains the numbers of the items that became hits.
    """
    items: dict[int, tuple[SearchRun, FoundItem]] = {}
    for run in log.runs:
        for item, entry in (*run.found.items(), *run.left_out.items()):
            if item not in known:
                items.setdefault(item, (run, entry))
    chosen = sorted(items, key=lambda item: -items[item][0].strengths.get(item, float("-inf")))[:limit]
    rows = _read(reads, chosen)
    for item in chosen:
        run, entry = items[item]
        row = rows.get(item)
        if row is None:  # removed since
            continue
        outcome = run.dropped.get(item) or (_obstacle(row, run.question) if item in run.unreadable else "limit")
        ranks = outcome == "limit"
        rank += ranks
        yield TracedCandidate(
            id=row.id,
            kind=row.kind if isinstance(row, Memory) else "message",
            outcome=outcome,
            rank=rank if ranks else None,
            strength=_rounded(run.strengths.get(item)),
            similarity=_rounded(entry.similarity),
            why=tuple(Reason(arm=vote.arm, rank=vote.rank, score=vote.score) for vote in entry.why),
            revision=row.revision if isinstance(row, Memory) else None,
        )


def _read(reads: Reads, items: Sequence[int]) -> Mapping[int, Memory | Message]:
    if not items:
        return {}
    rows: dict[int, Memory | Message] = {each.seq: each for each in reads.messages(MessageFilter(seqs=items))}
    return rows | {each.item: each for each in reads.memories(MemoryFilter(items=items, statuses=None))}


def _obstacle(row: Memory | Message, question: RecallQuery) -> Outcome:
    """Return the reason why a recall left out a memory or message."""
    if isinstance(row, Memory):
        if row.status != "live" or (row.expires_at is not None and row.expires_at <= question.now):
            return "retired"
        return memory_obstacle(row, question) or "retired"
    return message_obstacle(row, question) or "hidden"  # a memory derived from it was forgotten


def _item(hit: Hit) -> int:
    return hit.memory.item if hit.memory else hit.message.seq if hit.message else 0


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
