"""The engine: the public interface of a memory. ``holdfast.open()`` returns an engine."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack, cast

from holdfast.apps import Apps
from holdfast.by_id import memories as by_id
from holdfast.by_id.erasing import erase_target
from holdfast.by_id.sessions import only_session
from holdfast.errors import InvalidInput
from holdfast.maintenance import Maintenance
from holdfast.protocols import Vectors
from holdfast.recall.listing import Kinds, Listing, ScopedListing
from holdfast.scoped import ScopedMemory
from holdfast.services import Services
from holdfast.session import Session, resume
from holdfast.text.clean import clean_name
from holdfast.topic_files import TopicPages
from holdfast.types import (
    ChangeRecord,
    Context,
    Hits,
    Memory,
    MemoryOrigin,
    NewMemory,
    Receipt,
    Scope,
    SessionRecord,
    SessionStatus,
    UserProfile,
    Where,
)

hints = logging.getLogger("holdfast.hints")
"""Logger for hints to developers who call the library. The command line disables it and prints its own hints."""
_HINT_SECONDS = 60.0
"""Minimum time, in seconds, between two checks whether the caller may have forgotten ``user=``.

A check runs when a recall without a user finds nothing. It counts the users, which reads the whole store.
"""


class Engine(Maintenance):
    """The main object of Holdfast: one store, one preset, one embedder, and optionally a chat model.

    Calls take the scope as ``user=``, ``app=`` and ``agent=``; :meth:`for_user` returns a view with a fixed scope. If a part
    of the scope is missing, the data is shared: ``remember("...")`` without a user stores a memory for all users.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self.preset = services.preset
        """The preset: the kinds of memories, and how they are extracted and recalled."""
        self.topics = TopicPages(
            services.store,
            services.preset,
            services.clock,
            follow_up=services.condenser.follow_up,
            changed=services.scheduler.wake,
        )
        """Topic pages in Markdown."""
        self.apps = Apps(
            services.store,
            services.preset,
            services.clock,
            reader=services.reader,
            embedding=services.embedding,
            energy=services.energy,
        )
        """The registry of apps."""
        self._next_hint: float | None = 0.0
        services.scheduler.start()

    def __repr__(self) -> str:
        location = self._services.store.location
        name = location if "://" in location else Path(location).name
        return f"<holdfast.Engine {name}, preset {self.preset.name!r}>"

    def for_user(self, user: str, *, app: str | None = None, agent: str | None = None) -> ScopedMemory:
        """Return a view of this memory for one user. It has the methods of the engine, without ``user``, ``app`` and ``agent``."""
        scope = self._scope(user=user, app=app, agent=agent)
        if scope.user is None:
            raise InvalidInput("for_user needs the name of a user.")
        return ScopedMemory(self._services, scope)

    # Sessions

    def session(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        id: str | None = None,
        shared: bool = False,
        off_record: bool = False,
    ) -> Session:
        """Start a session, or resume the session with this ``id``. With ``off_record``, nothing of the session is stored.

        ``with memory.session(user="ana") as session:`` ends the session at the end of the ``with`` block. An ``id`` is unique
        within a scope: two users can use the same id for different sessions. ``session(id=record.id)`` without a scope resumes
        a session that :meth:`sessions` lists; an unknown id raises :class:`holdfast.NotFound`. ``shared=True`` starts
        or resumes a session that belongs to no user. All users share the memories learned from it.
        """
        scope = self._scope(user=user, app=app, agent=agent)
        if id is not None and not shared and not off_record and not (user or app or agent):
            return resume(self._services, only_session(self._services.store, clean_name(id, what="session id") or ""))
        return ScopedMemory(self._services, scope).session(id=id, off_record=off_record)

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
        """List sessions, most recently active first. To resume one, call ``session(id=record.id)``."""
        view = self._in(user=user, app=app, agent=agent)
        return view.sessions(statuses=statuses, limit=limit, offset=offset)

    # Writing

    def remember(
        self,
        text: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
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
        return self._in(user=user, app=app, agent=agent).remember(
            text,
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

    def remember_all(
        self, memories: Iterable[NewMemory], *, user: str | None = None, app: str | None = None, agent: str | None = None
    ) -> list[Memory]:
        """Store several memories in one transaction: all are stored or none.

        Each entry of ``memories`` is a dict with the arguments of :meth:`remember`. In the history, each memory is a separate
        change and can be undone separately.
        """
        return self._in(user=user, app=app, agent=agent).remember_all(memories)

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

        Given tags replace all old tags, and given metadata replaces all old metadata. With ``if_revision``, the memory must
        have this revision, or :class:`holdfast.RevisionConflict` is raised. ``expires_at`` is a time or ``"never"``; a new
        expiry alone adds no revision. Secrets in the given values are redacted, unless ``redact`` is False.
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
        )

    def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        kind: Kinds = None,
        kinds: Kinds = None,
        namespace: Sequence[str] = (),
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        reason: str = "asked to forget",
    ) -> int:
        """Hide memories by id, or by key within a scope and a namespace. Return the number of hidden memories.

        ``undo`` restores hidden memories until they are purged. If a scope is given with an ``id``, the memory must be visible
        in this scope. An unknown id or key raises :class:`holdfast.NotFound`. A memory of a plain kind is removed at once.
        """
        if id is not None and key is None:
            reader = self._scope(user=user, app=app, agent=agent) if (user, app, agent) != (None, None, None) else None
            return by_id.forget(self._services, id, reason=reason, reader=reader)
        if key is None or id is not None:
            raise InvalidInput("forget needs an id, or a key with its user: forget(id) or forget(key=..., user=...).")
        scope = self._scope(user=user, app=app, agent=agent)
        return by_id.forget_key(self._services, key, scope, kind=kind, kinds=kinds, namespace=namespace, reason=reason)

    def proposals(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Memory]:
        """List the changes that wait for a person's decision, newest first.

        A change waits for a decision if two conditions are met. It would supersede a memory that the user stored, and it may
        come from text that the user did not write. This can be text of a tool, a web page or a file, or a quotation.
        """
        return self._in(user=user, app=app, agent=agent).proposals(limit=limit, offset=offset)

    def accept(self, id: str) -> Memory:
        """Accept a proposal. It becomes a memory and supersedes the memories that it proposed to replace.

        A memory of low trust can be accepted too. An accepted memory has full trust.
        """
        return by_id.decide(self._services, id, accept=True)

    def dismiss(self, id: str) -> Memory:
        """Dismiss a proposal. You can undo this until the undo window has passed."""
        return by_id.decide(self._services, id, accept=False)

    def undo(self, change: str | ChangeRecord) -> list[Memory]:
        """Undo a change and all other changes of its batch. Return the affected memories in their new state.

        ``change`` may also be the id of a batch.
        """
        return by_id.undo(self._services, change)

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
        """Erase data for good. Give one of ``id``, ``session`` and ``source``, or a scope.

        ``id`` is the id of a memory, ``session`` of a session, and ``source`` of a message. Everything derived from the erased
        data is erased, too. A scope is any of ``user``, ``app`` and ``agent``; all given parts must match, so ``erase(user=)``
        covers all apps. An unknown id raises :class:`holdfast.NotFound`. A scope without data raises no error.
        """
        owner = {"user": user, "app": app, "agent": agent}
        return erase_target(self._services, memory=id, session=session, source=source, owner=owner)

    # Reading

    def recall(
        self,
        query: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
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

        ``kind`` or ``kinds`` restricts the search to these kinds; ``"message"`` stands for messages. ``namespace`` restricts
        the search to one namespace, and ``namespace_prefix`` to all namespaces that start with these labels. ``offset`` is
        the number of best hits to skip. With ``distinct=False``, hits that repeat a better hit are returned, too. ``vector``
        is the query's vector, if you have computed it with the same embedder; only then may the query be blank.

        Text of tools, web pages, files and quotations is left out, and so are memories derived from such text. With
        ``untrusted``, these hits are appended after the others.
        """
        view = self._in(user=user, app=app, agent=agent)
        hits = view.recall(
            query,
            limit=limit,
            offset=offset,
            kind=kind,
            kinds=kinds,
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
        if not hits and view.scope.user is None:
            self._hint_at_users()
        return hits

    def context(
        self,
        query: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        max_tokens: int | None = None,
        untrusted: bool = False,
    ) -> Context:
        """Return a context block for a system prompt, with at most ``max_tokens`` tokens. ``untrusted`` is as in :meth:`recall`.

        With a blank query, as at the start of a conversation, the block has the pinned and the newest memories.
        """
        return self._in(user=user, app=app, agent=agent).context(query, max_tokens=max_tokens, untrusted=untrusted)

    def memories(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        limit: int = 100,
        offset: int = 0,
        kind: Kinds = None,
        kinds: Kinds = None,
        key: str | None = None,
        namespace: Sequence[str] | None = None,
        namespace_prefix: Sequence[str] = (),
        topic: str | None = None,
        where: Where | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        retired: bool = False,
    ) -> list[Memory]:
        """List memories, newest first. By default, list the live memories.

        ``as_of`` selects the memories that were valid at that time, according to what is known today. ``known_at``
        selects the memories that were live in the store at that time. ``retired`` selects retired memories.
        ``namespace`` selects one namespace exactly, and ``()`` the memories without one; ``namespace_prefix`` selects
        all namespaces that start with these labels.
        """
        return self._in(user=user, app=app, agent=agent).memories(
            limit=limit,
            offset=offset,
            kind=kind,
            kinds=kinds,
            key=key,
            namespace=namespace,
            namespace_prefix=namespace_prefix,
            topic=topic,
            where=where,
            as_of=as_of,
            known_at=known_at,
            retired=retired,
        )

    def count_memories(self, **wanted: Unpack[Listing]) -> int:
        """Count the memories that :meth:`memories` would list without a limit. Takes the same arguments."""
        view = self._in(user=wanted.get("user"), app=wanted.get("app"), agent=wanted.get("agent"))
        within = {name: value for name, value in wanted.items() if name not in ("user", "app", "agent")}
        return view.count_memories(**cast("ScopedListing", within))

    def namespaces(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        kind: Kinds = None,
        kinds: Kinds = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """List the namespaces that have live memories, sorted by label.

        ``prefix`` and ``suffix`` select namespaces that start or end with these labels; ``"*"`` stands for any label. With
        ``max_depth``, longer namespaces are cut to that many labels, and each result is listed once.
        """
        return self._in(user=user, app=app, agent=agent).namespaces(
            prefix=prefix, suffix=suffix, max_depth=max_depth, kind=kind, kinds=kinds, limit=limit, offset=offset
        )

    def get(self, id: str) -> Memory:
        """Return the current revision of a memory, even if it is retired."""
        return by_id.get(self._services, id)

    def history(self, id: str) -> list[ChangeRecord]:
        """Return the changes of a memory, oldest first. Each change has the revision that it created."""
        return by_id.history(self._services, id)

    # Users, background work and the store

    def set_user(self, user: str, *, timezone: str | None = None, language: str | None = None) -> UserProfile:
        """Set a user's language, time zone or both. The time zone decides when the user's day ends."""
        return self._in(user=user).set_user(timezone=timezone, language=language)

    def close(self) -> None:
        """Stop the worker and close the store. Queued work stays queued."""
        self._services.scheduler.stop()
        self._services.housekeeping.finish()
        self._services.chat.close()
        self._services.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _in(self, *, user: str | None = None, app: str | None = None, agent: str | None = None) -> ScopedMemory:
        return ScopedMemory(self._services, self._scope(user=user, app=app, agent=agent))

    def _scope(self, *, user: str | None = None, app: str | None = None, agent: str | None = None) -> Scope:
        return Scope(
            tenant=self._services.store.tenant,
            user=clean_name(user, what="user"),
            app=clean_name(app, what="app"),
            agent=clean_name(agent, what="agent"),
        )

    def _hint_at_users(self) -> None:
        """Log a hint, at most once, if the store has users. Called when a recall without a user found nothing."""
        if self._next_hint is None or time.monotonic() < self._next_hint:
            return
        self._next_hint = time.monotonic() + _HINT_SECONDS
        users = self._services.store.stats()["users"]
        if users:
            self._next_hint = None
            owners = "1 user" if users == 1 else f"{users} users"
            hints.warning("This recall names no user. Memories of %s are only found with user=...", owners)
