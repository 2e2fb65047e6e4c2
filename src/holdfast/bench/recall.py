"""How well recall finds the turns that answer a question, on public long-term-memory benchmarks.

Conversations go in through the public interface, message by message with their dates and speakers; questions are asked
through the same ``recall`` everyone uses. Only ids are compared: no model judges.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from holdfast.bench.recall_data import Asked, Dataset, Talk, load
from holdfast.bench.recall_scores import Row, score, table
from holdfast.bench.vector_cache import CachedEmbedder
from holdfast.config import make_embedder, models_directory, open_engine
from holdfast.engine import Engine
from holdfast.types import Hit

_BETWEEN_TURNS = timedelta(seconds=20)
_USER_ROLES = ("user", "assistant")


def run(
    dataset: Path,
    *,
    out: Path | None = None,
    haystacks: bool = False,
    limit: int = 50,
    only: int | None = None,
    embedder: str = "arctic-embed-s",
    as_json: bool = False,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> None:
    """Load, ask, write the run file, and print the table."""
    data = load(dataset, haystacks=haystacks)
    rows: list[Row] = []
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, _open(Path(folder), embedder) as memory:
        for talk, question, hits in _asked(memory, data, limit=limit, only=only, progress=progress):
            ranked = _ranked(hits)
            lines.append({"id": question.id, "ranked": ranked})
            rows.append(score(data, talk, question, ranked))
    if out is not None:
        out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    print(json.dumps(table(rows).as_data()) if as_json else table(rows))  # noqa: T201  (what the command is for)


def _open(folder: Path, embedder: str) -> Engine:
    """Open a scratch store; vectors are kept from run to run by the text they were made from."""
    source = make_embedder(embedder)
    if source is None:
        return open_engine(folder / "memory.db", embedder="none", worker="none")
    cached = CachedEmbedder(source.load(), models_directory().parent / "bench" / "vectors.db")
    return open_engine(folder / "memory.db", embedder=cached, worker="none")


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
    while memory.embedding.catch_up(limit=256):
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
