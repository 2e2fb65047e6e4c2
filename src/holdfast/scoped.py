"""The memory of one scope. Its methods are those of an engine, without the arguments ``user=``, ``app=`` and ``agent=``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

from holdfast.by_id import memories as by_id
from holdfast.by_id.erasing import erase_target
from holdfast.errors import InvalidInput
from holdfast.protocols import SessionFilter, TraceFilter, Vectors
from holdfast.recall.listing import Kinds, ScopedListing, kind_names, list_namespaces, listing_filter
from holdfast.recall.traces.explain import explain
from holdfast.runtime.clock import zone
from holdfast.runtime.ids import new_id
from holdfast.runtime.tracing import watched
from holdfast.services import Services
from holdfast.session import Session
from holdfast.text.clean import clean_name, required_query
from holdfast.text.fields import check_fields, naming
from holdfast.text.language import language_tag
from holdfast.types import (
    ChangeRecord,
    Context,
    Explanation,
    Hits,
    Memory,
    MemoryOrigin,
    NewMemory,
    Put,
    Receipt,
    Scope,
    SessionRecord,
    SessionStatus,
    Trace,
    UserProfile,
    Where,
)
from holdfast.values import check_expiry, make_put

if TYPE_CHECKING:
    from os import PathLike

    from holdfast.exporters.save import ExportFormat, ExportResult
    from holdfast.exporters.walk import Progress as ExportProgress
    from holdfast.importers.run import ImportResult
    from holdfast.importers.run import Progress as ImportProgress


class ScopedMemory:
    """The memory of one user. Returned by ``Engine.for_user()``.

    ::

        ana = memory.for_user("ana")
        ana.remember("prefers tea", key="drink")
        ana.recall("what does she drink?")

    Reads see the user's own data and data shared by all users. The id of another user's memory or session raises
    :class:`holdfast.NotFound`.
    """

    def __init__(self, services: Services, scope: Scope) -> None:
        self._services = services
        self.scope = scope
        """The tenant, user, app and agent of this memory."""

    def __repr__(self) -> str:
        parts = [f"{part} {value!r}" for part, value in self.scope.owner.items()]
        return f"<holdfast.ScopedMemory {', '.join(parts) or 'shared'}>"

    # Sessions

    def session(self, *, id: str | None = None, off_record: bool = False) -> Session:
        """Start a session, or resume the session with this ``id`` in this scope. With ``off_record``, nothing is stored.

        In ``with ana.session() as session:``, the session ends when the block ends.
        """
        self._services.topic_files.use(self.scope)
        chosen = clean_name(id, what="session id") or new_id("ses", self._services.clock.now())
        return Session(self._services, id=chosen, scope=self.scope, off_record=off_record)

    def sessions(
        self, *, statuses: Sequence[SessionStatus] | None = None, limit: int = 50, offset: int = 0
    ) -> list[SessionRecord]:
        """List sessions, most recently active first. To resume a session, call ``session(id=record.id)``."""
        return self._services.store.sessions(SessionFilter(owner=self.scope.owner, statuses=statuses, limit=limit, offset=offset))

    # Writing

    @watched("remember")
    def remember(
        self,
        text: str,
        *,
        kind: str | None = None,
        key: str | None = None,
        namespace: Sequence[str] = (),
        topic: str | None = None,
        importance: float | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        pinned: bool | None = None,
        valid_from: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        created_at: datetime | str | None = None,
        index: Sequence[str] | bool = True,
        sources: Sequence[str] = (),
        origin: MemoryOrigin = "explicit",
        trust: float = 1.0,
        redact: bool = True,
        if_revision: int | None = None,
    ) -> Memory:
        """Store a memory. It is durable when the call returns. Storing the same text again refreshes the existing memory.

        ``namespace`` is a tuple of labels that groups memories. ``created_at`` is for imports: the time at which the memory
        was first stored elsewhere. ``index`` lists texts to search instead of the memory's own text; ``False`` makes the
        memory unsearchable. Secrets are redacted, and ``redacted`` of the returned memory lists them. ``redact=False`` stores
        them as they are.

        With ``if_revision``, the memory that this call would replace or refresh must exist and have this revision. With
        ``if_revision=0``, there must be no such memory. If the condition is not met, :class:`holdfast.RevisionConflict` is
        raised.
        """
        put = self._put(
            text=text,
            kind=kind,
            key=key,
            namespace=namespace,
            topic=topic,
            importance=importance,
            tags=tags,
            metadata=metadata,
            pinned=pinned,
            valid_from=valid_from,
            expires_at=expires_at,
            created_at=created_at,
            index=index,
            sources=sources,
            origin=origin,
            trust=trust,
            redact=redact,
            if_revision=if_revision,
        )
        return by_id.remember(self._services, [put])[0]

    @watched("remember")
    def remember_all(self, memories: Iterable[NewMemory]) -> list[Memory]:
        """Store several memories in one transaction: all are stored or none.

        Each entry of ``memories`` is a dict with the arguments of :meth:`remember`. In the history, each memory is a separate
        change and can be undone separately.
        """
        puts = []
        for number, memory in enumerate(memories):
            with naming(f"memories[{number}]"):
                puts.append(self._put(**check_fields(memory, NewMemory)))
        return by_id.remember(self._services, puts)

    def _put(self, **fields: Any) -> Put:
        put = make_put(self._services.preset, self.scope, **fields)
        check_expiry(put.expires_at, self._services.clock.now())
        return put

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
        expires_at: datetime | str | None = None,
        index: Sequence[str] | bool | None = None,
        if_revision: int | None = None,
        redact: bool = True,
    ) -> Memory:
        """Correct a memory by adding a revision. Fields that are not given keep their value.

        Given tags replace all old tags, and given metadata replaces all old metadata. With ``if_revision``, the memory
        must have this revision, or :class:`holdfast.RevisionConflict` is raised. ``expires_at`` is a time or
        ``"never"``; a new expiry alone adds no revision. Secrets in the given values are redacted, unless ``redact`` is
        False.
        """
        return by_id.revise(
            self._services,
            id,
            text,
            importance=importance,
            tags=tags,
            metadata=metadata,
            topic=topic,
            pinned=pinned,
            reason=reason,
            expires_at=expires_at,
            index=index,
            if_revision=if_revision,
            redact=redact,
            reader=self.scope,
        )

    def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        kind: Kinds = None,
        kinds: Kinds = None,
        namespace: Sequence[str] = (),
        reason: str = "asked to forget",
    ) -> int:
        """Hide memories by id, or by key within a namespace. Return the number of hidden memories.

        Forgetting can be undone until the memories are purged. A memory of a plain kind is removed at once.
        """
        if id is not None and key is None:
            return by_id.forget(self._services, id, reason=reason, reader=self.scope)
        if key is None or id is not None:
            raise InvalidInput("forget needs an id or a key: forget(id) or forget(key=...).")
        return by_id.forget_key(self._services, key, self.scope, kind=kind, kinds=kinds, namespace=namespace, reason=reason)

    def proposals(self, *, limit: int = 100, offset: int = 0) -> list[Memory]:
        """List the changes that wait for a person's decision, newest first. See :meth:`Engine.proposals`."""
        return by_id.proposals(self._services, reader=self.scope, limit=limit, offset=offset)

    def accept(self, id: str) -> Memory:
        """Accept a proposal. It becomes a memory and supersedes the memories that it proposed to replace."""
        return by_id.decide(self._services, id, accept=True, reader=self.scope)

    def dismiss(self, id: str) -> Memory:
        """Dismiss a proposal. You can undo this until the undo window has passed."""
        return by_id.decide(self._services, id, accept=False, reader=self.scope)

    def undo(self, change: str | ChangeRecord) -> list[Memory]:
        """Undo a change and all other changes of its batch. Return the resulting memories.

        ``change`` may also be the id of a batch.
        """
        return by_id.undo(self._services, change, reader=self.scope)

    def erase(self, *, id: str | None = None, session: str | None = None, source: str | None = None) -> Receipt:
        """Erase a memory, session or message with everything derived from it. Without arguments, erase all data of this scope.

        Data that all users share is not part of this scope and is not erased.
        """
        everything = id is None and session is None and source is None
        owner: Mapping[str, str] = self.scope.owner if everything else {}
        return erase_target(self._services, memory=id, session=session, source=source, owner=owner, reader=self.scope)

    def export(
        self,
        target: "str | PathLike[str] | BinaryIO",
        *,
        session: str | None = None,
        format: "ExportFormat | None" = None,
        replace: bool = False,
        progress: "ExportProgress | None" = None,
    ) -> "ExportResult":
        """Write all data of this scope, or one session, to a file: everything that :meth:`erase` would remove.

        See :meth:`Engine.export` for the arguments.
        """
        from holdfast.exporters.save import export  # noqa: PLC0415  (most programs export nothing)

        self._services.reader.traces.flush()
        store, preset, now = self._services.store, self._services.preset, self._services.clock.now()
        return export(
            store, preset, now, target, owner=self.scope.owner, session=session, format=format, replace=replace, progress=progress
        )

    def import_from(
        self,
        path: "str | PathLike[str]",
        *,
        format: str | None = None,
        learn: int | None = None,
        dry_run: bool = False,
        collection: str = "memories",
        progress: "ImportProgress | None" = None,
    ) -> "ImportResult":
        """Import a file or folder of another program into this scope. See :meth:`Engine.import_from` for the arguments."""
        from holdfast.importers.start import MAX_EMBEDDED_AT_ONCE, import_path  # noqa: PLC0415  (most programs import nothing)

        services = self._services
        result = import_path(
            services.store,
            services.preset,
            services.clock,
            services.digester,
            path,
            owner={part: getattr(self.scope, part) for part in ("user", "app", "agent")},
            format=format,
            learn=learn,
            dry_run=dry_run,
            collection=collection,
            progress=progress,
            keep_vectors=services.embedding.adopt,
        )
        if not dry_run:
            services.embedding.catch_up_if_few(MAX_EMBEDDED_AT_ONCE)
        services.scheduler.wake()
        return result

    def set_user(self, *, timezone: str | None = None, language: str | None = None) -> UserProfile:
        """Set the user's language, time zone or both. The time zone decides when the user's day ends."""
        if self.scope.user is None:
            raise InvalidInput("set_user needs the name of a user.")
        with self._services.store.write() as tx:
            known = tx.user(self.scope.user)
            profile = UserProfile(
                user=self.scope.user,
                timezone=known.timezone if timezone is None else zone(timezone).key,
                language=known.language if language is None else language_tag(language),
            )
            tx.set_user(profile)
        return profile

    # Reading

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        offset: int = 0,
        kind: Kinds = None,
        kinds: Kinds = None,
        where: Where | None = None,
        namespace: Sequence[str] | None = None,
        namespace_prefix: Sequence[str] = (),
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_score: float = 0.0,
        distinct: bool = True,
        vector: "Sequence[float] | Vectors | None" = None,
        untrusted: bool = False,
    ) -> Hits:
        """Return the memories and messages that are relevant to a query, best first, each with the reasons why it was found.

        See :meth:`Engine.recall` for the arguments.
        """
        return self._services.reader.recall(
            self.scope,
            required_query(query, vector=vector),
            limit=limit,
            offset=offset,
            kinds=kind_names(kind, kinds),
            where=where,
            namespace=namespace,
            namespace_prefix=namespace_prefix,
            now=now,
            as_of=as_of,
            min_score=min_score,
            distinct=distinct,
            vector=vector,
            untrusted=untrusted,
        )

    def context(self, query: str, *, max_tokens: int | None = None, untrusted: bool = False) -> Context:
        """Return a context block for a system prompt, with at most ``max_tokens`` tokens.

        ``untrusted`` is as in :meth:`recall`.
        """
        return self._services.reader.context(self.scope, query, max_tokens=max_tokens, untrusted=untrusted)

    def traces(self, *, session: str | None = None, limit: int = 50, offset: int = 0) -> list[Trace]:
        """List the traces of this scope's context blocks, newest first. See :meth:`Engine.traces`."""
        self._services.reader.traces.flush()
        return self._services.store.traces(TraceFilter(owner=self.scope.owner, session=session, limit=limit, offset=offset))

    def explain(self, id: str, query: str, *, max_tokens: int | None = None) -> Explanation:
        """Explain why a memory is in this scope's context block for a query, or why it is left out. Nothing is stored."""
        services, memory = self._services, self.get(id)
        return explain(services.reader, memory, self.scope, query, now=services.clock.now(), max_tokens=max_tokens)

    def memories(self, *, limit: int = 100, offset: int = 0, **wanted: Unpack[ScopedListing]) -> list[Memory]:
        """List memories, newest first. Accepts the filters of :meth:`Engine.memories`."""
        found = listing_filter(self._services.store, self._services.preset, self.scope, self._services.clock.now(), **wanted)
        return self._services.store.memories(replace(found, limit=limit, offset=offset))

    def count_memories(self, **wanted: Unpack[ScopedListing]) -> int:
        """Return the number of memories that :meth:`memories` would list without a limit."""
        return self._services.store.count_memories(
            listing_filter(self._services.store, self._services.preset, self.scope, self._services.clock.now(), **wanted)
        )

    def namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        kind: Kinds = None,
        kinds: Kinds = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """List the namespaces that have live memories, sorted by label. See :meth:`Engine.namespaces` for the arguments."""
        wanted = listing_filter(
            self._services.store, self._services.preset, self.scope, self._services.clock.now(), kind=kind, kinds=kinds
        )
        return list_namespaces(
            self._services.store, wanted, prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset
        )

    def get(self, id: str) -> Memory:
        """Return the current revision of a memory, including a retired one."""
        return by_id.get(self._services, id, reader=self._reader)

    def history(self, id: str) -> list[ChangeRecord]:
        """Return the changes of a memory, oldest first. Each change has the revision that it created."""
        return by_id.history(self._services, id, reader=self._reader)

    @property
    def _reader(self) -> Scope:
        """This scope, extended for reading by the apps that share their memories with this scope's app."""
        app = self.scope.app
        return replace(self.scope, also_apps=tuple(self._services.store.apps_sharing_with(app))) if app else self.scope
