"""Measures how well recall finds the messages that answer a question, on public long-term-memory benchmarks.

Conversations are added through the public interface, message by message with dates and speakers. Questions go through
the public ``recall``. Only ids are compared; no model judges the results.
"""

import json
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from holdfast.config.folders import models_directory
from holdfast.config.loading import load_settings
from holdfast.config.models import make_embedder
from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast.errors import ModelError
from holdfast.recall.context.block import render_block
from holdfast.services import services
from holdfast.types import Hit
from holdfast_bench.recall.datasets import Conversation, Dataset, Question, load
from holdfast_bench.recall.scores import BUDGETS, Abstention, Row, score, table
from holdfast_bench.recall.vector_cache import CachedEmbedder

_BETWEEN_TURNS = timedelta(seconds=20)
"""Assumed time between two messages. The data sets do not state it."""
_FOREIGN_EVERY = 5
"""After every fifth question, a question about another conversation is asked as well. Recall should find nothing for it."""
_MAX_TEXT = 4_000_000
"""Maximum characters of a message. BEAM has a message of 349,000 characters."""
_USER_ROLES = ("user", "assistant")


def run(
    dataset: Path,
    *,
    out: Path | None = None,
    haystacks: bool = False,
    limit: int = 50,
    only: int | None = None,
    embedder: str = "talk-embed-s",
    store: str | None = None,
    reranker: str | None = None,
    as_json: bool = False,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> None:
    """Load a data set, recall for each question, and print the table of scores. With ``out``, write the ranked ids to a file."""
    data = load(dataset, haystacks=haystacks)
    rows: list[Row] = []
    own: list[float] = []
    foreign: list[float] = []
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, _open(store or Path(folder) / "memory.db", embedder, reranker) as memory:
        for conversation, question, hits in _answers(memory, data, limit=limit, only=only, progress=progress):
            own.append(_best(hits))
            if other := _unanswerable(data, conversation, len(own)):
                foreign.append(
                    _best(memory.recall(other.text, user=conversation.id, limit=1, now=question.at or _end(conversation)))
                )
            ranked = _ranked(hits)
            lines.append({"id": question.id, "ranked": ranked})
            packed = {budget: _ranked(render_block([], hits, max_tokens=budget, nonce_key="bench").hits) for budget in BUDGETS}
            rows.append(score(data, conversation, question, ranked, packed))
    if out is not None:
        out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    print(json.dumps(table(rows).as_data()) if as_json else table(rows))  # noqa: T201  (output of the command)
    if foreign and not as_json:
        print(Abstention(own=own, foreign=foreign))  # noqa: T201


def _best(hits: Sequence[Hit]) -> float:
    return hits[0].score if hits else 0.0


def _unanswerable(data: Dataset, conversation: Conversation, count: int) -> Question | None:
    """Return a question about another conversation, which this conversation cannot answer, or None.

    ``count`` is the number of questions asked so far. A question is returned only if ``count`` is a multiple of five.
    """
    others = [other for other in data.conversations if other.id != conversation.id and other.questions]
    if not others or count % _FOREIGN_EVERY:
        return None
    chosen = others[count % len(others)]
    return chosen.questions[count % len(chosen.questions)]


def _open(place: str | Path, embedder: str, reranker: str | None = None) -> Engine:
    """Open a temporary store, or a new tenant of a database. Vectors are cached between runs."""
    tenant = f"bench-{uuid.uuid4().hex[:12]}"
    source = make_embedder(embedder)
    file = models_directory().parent / "bench" / "vectors.db"
    cached = "none" if source is None else CachedEmbedder(source.load(), file)
    reranker = reranker or load_settings().reranker
    return open_engine(place, embedder=cached, reranker=reranker, worker="none", tenant=tenant, settings={"max_text": _MAX_TEXT})


def _answers(
    memory: Engine, data: Dataset, *, limit: int, only: int | None, progress: Callable[[str, int, int], None]
) -> Iterator[tuple[Conversation, Question, list[Hit]]]:
    conversations = data.conversations[:only]
    done, total = 0, sum(len(conversation.questions) for conversation in conversations)
    for conversation in conversations:
        keep(memory, conversation)
        for question in conversation.questions:
            hits = memory.recall(question.text, user=conversation.id, limit=limit, now=question.at or _end(conversation))
            done += 1
            progress(data.name, done, total)
            yield conversation, question, hits


def keep(memory: Engine, conversation: Conversation) -> None:
    """Add a conversation to the engine through the public interface, and embed all of it.

    Raise ``ModelError`` if texts remain without a vector, because the search would then use only words.
    """
    for dated in conversation.sessions:
        session = memory.session(user=conversation.id, id=f"{conversation.id}/{dated.id}")
        for number, turn in enumerate(dated.turns):
            named = turn.speaker not in _USER_ROLES
            role = turn.speaker if not named else "user"
            session.add(
                role,
                turn.text or "...",
                speaker=turn.speaker if named else None,
                id=turn.id,
                at=dated.at + number * _BETWEEN_TURNS,
            )
    while services(memory).embedding.catch_up(limit=256):
        pass
    if waiting := memory.stats().waiting_for_vectors:
        raise ModelError(
            f"The embedder failed: {waiting} texts have no vector. Nothing was measured. Check the embedder and retry."
        )


def _end(conversation: Conversation) -> Any:
    return max(dated.at for dated in conversation.sessions) + timedelta(days=1)


def _ranked(hits: Sequence[Hit]) -> list[str]:
    """Return the ids of the turns that the hits refer to, best first."""
    found: dict[str, None] = {}
    for hit in hits:
        if hit.message is not None:
            found[hit.message.client_id or ""] = None
    return list(found)
