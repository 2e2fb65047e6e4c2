"""The engine, which is the public interface of a memory. ``holdfast.open()`` returns one."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack, cast

from holdfast import by_id
from holdfast.apps import Apps
from holdfast.errors import InvalidInput
from holdfast.recall.listing import Kinds, Listing, ScopedListing
from holdfast.runtime.clock import as_utc
from holdfast.scoped import ScopedMemory
from holdfast.services import Services
from holdfast.session import Session, resume
from holdfast.text.clean import clean_name
from holdfast.topic_files import TopicPages
from holdfast.types import (
    ChangeRecord,
    Context,
    Finding,
    Hits,
    Job,
    JobState,
    Memory,
    MemoryOrigin,
    Receipt,
    Scope,
    SessionRecord,
    SessionStatus,
    Spend,
    Stats,
    UserProfile,
    UserRecord,
    Where,
)

hints = logging.getLogger("holdfast.hints")
"""Logger for hints to developers who call the library. The command line disables it and prints its own hints."""
_HINT_SECONDS = 60.0
"""Minimum time, in seconds, between two checks for a forgotten ``user=``. Such a check can log a hint.

Each check counts the users, which reads the whole store.
"""


class Engine:
    """A memory: one store, one preset, one embedder, and optionally a chat model.

    Calls take the scope as ``user=``, ``app=`` and ``agent=``; :meth:`for_user` returns a view without them. If a part is
    missing, the data is shared: ``remember("...")`` without a user stores a memory for all users.
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
        """Return the memory of one user: the same calls without ``user=``, ``app=`` and ``agent=``."""
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
        """Start a session, or resume the session with this ``id``. With ``off_record``, nothing is stored.

        ``with memory.session(user="ana") as session:`` ends the session when the block ends. An ``id`` is unique within a scope:
        the same id of two users names two sessions. ``session(id=record.id)`` without a scope resumes a session that
        :meth:`sessions` lists; an unknown id raises :class:`holdfast.NotFound`. ``shared=True`` starts or resumes a session
        that belongs to nobody, so that all users share what is learned from it.
        """
        scope = self._scope(user=user, app=app, agent=agent)
        if id is not None and not shared and not off_record and not (user or app or agent):
            return resume(self._services, by_id.only_session(self._services, clean_name(id, what="session id") or ""))
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
        return self._in(user=user, app=app, agent=agent).remember(
            text,
            kind=kind,
            key=key,
            topic=topic,
            importance=importance,
            tags=tags,
            metadata=metadata,
            pinned=pinned,
            valid_from=valid_from,
            expires_at=expires_at,
            sources=sources,
            origin=origin,
            trust=trust,
            redact=redact,
        )

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
        """Correct a memory by adding a revision. Fields that are not given keep their value; tags and metadata are replaced.

        Secrets in the given values are redacted, unless ``redact`` is False.
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
        )

    def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        kind: Kinds = None,
        kinds: Kinds = None,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        reason: str = "asked to forget",
    ) -> int:
        """Hide memories by id, or by key within a scope; returns how many were hidden.

        ``undo`` brings hidden memories back until they are purged. With an ``id`` and a scope, the scope must be able to see the
        memory. An unknown id or key raises :class:`holdfast.NotFound`.
        """
        if id is not None and key is None:
            reader = self._scope(user=user, app=app, agent=agent) if by_id.named(user=user, app=app, agent=agent) else None
            return by_id.forget(self._services, id, reason=reason, reader=reader)
        if key is None or id is not None:
            raise InvalidInput("forget needs an id, or a key with its user: forget(id) or forget(key=..., user=...).")
        scope = self._scope(user=user, app=app, agent=agent)
        return by_id.forget_key(self._services, key, scope, kind=kind, kinds=kinds, reason=reason)

    def undo(self, change: str | ChangeRecord) -> list[Memory]:
        """Undo a change and all other changes of its batch; returns the memories as they are now."""
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

        ``id`` is a memory, ``session`` a session, ``source`` a message. Everything derived from it is erased, too. A scope is
        any of ``user``, ``app`` and ``agent``; all given parts must match, so ``erase(user=)`` covers all apps. An unknown id
        raises :class:`holdfast.NotFound`. A scope without data raises no error.
        """
        owner = {"user": user, "app": app, "agent": agent}
        return by_id.erase_target(self._services, memory=id, session=session, source=source, owner=owner)

    # Reading

    def recall(
        self,
        query: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        limit: int = 10,
        kind: Kinds = None,
        kinds: Kinds = None,
        where: Where | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_score: float = 0.0,
    ) -> Hits:
        """Return the memories and messages that are relevant to a query, best first, each with the reasons why it was found.

        ``kind`` or ``kinds`` restricts the search to these kinds; ``"message"`` stands for messages.
        """
        view = self._in(user=user, app=app, agent=agent)
        hits = view.recall(query, limit=limit, kind=kind, kinds=kinds, where=where, now=now, as_of=as_of, min_score=min_score)
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
    ) -> Context:
        """Return a context block for a system prompt, with at most ``max_tokens`` tokens."""
        return self._in(user=user, app=app, agent=agent).context(query, max_tokens=max_tokens)

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
        topic: str | None = None,
        where: Where | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        retired: bool = False,
    ) -> list[Memory]:
        """List memories, newest first. By default, these are the live ones.

        ``as_of`` selects the memories that were valid at that time, according to what is known today. ``known_at`` selects those
        that were live in the store at that time. ``retired`` selects the retired ones.
        """
        return self._in(user=user, app=app, agent=agent).memories(
            limit=limit,
            offset=offset,
            kind=kind,
            kinds=kinds,
            key=key,
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

    def get(self, id: str) -> Memory:
        """Return the current revision of a memory, even if it is retired."""
        return by_id.get(self._services, id)

    def history(self, id: str) -> list[ChangeRecord]:
        """Return the changes of a memory, oldest first, each with the revision it created."""
        return by_id.history(self._services, id)

    # Users, background work and the store

    def set_user(self, user: str, *, timezone: str | None = None, language: str | None = None) -> UserProfile:
        """Set a user's language, time zone or both. The time zone decides when the user's day ends."""
        return self._in(user=user).set_user(timezone=timezone, language=language)

    def users(self, *, limit: int = 100, offset: int = 0) -> list[UserRecord]:
        """List users by name. Each entry has the user's number of memories, number of sessions, and last activity."""
        names = self._services.store.user_names(limit=limit, offset=offset)
        return self._services.store.user_records(names, unexpired_at=self._services.clock.now())

    def jobs(self, *, states: Sequence[JobState] | None = None, limit: int = 100) -> list[Job]:
        """List background jobs, oldest first. ``states=["dead"]`` lists the jobs that failed too often."""
        return self._services.store.jobs(states=states, limit=limit)

    def rerun(self, job: str) -> Job:
        """Queue a job again. The job must be dead, or a digest that fell back to rules because the model failed."""
        again = self._services.jobs.rerun(job)
        self._services.scheduler.wake()
        return again

    def drain(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Run all queued work now: close idle sessions, digest, embed, and clean up. Returns the number of steps."""
        return self._services.scheduler.drain(progress)

    def purge_expired(self) -> int:
        """Purge expired memories, and forgotten memories past the undo window; returns how many were purged.

        This also runs at every start and once an hour. After a jump of the clock, purging waits; see :meth:`trust_clock`.
        """
        return self._services.housekeeping.clean_up()

    def trust_clock(self) -> datetime:
        """Confirm that the clock is right, so that purging goes on after a jump of the clock; returns the time.

        ``doctor`` reports a jump. Without a confirmation, the clock is trusted after three days.
        """
        return self._services.housekeeping.clock_guard.confirm()

    def spend(self, *, since: datetime | str | None = None) -> list[Spend]:
        """List the calls, tokens, US dollars and energy that background work has cost, by day, purpose and model."""
        day = "" if since is None else as_utc(since, what="since").date().isoformat()
        return self._services.store.spend(since=day)

    def stats(self) -> Stats:
        """Return counts of everything stored."""
        return Stats.of(self._services.store.stats())

    def doctor(self, *, deep: bool = True) -> list[Finding]:
        """Check the store, its rows, the embedder and the job queue; returns the findings."""
        services = self._services
        timeout = services.reader.recall_timeout if deep else None
        return [*services.store.check(deep=deep), *services.housekeeping.check(services.embedding, recall_timeout=timeout)]

    def backup(self, target: str | Path) -> Path:
        """Write a consistent copy of the store to a new file."""
        path = Path(target).expanduser()
        self._services.store.backup(path)
        return path

    def close(self) -> None:
        """Stop the worker and close the store. Queued work stays queued."""
        self._services.scheduler.stop()
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
        """Log a hint if a recall that names no user found nothing, although some users have memories. The hint is logged once."""
        if self._next_hint is None or time.monotonic() < self._next_hint:
            return
        self._next_hint = time.monotonic() + _HINT_SECONDS
        users = self._services.store.stats()["users"]
        if users:
            self._next_hint = None
            owners = "1 user" if users == 1 else f"{users} users"
            hints.warning("This recall names no user. Memories of %s are only found with user=...", owners)
