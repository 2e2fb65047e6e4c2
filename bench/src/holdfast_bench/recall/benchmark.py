"""How well recall finds the turns that answer a question, on public long-term-memory benchmarks.

Conversations go in through the public interface, message by message with their dates and speakers; questions are asked
through the same ``recall`` everyone uses. Only ids are compared: no model judges.
"""

import json
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from holdfast.config.folders import models_directory
from holdfast.config.models import make_embedder, make_second_embedder
from holdfast.config.opening import open_engine
from holdfast.config.settings import load_settings
from holdfast.engine import Engine
from holdfast.recall.context_block import render_block
from holdfast.recall.embedding import EmbedderSource
from holdfast.services import services
from holdfast.types import Hit
from holdfast_bench.recall.datasets import Asked, Dataset, Talk, load
from holdfast_bench.recall.scores import BUDGETS, Abstention, Row, score, table
from holdfast_bench.recall.vector_cache import CachedEmbedder

_BETWEEN_TURNS = timedelta(seconds=20)
_FOREIGN_EVERY = 5
_USER_ROLES = ("user", "assistant")


def run(
    dataset: Path,
    *,
    out: Path | None = None,
    haystacks: bool = False,
    limit: int = 50,
    only: int | None = None,
    embedder: str = "arctic-embed-s",
    store: str | None = None,
    reranker: str | None = None,
    as_json: bool = False,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> None:
    """Load, ask, write the run file, and print the table."""
    data = load(dataset, haystacks=haystacks)
    rows: list[Row] = []
    own: list[float] = []
    foreign: list[float] = []
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, _open(store or Path(folder) / "memory.db", embedder, reranker) as memory:
        for talk, question, hits in _asked(memory, data, limit=limit, only=only, progress=progress):
            own.append(_best(hits))
            if other := _somebody_elses(data, talk, len(own)):
                foreign.append(_best(memory.recall(other.text, user=talk.id, limit=1, now=question.at or _end(talk))))
            ranked = _ranked(hits)
            lines.append({"id": question.id, "ranked": ranked})
            packed = {budget: _ranked(render_block([], hits, max_tokens=budget, nonce="bench").hits) for budget in BUDGETS}
            rows.append(score(data, talk, question, ranked, packed))
    if out is not None:
        out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    print(json.dumps(table(rows).as_data()) if as_json else table(rows))  # noqa: T201  (what the command is for)
    if foreign and not as_json:
        print(Abstention(own=own, foreign=foreign))  # noqa: T201


def _best(hits: Sequence[Hit]) -> float:
    return hits[0].score if hits else 0.0


def _somebody_elses(data: Dataset, talk: Talk, count: int) -> Asked | None:
    """Return, now and then, a question about another conversation: nothing here answers it."""
    others = [other for other in data.talks if other.id != talk.id and other.questions]
    if not others or count % _FOREIGN_EVERY:
        return None
    chosen = others[count % len(others)]
    return chosen.questions[count % len(chosen.questions)]


def _open(place: str | Path, embedder: str, reranker: str | None = None) -> Engine:
    """Open a scratch store, or a new tenant of a database; vectors are kept from run to run by the text they were made from."""
    tenant = f"bench-{uuid.uuid4().hex[:12]}"
    source = make_embedder(embedder)
    if source is None:
        return open_engine(place, embedder="none", reranker=reranker, worker="none", tenant=tenant)
    file = models_directory().parent / "bench" / "vectors.db"
    other = make_second_embedder(None, source, load_settings())
    second = "none" if other is None else EmbedderSource(name=other.name, load=lambda: CachedEmbedder(other.load(), file))
    cached = CachedEmbedder(source.load(), file)
    return open_engine(place, embedder=cached, second=second, reranker=reranker, worker="none", tenant=tenant)


def _asked(
    memory: Engine, data: Dataset, *, limit: int, only: int | None, progress: Callable[[str, int, int], None]
) -> Iterator[tuple[Talk, Asked, list[Hit]]]:
    talks = data.talks[:only]
    done, total = 0, sum(len(talk.questions) for talk in talks)
    for talk in talks:
        keep(memory, talk)
        for question in talk.questions:
            hits = memory.recall(question.text, user=talk.id, limit=limit, now=question.at or _end(talk))
            done += 1
            progress(data.name, done, total)
            yield talk, question, hits


def keep(memory: Engine, talk: Talk) -> None:
    """Put a conversation in as any user would."""
    for sitting in talk.sittings:
        session = memory.session(user=talk.id, id=f"{talk.id}/{sitting.id}")
        for number, turn in enumerate(sitting.turns):
            named = turn.speaker not in _USER_ROLES
            role = turn.speaker if not named else "user"
            session.add(
                role,
                turn.text or "...",
                speaker=turn.speaker if named else None,
                id=turn.id,
                at=sitting.at + number * _BETWEEN_TURNS,
            )
    while services(memory).embedding.catch_up(limit=256):
        pass


def _end(talk: Talk) -> Any:
    return max(sitting.at for sitting in talk.sittings) + timedelta(days=1)


def _ranked(hits: Sequence[Hit]) -> list[str]:
    """Return the turns that hits stand for, best first."""
    found: dict[str, None] = {}
    for hit in hits:
        if hit.message is not None:
            found[hit.message.client_id or ""] = None
    return list(found)
