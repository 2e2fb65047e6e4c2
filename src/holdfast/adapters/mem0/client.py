"""The client with mem0's methods."""

import itertools
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from types import TracebackType
from typing import Any, Self, TypeAlias

import holdfast
from holdfast.adapters.mem0 import filters as mem0_filters
from holdfast.adapters.mem0.filters import Filters
from holdfast.adapters.mem0.items import (
    Item,
    change_item,
    hit_item,
    is_expired,
    memory_item,
    namespace_of,
    payload_of,
    read_entity,
    read_expiration,
    read_filters,
    read_limit,
    read_messages,
    read_moment,
    without_identity,
)
from holdfast.adapters.shared import check_engine, session_of

log = logging.getLogger("holdfast")
_UNSET: Any = object()
_LABELED = "labels of the run"
"""Reason that is stored with a revision that only adds metadata. :meth:`Memory.history` leaves such revisions out."""
_PAGE = 200
_MAX_SECONDS = 120
"""Maximum time in seconds that ``add`` waits for a worker that extracts memories."""

Results: TypeAlias = dict[str, list[Item]]


class MemoryNotFound(holdfast.NotFound, ValueError):
    """There is no memory with this id. As in mem0, this is a ``ValueError``."""


class Memory:
    """A client with the methods of mem0's ``Memory``.

    ::

        memory = Memory()
        memory.add("I am vegetarian and allergic to nuts.", user_id="ana")
        memory.search("What can she eat?", filters={"user_id": "ana"})

    ``user_id`` is the user in Holdfast. ``agent_id`` and ``run_id`` are metadata that can be used in filters.
    """

    def __init__(self, memory: holdfast.Engine | None = None, *, hard_delete: bool = False) -> None:
        """Use this engine, or open the default store. With ``hard_delete``, deleting erases data instead of hiding it."""
        self._owned = memory is None
        self._memory = holdfast.open() if memory is None else check_engine(memory)
        self._hard_delete = hard_delete
        self._kinds = [kind.name for kind in self._memory.preset.learned_kinds if not kind.background]

    def close(self) -> None:
        """Close the memory, if this client opened it."""
        if self._owned:
            self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Writing

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | str | float | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> Results:
        """Extract memories from messages and store them. With ``infer=False``, store each message as a memory.

        The call must name a user, an agent or a run. ``metadata`` is added to each memory, and ``timestamp`` is the time of
        the messages. The memories are expired after the day ``expiration_date``. System messages are ignored. With ``infer``,
        the messages are kept, too, in the session ``run_id`` or in a new session. ``memory_type`` and ``prompt`` are not
        supported and raise ``InvalidInput``. Returns when the memories are stored.
        """
        if memory_type is not None or prompt is not None:
            raise holdfast.InvalidInput("memory_type and prompt are not supported. Leave them out.")
        user_id, agent_id, run_id = read_entity(user_id), read_entity(agent_id), read_entity(run_id)
        if not (user_id or agent_id or run_id):
            raise holdfast.InvalidInput("At least one of 'user_id', 'agent_id' or 'run_id' must be provided.")
        labels: Item = {"agent_id": agent_id, "run_id": run_id, "expiration_date": read_expiration(expiration_date)}
        extra = {**without_identity(metadata or {}), **{name: value for name, value in labels.items() if value is not None}}
        said = [message for message in read_messages(messages) if message["role"] != "system"]
        at = None if timestamp is None else read_moment(timestamp)
        if infer:
            return {"results": self._infer(said, extra, user_id=user_id, run_id=run_id, at=at)}
        return {"results": self._store(said, extra, user_id=user_id, at=at)}

    def _store(self, messages: Sequence[Item], extra: Item, *, user_id: str | None, at: datetime | None) -> list[Item]:
        new: list[holdfast.NewMemory] = []
        for message in messages:
            actor = {"actor_id": message["name"]} if message.get("name") else {}
            new.append(
                holdfast.NewMemory(
                    text=message["content"],
                    metadata={**extra, **actor, "role": message["role"]},
                    namespace=namespace_of(extra),
                    created_at=at,
                )
            )
        stored = self._memory.remember_all(new, user=user_id)
        return [
            {"id": kept.id, "memory": kept.text, "event": "ADD", "actor_id": message.get("name"), "role": message["role"]}
            for kept, message in zip(stored, messages, strict=True)
        ]

    def _infer(
        self, messages: Sequence[Item], extra: Item, *, user_id: str | None, run_id: str | None, at: datetime | None
    ) -> list[Item]:
        if not messages:
            return []
        session = session_of(self._memory, run_id, {"user": user_id, "app": None, "agent": None})
        stored = session.add_all(
            holdfast.NewMessage(role=each["role"], text=each["content"], speaker=each.get("name"), at=at) for each in messages
        )
        session.digest()
        self._wait_for(session.id)
        sources = {message.id for message in stored}
        found = [memory for memory in self._listed([user_id], None) if sources & set(memory.sources)]
        return [self._labeled(memory, extra) for memory in reversed(found)]

    def _wait_for(self, session: str) -> None:
        """Run queued jobs until no digest of a session is queued or running. After 120 seconds, give up and log a warning."""
        until = time.monotonic() + _MAX_SECONDS
        while True:
            self._memory.drain()
            open_jobs = self._memory.jobs(states=["queued", "running"], limit=_PAGE)
            if not any(job.kind == "digest" and job.payload.get("session") == session for job in open_jobs):
                return
            if time.monotonic() > until:
                log.warning("Extracting memories takes longer than %d s. They are stored when it is done.", _MAX_SECONDS)
                return
            time.sleep(0.02)

    def _labeled(self, memory: holdfast.Memory, extra: Item) -> Item:
        """Add the metadata ``extra`` to a memory that was just extracted. Return the memory in mem0's format.

        Metadata that the memory already has is kept.
        """
        event = "ADD" if memory.revision == 1 else "UPDATE"
        wanted = {**extra, **memory.metadata}
        if wanted != memory.metadata:
            self._memory.revise(memory.id, metadata=wanted, reason=_LABELED)
        return {"id": memory.id, "memory": memory.text, "event": event}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: date | str | None = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text or the expiration date of a memory, or add metadata. ``data`` is an old name of ``text``."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise holdfast.InvalidInput("At least one of text, metadata or expiration_date must be provided.")
        known = self._live(memory_id)
        wanted = None
        if metadata is not None or expiration_date is not _UNSET:
            wanted = {**known.metadata, **without_identity(metadata or {})}
            if expiration_date is not _UNSET:
                wanted["expiration_date"] = read_expiration(expiration_date)
        self._memory.revise(memory_id, text, metadata=wanted, reason="updated")
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory. Without ``hard_delete``, Holdfast can undo this until the undo window has passed."""
        self._remove(self._live(memory_id))
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> dict[str, str]:
        """Delete all memories of a user, an agent or a run. If several arguments are given, all must match."""
        given = {"user_id": read_entity(user_id), "agent_id": read_entity(agent_id), "run_id": read_entity(run_id)}
        filters = {name: value for name, value in given.items() if value is not None}
        if not filters:
            raise holdfast.InvalidInput("At least one of user_id, agent_id and run_id is required. reset() deletes everything.")
        for memory in list(self._matching(filters, show_expired=True)):
            self._remove(memory)
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Erase everything in the store for good: the memories, sessions and messages of all users."""
        log.warning("Erasing all memories and sessions of the store.")
        for user in list(self._users()):
            self._memory.erase(user=user)
        while shared := self._memory.memories(limit=_PAGE) + self._memory.memories(limit=_PAGE, retired=True):
            for memory in shared:
                self._memory.erase(id=memory.id)
        while sessions := self._memory.sessions(limit=_PAGE):
            for session in sessions:
                self._memory.erase(session=session.id)

    # Reading

    def get(self, memory_id: str) -> Item | None:
        """Return a memory, or None if no memory has this id."""
        try:
            return memory_item(self._live(memory_id), score=None)
        except MemoryNotFound:
            return None

    def get_all(
        self,
        *,
        filters: Filters | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Results:
        """List memories, newest first.

        The call must name a user, an agent or a run: in ``filters``, or with ``user_id``, ``agent_id`` or ``run_id`` as
        in mem0 1.x. ``limit`` is an old name of ``top_k``, the maximum number of memories. With ``show_expired``,
        expired memories are listed, too.
        """
        limit = read_limit(top_k if limit is None else limit)
        wanted = read_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        found = itertools.islice(self._matching(wanted, show_expired=show_expired), limit)
        return {"results": [memory_item(memory) for memory in found]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Filters | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: datetime | str | None = None,
        show_expired: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Results:
        """Return the memories that match a query, best first, with a score from 0 to 1.

        Memories with a score below ``threshold`` are left out. With ``show_expired``, expired memories are searched, too.
        With ``explain``, each result also has the score of each search that found it, such as ``text`` (by words) or
        ``meaning``. ``reference_date`` is the time that words such as "yesterday" refer to. ``rerank`` has no effect: the
        settings of the engine decide whether a reranker is used. The other arguments are those of :meth:`get_all`.

        Raise ``InvalidInput`` if ``query`` is blank, or if ``threshold`` is not from 0 to 1.
        """
        del rerank
        limit = read_limit(top_k if limit is None else limit)
        wanted = read_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        lowest = 0.0 if threshold is None else threshold
        if not isinstance(lowest, int | float) or not 0 <= lowest <= 1:
            raise holdfast.InvalidInput(f"threshold must be a number from 0 to 1, not {threshold!r}.")
        if not isinstance(query, str) or not query.strip():
            raise holdfast.InvalidInput("query must be a text that is not empty.")
        found = [
            hit
            for user in self._readers(wanted)
            for hit in itertools.islice(self._hits(query, user, wanted, lowest, reference_date, show_expired=show_expired), limit)
        ]
        best = sorted(found, key=lambda hit: -hit.score)[:limit]
        return {"results": [hit_item(hit, explain=explain) for hit in best]}

    def history(self, memory_id: str) -> list[Item]:
        """Return the changes of a memory, oldest first. Return an empty list if no memory has this id."""
        try:
            changes = self._memory.history(memory_id)
        except holdfast.NotFound:
            return []
        rows, old = [], None
        for change in changes:
            new = change.after.text if change.after and change.action != "retired" else None
            if change.reason != _LABELED:
                rows.append(change_item(change, old, new))
            old = new if new is not None else old
        return rows

    # Selecting

    def _readers(self, filters: Filters) -> list[str | None]:
        """Return the users whose memories a filter can select. The list contains None for memories that belong to no user."""
        named = mem0_filters.users_named(filters)
        return list(named) if named is not None else [None, *self._users()]

    def _users(self) -> Iterator[str]:
        for offset in itertools.count(0, _PAGE):
            page = self._memory.users(limit=_PAGE, offset=offset)
            yield from (record.user for record in page)
            if len(page) < _PAGE:
                return

    def _hits(
        self,
        query: str,
        user: str | None,
        filters: Filters,
        lowest: float,
        now: datetime | str | None,
        *,
        show_expired: bool,
    ) -> Iterator[holdfast.Hit]:
        where = mem0_filters.as_where(filters)
        for offset in itertools.count(0, _PAGE):
            page = self._memory.recall(
                query,
                user=user,
                kinds=self._kinds,
                where=where,
                limit=_PAGE,
                offset=offset,
                now=now,
                min_score=lowest,
                distinct=False,
            )
            yield from (hit for hit in page if _selected(hit.memory, user, filters, show_expired=show_expired))
            if len(page) < _PAGE:
                return

    def _matching(self, filters: Filters, *, show_expired: bool) -> Iterator[holdfast.Memory]:
        users = self._readers(filters)
        found: Iterable[holdfast.Memory] = self._listed(users, mem0_filters.as_where(filters))
        if len(users) > 1:
            found = sorted(found, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        selected = (memory for memory in found if mem0_filters.matches(filters, payload_of(memory)))
        return (memory for memory in selected if show_expired or not is_expired(memory))

    def _listed(self, users: Iterable[str | None], where: Item | None) -> Iterator[holdfast.Memory]:
        """Yield, for each user, the memories that match the filter ``where``, newest first.

        Memories that all users share are left out, unless ``users`` contains None.
        """
        for user in users:
            for offset in itertools.count(0, _PAGE):
                page = self._memory.memories(user=user, kinds=self._kinds, where=where, limit=_PAGE, offset=offset)
                yield from (memory for memory in page if memory.scope.user == user)
                if len(page) < _PAGE:
                    break

    def _live(self, id: str) -> holdfast.Memory:
        try:
            memory = self._memory.get(id)
        except holdfast.NotFound:
            memory = None
        if memory is None or memory.status != "live":
            raise MemoryNotFound(f"Memory with id {id} not found.")
        return memory

    def _remove(self, memory: holdfast.Memory) -> None:
        if self._hard_delete:
            self._memory.erase(id=memory.id)
        else:
            self._memory.forget(memory.id, reason="deleted")


def _selected(memory: holdfast.Memory | None, user: str | None, filters: Filters, *, show_expired: bool) -> bool:
    if memory is None or memory.scope.user != user or (not show_expired and is_expired(memory)):
        return False
    return mem0_filters.matches(filters, payload_of(memory))
