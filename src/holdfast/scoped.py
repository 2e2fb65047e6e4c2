"""The memory of one scope. Its methods are those of an engine, without the arguments ``user=``, ``app=`` and ``agent=``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Unpack

from holdfast import by_id
from holdfast.errors import InvalidInput
from holdfast.learning.changes.keys import split_key
from holdfast.protocols import SessionFilter
from holdfast.recall.listing import Kinds, ScopedListing, kind_names, listing_filter
from holdfast.runtime.clock import as_utc, zone
from holdfast.runtime.ids import new_id
from holdfast.runtime.tracing import watched
from holdfast.services import Services
from holdfast.session import Session
from holdfast.text.clean import clean_name
from holdfast.types import (
    ChangeRecord,
    Context,
    Hits,
    Memory,
    MemoryOrigin,
    Put,
    Receipt,
    Scope,
    SessionRecord,
    SessionStatus,
    UserProfile,
    Where,
)

_MAX_CLOCK_DIFFERENCE = timedelta(days=1)


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
        parts = [f"{part} {value!r}" for part, value in self._owner.items()]
        return f"<holdfast.ScopedMemory {', '.join(parts) or 'shared'}>"

    # Sessions

    def session(self, *, id: str | None = None, off_record: bool = False) -> Session:
        """Start a session, or resume the one with this ``id`` in this scope. With ``off_record``, nothing is stored.

        In ``with ana.session() as session:``, the session ends when the block ends.
        """
        self._services.topic_files.use(self.scope)
        chosen = clean_name(id, what="session id") or new_id("ses", self._services.clock.now())
        return Session(self._services, id=chosen, scope=self.scope, off_record=off_record)

    def sessions(
        self, *, statuses: Sequence[SessionStatus] | None = None, limit: int = 50, offset: int = 0
    ) -> list[SessionRecord]:
        """List sessions, most recently active first. ``session(id=record.id)`` resumes one."""
        return self._services.store.sessions(SessionFilter(owner=self._owner, statuses=statuses, limit=limit, offset=offset))

    # Writing

    @watched("remember")
    def remember(
        self,
        text: str,
        *,
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
        redact: bool = True,
    ) -> Memory:
        """Store a memory. It is durable when the call returns. Storing the same text again refreshes the existing memory.

        Secrets are redacted, and ``redacted`` of the returned memory lists them. ``redact=False`` stores them as they are.
        """
        preset = self._services.preset
        if key is None and preset.default_key is not None and preset.kind(kind).keyed == "many":
            found, text = split_key(text)
            key = found or preset.default_key
        put = Put(
            scope=self.scope,
            kind=preset.kind(kind).name,
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
            expires_at=None if expires_at is None else self._future(as_utc(expires_at, what="expires_at")),
            redact=redact,
        )
        with self._services.store.write() as tx:
            (memory,) = by_id.writer(self._services, tx).apply([put])
        self._services.scheduler.wake()
        return memory

    def _future(self, expires_at: datetime) -> datetime:
        """Return an expiry time, or raise ``InvalidInput`` if it is long past. Clocks of two machines may differ a little."""
        if expires_at < self._services.clock.now() - _MAX_CLOCK_DIFFERENCE:
            raise InvalidInput(f"expires_at {expires_at:%Y-%m-%d %H:%M} UTC is in the past. Nothing was stored.")
        return expires_at

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
        redact: bool = True,
    ) -> Memory:
        """Correct a memory by adding a revision. Values that are not given stay as they are.

        Given tags replace all old tags, and given metadata replaces all old metadata. Secrets in the given values are redacted,
        unless ``redact`` is False.
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
        reason: str = "asked to forget",
    ) -> int:
        """Hide memories by id or by key. Return the number of hidden memories.

        Forgetting can be undone until the memories are purged.
        """
        if id is not None and key is None:
            return by_id.forget(self._services, id, reason=reason, reader=self.scope)
        if key is None or id is not None:
            raise InvalidInput("forget needs an id or a key: forget(id) or forget(key=...).")
        return by_id.forget_key(self._services, key, self.scope, kind=kind, kinds=kinds, reason=reason)

    def undo(self, change: str | ChangeRecord) -> list[Memory]:
        """Undo a change and the other changes of its batch; returns the memories as they are now."""
        return by_id.undo(self._services, change, reader=self.scope)

    def erase(self, *, id: str | None = None, session: str | None = None, source: str | None = None) -> Receipt:
        """Erase a memory, session or message with everything derived from it. Without arguments, erase all data of this scope.

        Data that all users share is not part of this scope and is not erased.
        """
        everything = id is None and session is None and source is None
        owner: Mapping[str, str] = self._owner if everything else {}
        return by_id.erase_target(self._services, memory=id, session=session, source=source, owner=owner, reader=self.scope)

    def set_user(self, *, timezone: str | None = None, language: str | None = None) -> UserProfile:
        """Set the user's language or time zone. The time zone decides when their day ends."""
        if self.scope.user is None:
            raise InvalidInput("set_user needs the name of a user.")
        with self._services.store.write() as tx:
            known = tx.user(self.scope.user)
            profile = UserProfile(
                user=self.scope.user,
                timezone=known.timezone if timezone is None else zone(timezone).key,
                language=language or known.language,
            )
            tx.set_user(profile)
        return profile

    # Reading

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kind: Kinds = None,
        kinds: Kinds = None,
        where: Where | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_score: float = 0.0,
    ) -> Hits:
        """Return the memories and messages that are relevant to a query, best first, with the reasons why each was found."""
        return self._services.reader.recall(
            self.scope, query, limit=limit, kinds=kind_names(kind, kinds), where=where, now=now, as_of=as_of, min_score=min_score
        )

    def context(self, query: str, *, max_tokens: int | None = None) -> Context:
        """Return a context block for a system prompt, of at most ``max_tokens``."""
        return self._services.reader.context(self.scope, query, max_tokens=max_tokens)

    def memories(self, *, limit: int = 100, offset: int = 0, **wanted: Unpack[ScopedListing]) -> list[Memory]:
        """List memories, newest first. Accepts the filters of :meth:`Engine.memories`."""
        found = listing_filter(self._services.preset, self.scope, self._services.clock.now(), **wanted)
        return self._services.store.memories(replace(found, limit=limit, offset=offset))

    def count_memories(self, **wanted: Unpack[ScopedListing]) -> int:
        """Return the number of memories that :meth:`memories` would list without a limit."""
        return self._services.store.count_memories(
            listing_filter(self._services.preset, self.scope, self._services.clock.now(), **wanted)
        )

    def get(self, id: str) -> Memory:
        """Return the current revision of a memory, including a retired one."""
        return by_id.get(self._services, id, reader=self._reader)

    def history(self, id: str) -> list[ChangeRecord]:
        """Return the changes of a memory, oldest first. Each change has the revision that it created."""
        return by_id.history(self._services, id, reader=self._reader)

    @property
    def _owner(self) -> dict[str, str]:
        return by_id.named(user=self.scope.user, app=self.scope.app, agent=self.scope.agent)

    @property
    def _reader(self) -> Scope:
        """This scope, with access to the apps that share their memories with its app."""
        app = self.scope.app
        return replace(self.scope, also_apps=tuple(self._services.store.apps_sharing_with(app))) if app else self.scope
