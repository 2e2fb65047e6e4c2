"""Lo-Bug's database: the conversation log, facts with vectors, summaries and the base document. Ids are integers."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from holdfast import types
from holdfast.agent.device import DEVICE_SESSION
from holdfast.chat import ChatModel
from holdfast.config.opening import open_engine
from holdfast.designs.lobug import embeddings
from holdfast.designs.numbers import find_numbered, number_of
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, NotFound
from holdfast.filters import MemoryFilter, MessageFilter, SearchFilter
from holdfast.learning.summaries.progress import WAITING, imported_at, imported_setting, incorporated_setting, summarized_setting
from holdfast.presets.settings import MemoryConfig
from holdfast.protocols import Embedder
from holdfast.services import Services, services
from holdfast.session import Session

__all__ = ["FactRow", "MemoryDB"]

_EARLIER_CONVERSATION = "lobug"
"""Id of the session that an earlier version of this class used. A store that has this session keeps using it."""
_ALL = 1_000_000
_MAX_UNPROCESSED = 200


class _Logged(NamedTuple):
    """A message in the log. ``content`` is the text that the host gave, before secrets were redacted."""

    role: str
    content: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRow:
    """A stored fact. ``distance`` is its cosine distance from the query of a search."""

    id: int
    content: str
    source: str
    fact_type: str
    created_at: float
    distance: float = 0.0

    @property
    def similarity(self) -> float:
        """Cosine similarity of the fact's vector and the query's vector."""
        return 1.0 - self.distance


class MemoryDB:
    """The design's tables in one database file. The file is opened by :meth:`initialize`, or else by the first use."""

    def __init__(
        self,
        db_path: str | Path | MemoryConfig | None = None,
        *,
        config: MemoryConfig | None = None,
        conversation: str | None = None,
        **opening: Any,
    ) -> None:
        """Set the file and the config. ``opening`` are further arguments of ``holdfast.open``.

        ``conversation`` is the id of the session with all messages. By default, it is the session of ``holdfast serve``.
        """
        if isinstance(db_path, MemoryConfig):
            db_path, config = None, db_path
        self._path = db_path
        self.config = config or MemoryConfig()
        self._conversation = conversation
        self._opening = {"worker": "none", **opening}  # the host calls process_exchange after each reply
        self._engine: Engine | None = None
        self._unprocessed: deque[_Logged] = deque(maxlen=_MAX_UNPROCESSED)
        """Messages that were appended and not yet passed to ``MemoryManager.process_exchange``."""
        self._processing = threading.Lock()

    def initialize(self) -> None:
        """Open the file, or create it if it does not exist."""
        assert self.engine

    def use(
        self,
        embed_fn: Callable[[str], Any] | Embedder | str | None = None,
        chat_fn: Callable[..., Any] | ChatModel | str | None = None,
        config: MemoryConfig | None = None,
    ) -> None:
        """Set the models and the config. This closes the file. The next use opens it again."""
        self.close()
        self.config = config or self.config
        given = {"embedder": embed_fn, "chat": chat_fn}
        self._opening |= {name: model for name, model in given.items() if model is not None}

    @property
    def engine(self) -> Engine:
        """The engine, opened on first access."""
        if self._engine is None:
            opening, config = dict(self._opening), self.config
            if opening.get("embedder") is None and embeddings.configured():
                opening["embedder"] = embeddings.embed
            if opening.get("embedder") is None:  # embedding_dim is meant for the function that is set later
                config = replace(config, embedding_dim=MemoryConfig().embedding_dim)
            self._engine = open_engine(self._path, settings=config, **opening)
        return self._engine

    @property
    def session(self) -> Session:
        """The session that contains all messages. It never ends."""
        if self._conversation is not None:
            return self.engine.session(id=self._conversation, shared=True)
        earlier = self.engine.session(id=_EARLIER_CONVERSATION, shared=True)
        known = self._services.store.session(earlier.id, earlier.scope)
        return earlier if known else self.engine.session(id=DEVICE_SESSION, shared=True)

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # The conversation log

    def append_message(self, role: str, content: str, *, action: str | None = None) -> int:
        """Append a message to the permanent log and return its id.

        ``action`` is a marker such as ``IGNORE``. No facts are extracted from a message with an ``action``.
        """
        stored = self.session.add(role, content, action=action)
        self._unprocessed.append(_Logged(role, content, stored.id))
        return stored.seq

    def log_exchange(self, user_text: str, assistant_text: str) -> None:
        """Append the messages of an exchange that are not in the log yet, and mark the exchanges before it as noise.

        Only complete exchanges that were appended and never processed become noise: the host skipped them on purpose. A
        message of the user without a reply stays as it is, because the chat model may have failed.
        """
        with self._processing:
            self._log_exchange((("user", user_text), ("assistant", assistant_text)))

    def _log_exchange(self, said: Sequence[tuple[str, str]]) -> None:
        waiting = list(self._unprocessed)
        first = next((place for place, each in enumerate(waiting) if each[:2] == said[0]), 0)
        skipped, waiting = waiting[:first], waiting[first:]
        noise = [each.id for pair in pairwise(skipped) if [each.role for each in pair] == ["user", "assistant"] for each in pair]
        if noise:
            with self._services.store.write() as tx:
                tx.set_action(noise, types.NOISE)
        logged = [next((each for each in waiting if each[:2] == message), None) for message in said]
        for each in [*skipped, *filter(None, logged)]:
            self._unprocessed.remove(each)
        for message, known in zip(said, logged, strict=True):
            if known is None:
                self.session.add(*message)

    def get_recent_messages(self, n: int = 20) -> list[dict[str, Any]]:
        """Return the last ``n`` messages, oldest first."""
        return [_message_row(each) for each in self._last_messages(n)]

    def window(self) -> list[types.Message]:
        """Return the last messages for the working memory, without background noise.

        If the database has messages of an import and no new ones yet, return the last imported messages.
        """
        session = self.session
        if self._conversation is not None or session.messages(limit=1):
            return session.window()
        return [each for each in self._last_messages(self.engine.preset.window) if each.action is None]

    def _last_messages(self, n: int) -> list[types.Message]:
        """Return the last ``n`` messages of the conversation, oldest first.

        If no conversation was named when the database was opened, all shared sessions count as one conversation.
        """
        wanted = MessageFilter(session=self._conversation, exactly=self.session.scope, newest=n)
        return self._services.store.messages(wanted)

    def count_unsummarized(self) -> int:
        """Return the number of messages that no summary covers."""
        return len(self._unsummarized())

    def get_unsummarized_messages(self) -> list[dict[str, Any]]:
        """Return the messages that no summary covers, oldest first."""
        return [_message_row(each) for each in self._unsummarized()]

    def mark_summarized(self, up_to_id: int) -> None:
        """Mark the messages up to an id as summarized."""
        name = summarized_setting(self.session.scope)
        with self._services.store.write() as tx:
            tx.set_setting(name, str(max(up_to_id, int(tx.setting(name) or 0))))

    # Facts

    def insert_fact(
        self,
        content: str,
        embedding: Sequence[float] | None = None,
        source: str = "conversation",
        fact_type: str = "personal",
    ) -> int:
        """Store a fact with its vector and return its id. If no vector is given, the current embedder computes it."""
        vector = None if embedding is None else self._services.embedding.model.given(embedding)
        kept = self.engine.remember(content, kind="fact", metadata={"type": fact_type, "source": source}, origin="auto")
        embedder = self._services.embedding.embedder()
        if vector is not None and embedder is not None:
            with self._services.store.write() as tx:
                tx.put_vectors(embedder.name, [(kept.item, 0)], np.stack([vector]))
        return number_of(self.engine, kept)

    def search_facts(self, query_embedding: Sequence[float], k: int = 5) -> list[FactRow]:
        """Return the ``k`` facts nearest to a vector, nearest first."""
        if k < 1:
            raise InvalidInput(f"k must be at least 1, not {k}.")
        embedding, store, scope = self._services.embedding, self._services.store, self.session.scope
        vector = embedding.model.given(query_embedding)
        embedding.catch_up(reader=scope)
        where = SearchFilter(reader=scope, spaces=["memory"], kinds=("fact",))
        cosines = {each.item: each.score for each in store.find_vectors(embedding.name or "", vector, where, limit=k)}
        facts = [fact for fact in self._of_kind("fact") if fact.item in cosines]
        rows = [_fact_row(self.engine, fact, distance=1.0 - cosines[fact.item]) for fact in facts]
        return sorted(rows, key=lambda row: (row.distance, row.id))

    def delete_fact(self, fact_id: int) -> bool:
        """Forget a fact. Return False if the id does not exist."""
        found = find_numbered(self.engine, fact_id, self._of_kind("fact"))
        try:
            return found is not None and self.engine.forget(found.id) > 0
        except NotFound:
            return False

    # Summaries and the base document

    def insert_summary(self, content: str, from_id: int, to_id: int) -> int:
        """Store the summary of a range of messages and return its id."""
        session = self.session
        wanted = MessageFilter(session=session.id, exactly=session.scope, after_seq=from_id - 1)
        covered = [each.id for each in self._services.store.messages(wanted) if each.seq <= to_id]
        kept = self.engine.remember(
            content, kind="summary", metadata={"from": from_id, "to": to_id}, sources=covered, origin="auto"
        )
        return number_of(self.engine, kept)

    def count_unincorporated_summaries(self) -> int:
        """Return the number of summaries that are not in the base document."""
        return len(self._unincorporated())

    def get_unincorporated_summaries(self) -> list[dict[str, Any]]:
        """Return the summaries that are not in the base document, oldest first."""
        return [self._summary_row(each) for each in self._unincorporated()]

    def mark_incorporated(self, up_to_id: int) -> None:
        """Mark the summaries up to an id as part of the base document."""
        summaries = [each for each in self._of_kind("summary") if number_of(self.engine, each) <= up_to_id]
        upto = max((int(each.metadata.get("to", 0)) for each in summaries), default=0)
        imported = max((imported_at(each) for each in summaries if each.metadata.get(WAITING)), default="")
        own, foreign = incorporated_setting(self.session.scope), imported_setting(self.session.scope)
        with self._services.store.write() as tx:
            tx.set_setting(own, str(max(upto, int(tx.setting(own) or 0))))
            if imported:
                tx.set_setting(foreign, max(imported, tx.setting(foreign) or ""))

    def get_base_memory(self) -> str:
        """Return the base document, or an empty text if there is none yet."""
        found = self._of_kind("base")
        return found[0].text if found else ""

    def set_base_memory(self, content: str) -> None:
        """Replace the base document. An empty text removes it."""
        before = self._of_kind("base")
        if not content.strip():
            for each in before:
                self.engine.forget(each.id)
            return
        metadata: Mapping[str, Any] = before[0].metadata if before else {}
        self.engine.remember(content, kind="base", key="base", metadata=metadata, origin="auto")

    @property
    def _services(self) -> Services:
        return services(self.engine)

    def _of_kind(self, kind: str) -> list[types.Memory]:
        wanted = MemoryFilter(exactly=self.session.scope, kinds=(kind,), unexpired_at=self._services.clock.now(), limit=_ALL)
        return self._services.store.memories(wanted)

    def _unsummarized(self) -> list[types.Message]:
        return self._services.condenser.unsummarized(self._services.store, self.session.scope)

    def _unincorporated(self) -> list[types.Memory]:
        return self._services.condenser.unincorporated(self._services.store, self.session.scope)

    def _summary_row(self, summary: types.Memory) -> dict[str, Any]:
        return {
            "id": number_of(self.engine, summary),
            "content": summary.text,
            "source_from_id": int(summary.metadata.get("from", 0)),
            "source_to_id": int(summary.metadata.get("to", 0)),
            "created_at": summary.created_at.timestamp(),
        }


def _message_row(message: types.Message) -> dict[str, Any]:
    return {"id": message.seq, "role": message.role, "content": message.text, "created_at": message.at.timestamp()}


def _fact_row(engine: Engine, fact: types.Memory, *, distance: float) -> FactRow:
    return FactRow(
        id=number_of(engine, fact),
        content=fact.text,
        source=str(fact.metadata.get("source", "conversation")),
        fact_type=str(fact.metadata.get("type") or fact.metadata.get("fact_type") or "personal"),
        created_at=fact.created_at.timestamp(),
        distance=max(0.0, distance),
    )
