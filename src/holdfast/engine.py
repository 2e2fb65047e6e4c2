"""The engine: everything a surface may ask for. ``holdfast.open()`` makes one."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self, cast

from holdfast.apps import Apps
from holdfast.clock import SystemClock, as_utc
from holdfast.consolidation import Consolidation
from holdfast.embedding import EmbedderSource, Embedding
from holdfast.energy import Energy
from holdfast.erase import erase
from holdfast.errors import InvalidInput, NotFound
from holdfast.files import Shelves, TopicPages
from holdfast.housekeeping import Housekeeping
from holdfast.ids import new_id
from holdfast.jobs import LEASE, LEASE_WITH_MODEL, JobRunner
from holdfast.notes import Reranker
from holdfast.pipeline import Pipeline
from holdfast.policies.keys import split_key
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SessionFilter, Store, Transaction
from holdfast.reader import Reader
from holdfast.reranking import ChatReranker, Reranking
from holdfast.session import Recorder, Session
from holdfast.text.clean import clean_name
from holdfast.thinking import ChatSource, Limits, Thinking
from holdfast.topics import Topics
from holdfast.tracing import watched
from holdfast.types import (
    Author,
    ChangeRecord,
    Context,
    Hit,
    Memory,
    MemoryOrigin,
    Message,
    Put,
    Receipt,
    Retire,
    Scope,
    SessionRecord,
    SessionStatus,
    Where,
)
from holdfast.upkeep import Upkeep
from holdfast.worker import WorkerThread
from holdfast.write import Writer

log = logging.getLogger("holdfast")


class Engine(Upkeep):
    """A memory: one store, one preset, one embedder, and a chat model if there is one."""

    def __init__(
        self,
        store: Store,
        *,
        preset: Preset,
        embedder: EmbedderSource | None = None,
        second: EmbedderSource | None = None,
        chat: ChatSource | None = None,
        reranker: Reranker | Literal["chat"] | None = None,
        limits: Limits | None = None,
        energy: Callable[[], float] | None = None,
        clock: Clock | None = None,
        worker: Literal["thread", "inline", "none"] = "thread",
    ) -> None:
        self.store = store
        self.preset = preset
        self.clock: Clock = clock or SystemClock()
        self.embedding = Embedding(store, embedder, second)
        self.thinking = Thinking(store, chat, self.clock, limits)
        self.energy = Energy(store, energy, asks_model=chat is not None)
        consolidation = Consolidation(store, preset, self.clock, embedding=self.embedding, thinking=self.thinking)
        topics = Topics(store, preset, self.clock, embedding=self.embedding, thinking=self.thinking)
        self.pipeline = Pipeline(
            store, preset, self.clock,
            embedding=self.embedding, thinking=self.thinking, consolidation=consolidation, topics=topics,
        )  # fmt: skip
        handlers = {"digest": watched("digest")(self.pipeline.digest), **consolidation.handlers, **topics.handlers}
        lease = LEASE if chat is None else LEASE_WITH_MODEL
        self.jobs_runner = JobRunner(store, self.clock, handlers, affordable=self.energy.affordable, lease=lease)
        self._housekeeping = Housekeeping(store, preset, self.clock, self.pipeline)
        looking = ChatReranker(store, self.clock, self.thinking) if reranker == "chat" else reranker
        self.reranking = Reranking(looking)
        self.reader = Reader(store, preset, self.clock, self.embedding, reranking=self.reranking)
        self.topics = TopicPages(store, preset, self.clock, follow_up=consolidation.follow_up, changed=self.wake)
        self.files = Shelves(store, preset, self.clock, follow_up=consolidation.follow_up)
        self.apps = Apps(store, preset, self.clock, reader=self.reader, embedding=self.embedding, energy=self.energy)
        self._inline = worker == "inline"
        self._thread = WorkerThread(self.work_once) if worker == "thread" else None
        self._housekeeping.clean_up()
        self.jobs_runner.take_over()
        if self._thread is not None:
            self._thread.wake()  # an earlier process may have left work

    # Conversations

    def session(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        id: str | None = None,
        off_record: bool = False,
    ) -> Session:
        """Begin a conversation, or resume the one with this ``id``. Off the record leaves nothing behind."""
        scope = self._scope(user=user, app=app, agent=agent)
        id = clean_name(id, what="session id")
        if id is not None and not off_record:
            known = self.store.session(id)
            if known is not None:
                if (user or app or agent) and known.scope != scope:
                    raise NotFound(f"There is no session {id} in this scope.")
                scope = known.scope
        return self._session(id or new_id("ses", self.clock.now()), scope, off_record=off_record)

    def resume(self, record: SessionRecord) -> Session:
        """Resume a conversation whose record the caller has read already, or made for a new one; it is not read again."""
        return self._session(record.id, record.scope)

    def _session(self, id: str, scope: Scope, *, off_record: bool = False) -> Session:
        self.files.use(scope)
        record = Recorder(store=self.store, clock=self.clock, pipeline=self.pipeline, wake=self.wake)
        return Session(record, self.reader, id=id, scope=scope, off_record=off_record)

    def sessions(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        statuses: Sequence[SessionStatus] | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[SessionRecord]:
        """List conversations, the most recently active first."""
        scope = self._scope(user=user, app=app, agent=agent)
        owner = _named(user=scope.user, app=scope.app, agent=scope.agent)
        return self.store.sessions(SessionFilter(owner=owner, statuses=statuses, limit=limit, offset=offset))

    # Writing

    @watched("remember")
    def remember(
        self,
        text: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        kind: str | None = None,
        key: str | None = None,
        topic: str | None = None,
        importance: float | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        pinned: bool | None = None,
        valid_from: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        sources: Sequence[str] = (),
        origin: MemoryOrigin = "explicit",
        trust: float = 1.0,
    ) -> Memory:
        """Keep something; it is durable when this returns. The same again only refreshes it."""
        if key is None and self.preset.default_key is not None and self.preset.kind(kind).keyed == "many":
            found, text = split_key(text)
            key = found or self.preset.default_key
        put = Put(
            scope=self._scope(user=user, app=app, agent=agent),
            kind=self.preset.kind(kind).name,
            text=text,
            key=key,
            topic=topic,
            importance=importance,
            tags=tuple(tags),
            metadata=metadata or {},
            origin=origin,
            trust=trust,
            sources=tuple(sources),
            pinned=pinned,
            valid_from=None if valid_from is None else as_utc(valid_from, what="valid_from"),
            expires_at=None if expires_at is None else as_utc(expires_at, what="expires_at"),
        )
        with self.store.write() as tx:
            (memory,) = self._writer(tx).apply([put])
        self.wake()
        return memory

    def revise(
        self,
        id: str,
        text: str | None = None,
        *,
        importance: float | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        topic: str | None = None,
        pinned: bool | None = None,
        reason: str | None = None,
    ) -> Memory:
        """Correct a memory: the id stays and a revision is added. What is not given stays; tags and metadata are given whole."""
        emptied = frozenset(name for name, given in (("tags", tags), ("metadata", metadata)) if given is not None and not given)
        with self.store.write() as tx:
            memory = self._live(tx.memories(MemoryFilter(ids=(id,))), id)
            put = Put(
                id=id, scope=memory.scope, kind=memory.kind, key=memory.key, text=memory.text if text is None else text,
                importance=importance, tags=tuple(tags or ()), metadata=metadata or {}, topic=topic, pinned=pinned, reason=reason,
                emptied=cast("frozenset[Literal['tags', 'metadata']]", emptied),
            )  # fmt: skip
            (revised,) = self._writer(tx).apply([put])
        self.wake()
        return revised

    @watched("forget")
    def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        kind: str | None = None,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        reason: str = "asked to forget",
    ) -> int:
        """Hide memories by id, or by key in a scope; returns how many. Can be undone for a while, then they are purged.

        With an ``id``, a named scope must be one that sees it.
        """
        if (id is None) == (key is None):
            raise InvalidInput("forget needs an id, or a key with its user: forget(id=...) or forget(key=..., user=...).")
        if id is not None:
            named = _named(user=user, app=app, agent=agent)
            reader = self._scope(**named) if named else None
            wanted = MemoryFilter(ids=(clean_name(id, what="id") or "",), reader=reader)
        else:
            wanted = self._keyed(key, kind, user=user, app=app, agent=agent)
        with self.store.write() as tx:
            found = tx.memories(wanted)
            self._writer(tx).apply([Retire(id=memory.id, status="forgotten", reason=reason) for memory in found])
        return len(found)

    def _keyed(self, key: str | None, kind: str | None, **parts: str | None) -> MemoryFilter:
        """Return the filter for a key: what the reader sees, but of a user's only their own, never what all share."""
        reader = self._scope(**parts)
        owner = _named(user=reader.user)
        kinds = None if kind is None else (self.preset.kind(kind).name,)
        return MemoryFilter(reader=reader, owner=owner, kinds=kinds, key=clean_name(key, what="key"))

    def undo(self, change: str | ChangeRecord) -> list[Memory]:
        """Undo a change and the others made with it; returns the memories as they are now."""
        id = change if isinstance(change, str) else change.id
        with self.store.write() as tx:
            found = tx.changes(id=id)
            if not found:
                raise NotFound(f"There is no change {id}; `history` lists the changes of a memory.")
            undone = self._writer(tx).undo(found[0])
        self.wake()
        return undone

    def erase(
        self,
        *,
        id: str | None = None,
        session: str | None = None,
        source: str | None = None,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
    ) -> Receipt:
        """Remove for good: a memory, a session, a message and all that came of it, or all there is of a user or app.

        Of ``user``, ``app`` and ``agent``, those named must all fit; ``erase(user=)`` crosses apps.
        """
        one, scope = _named(memory=id, session=session, source=source), _named(user=user, app=app, agent=agent)
        if len(one) + bool(scope) != 1:
            raise InvalidInput("erase needs to know one thing: id=, session=, source=, or a scope of user=, app=, agent=.")
        target = one or _named(**{part: clean_name(name, what=part) for part, name in scope.items()})
        self.reader.forget_uses()
        pages = self.files.before_erasing(target if scope else self._owner_of(target))
        receipt = erase(self.store, self.preset, target, self.clock.now())
        self.embedding.forget_queries()
        left = tuple(problem for files in pages for problem in files.publish().problems)
        return replace(receipt, status="pending", verified=False, residue=(*receipt.residue, *left)) if left else receipt

    def _owner_of(self, target: Mapping[str, str]) -> dict[str, str]:
        """Return whose a memory, session or message is, by the parts of its scope that are named."""
        found: list[Memory | SessionRecord | Message] = []
        if "memory" in target:
            found += self.store.memories(MemoryFilter(ids=(target["memory"],), statuses=None))
        if "session" in target:
            found += self.store.sessions(SessionFilter(ids=(target["session"],)))
        if "source" in target:
            found += self.store.messages(MessageFilter(ids=(target["source"],)))
        return _named(user=found[0].scope.user, app=found[0].scope.app, agent=found[0].scope.agent) if found else {}

    # Reading

    def recall(
        self,
        query: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        limit: int = 10,
        kinds: Sequence[str] | None = None,
        where: Where | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_score: float = 0.0,
    ) -> list[Hit]:
        """Return what matters for a query, best first; each hit says why it was found."""
        return self.reader.recall(
            self._scope(user=user, app=app, agent=agent), query,
            limit=limit, kinds=kinds, where=where, now=now, as_of=as_of, min_score=min_score,
        )  # fmt: skip

    def context(
        self,
        query: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        max_tokens: int | None = None,
    ) -> Context:
        """Return the block for a system prompt, of at most ``max_tokens``."""
        return self.reader.context(self._scope(user=user, app=app, agent=agent), query, max_tokens=max_tokens)

    def memories(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        kinds: Sequence[str] | None = None,
        key: str | None = None,
        topic: str | None = None,
        where: Where | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        retired: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Memory]:
        """List memories, the newest first: live ones, or those that held ``as_of`` or were known at a moment."""
        wanted = self._listing(
            self._scope(user=user, app=app, agent=agent),
            kinds=kinds, key=key, topic=topic, where=where, as_of=as_of, known_at=known_at, retired=retired,
        )  # fmt: skip
        return self.store.memories(replace(wanted, limit=limit, offset=offset))

    def count_memories(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        kinds: Sequence[str] | None = None,
        key: str | None = None,
        topic: str | None = None,
        where: Where | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        retired: bool = False,
    ) -> int:
        """Count what :meth:`memories` would list without a limit."""
        wanted = self._listing(
            self._scope(user=user, app=app, agent=agent),
            kinds=kinds, key=key, topic=topic, where=where, as_of=as_of, known_at=known_at, retired=retired,
        )  # fmt: skip
        return self.store.count_memories(wanted)

    def _listing(
        self,
        reader: Scope,
        *,
        kinds: Sequence[str] | None,
        key: str | None,
        topic: str | None,
        where: Where | None,
        as_of: datetime | str | None,
        known_at: datetime | str | None,
        retired: bool,
    ) -> MemoryFilter:
        wanted = MemoryFilter(
            reader=reader,
            kinds=None if kinds is None else [self.preset.kind(kind).name for kind in kinds],
            key=clean_name(key, what="key"),
            topic=clean_name(topic, what="topic"),
            where=where,
            unexpired_at=self.clock.now(),
        )
        if as_of is not None:
            moment = as_utc(as_of, what="as_of")
            wanted = replace(wanted, as_of=moment, unexpired_at=None, statuses=["live", "superseded", "expired"])
        if known_at is not None:
            moment = as_utc(known_at, what="known_at")
            wanted = replace(wanted, known_at=moment, unexpired_at=moment)
        if retired:
            wanted = replace(wanted, statuses=["superseded", "forgotten", "expired"], unexpired_at=None)
        return wanted

    def get(self, id: str) -> Memory:
        """Return one memory as it is now, also if it was retired."""
        return self._live(self.store.memories(MemoryFilter(ids=(id,), statuses=None)), id)

    def history(self, id: str) -> list[ChangeRecord]:
        """Return the changes of a memory, oldest first, each with the revision it made."""
        changes = self.store.changes(memory=id)
        if not changes:
            raise NotFound(f"There is no memory {id}.")
        return changes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _scope(self, *, user: str | None = None, app: str | None = None, agent: str | None = None) -> Scope:
        return Scope(
            tenant=self.store.tenant,
            user=clean_name(user, what="user"),
            app=clean_name(app, what="app"),
            agent=clean_name(agent, what="agent"),
        )

    def _writer(self, tx: Transaction) -> Writer:
        return Writer(tx=tx, preset=self.preset, author=Author(actor="user"), now=self.clock.now())

    def _live(self, found: Sequence[Memory], id: str) -> Memory:
        if not found:
            raise NotFound(f"There is no memory {id}.")
        return found[0]


def _named(**parts: str | None) -> dict[str, str]:
    return {name: value for name, value in parts.items() if value is not None}
