"""Read the selected data from a store, entry by entry, in a fixed order and with little memory.

The order is: users, apps, messages, sessions, summarized messages, memories, jobs, traces. Messages come before sessions, so
that an import knows the sequence numbers of messages when it stores a session. The rows are read in several queries, so data
that is written during an export may or may not be included.
"""

import heapq
import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from holdfast.background.jobs import session_of
from holdfast.exporters.entries import (
    COVERED,
    JOB_PLACES,
    SESSION_PLACES,
    Entry,
    JobEntry,
    MemoryEntry,
    MessageEntry,
    RevisionEntry,
    SessionEntry,
    SummarizedEntry,
)
from holdfast.exporters.selection import Selection, belongs
from holdfast.forgetting.targets import is_restated
from holdfast.learning.summaries.progress import summarized_setting
from holdfast.presets.base import Preset
from holdfast.presets.plain_kinds import RECORDED, read_kinds
from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter, Store, TraceFilter
from holdfast.types import AppRecord, Job, Kind, Memory, Message, Scope, SessionRecord, Trace, UserProfile

Progress: TypeAlias = Callable[[str, int], None]
"""Callback that receives a type of data, such as ``messages``, and how many of them were read."""
_PAGE = 500
"""Number of rows per read."""
_Read = TypeVar("_Read", bound=Entry)


class Walk:
    """Reads the selected data of a store. :meth:`entries` yields all entries."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        selection: Selection,
        progress: Progress | None = None,
        *,
        sees: Callable[[Scope], bool] = lambda scope: True,
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Number of entries read so far, by type."""
        self._progress = progress
        self._sees = sees
        self._store = store
        self._preset = preset
        self._selection = selection
        self._scopes: set[Scope] = set()
        """Scopes of the messages read so far."""
        self._derived: dict[str, Memory] | None = None
        """Memories outside the selection that were derived from selected data, by id. None if they were not searched for yet.

        Erasing the selection would remove them, too.
        """

    def entries(self) -> Iterator[Entry]:
        """Yield all selected data as entries, grouped by type. The users come first."""
        yield from self.users()
        yield from self.apps()
        yield from self.messages()
        yield from self.sessions()
        yield from self.summarized()
        yield from self.memories()
        yield from self.jobs()
        yield from self.traces()

    def plain_kinds(self) -> Sequence[Kind]:
        """Return the plain kinds (their memories are stored exactly as given) that programs added to the store."""
        return list(read_kinds(self._store.setting(RECORDED)).values())

    def _counted(self, name: str, entries: Iterator[_Read]) -> Iterator[_Read]:
        for entry in entries:
            self.counts[name] += 1
            if self._progress is not None:
                self._progress(name, self.counts[name])
            yield entry

    def users(self) -> Iterator[UserProfile]:
        """Yield the profiles of all users if everything is selected, or of one user if exactly that user is selected."""
        if self._selection.is_whole:
            names: Iterator[str] | Sequence[str] = self._user_names()
        else:
            owner = self._selection.owner
            names = [owner["user"]] if set(owner) == {"user"} else []
        yield from self._counted("users", (self._store.user(name) for name in names))

    def _user_names(self) -> Iterator[str]:
        offset = 0
        while names := self._store.user_names(limit=_PAGE, offset=offset):
            yield from names
            offset += len(names)

    def apps(self) -> Iterator[AppRecord]:
        """Yield the records of all apps if everything is selected, or of one app if exactly that app is selected."""
        owner = self._selection.owner
        found = self._store.apps() if self._selection.is_whole or set(owner) == {"app"} else []
        yield from self._counted("apps", (app for app in found if owner.get("app") in (None, app.app)))

    def messages(self, *, session: SessionRecord | None = None) -> Iterator[MessageEntry]:
        """Yield the selected messages, or the messages of one session, in the order in which they were stored."""
        yield from self._counted("messages", self._read_messages(session))

    def _read_messages(self, session: SessionRecord | None) -> Iterator[MessageEntry]:
        for page in self._message_pages(session):
            asked = {message.answers for message in page if message.answers is not None}
            known = {message.seq: message.id for message in page}
            known |= {each.seq: each.id for each in self._store.messages(MessageFilter(seqs=asked - set(known)))}
            for message in page:
                self._scopes.add(message.scope)
                yield MessageEntry(message=message, answers=known.get(message.answers or 0))

    def _message_pages(self, session: SessionRecord | None = None) -> Iterator[list[Message]]:
        chosen = session or self._selection.session
        wanted = MessageFilter(owner=self._selection.owner, oldest=_PAGE)
        if chosen is not None:
            wanted = MessageFilter(session=chosen.id, exactly=chosen.scope, oldest=_PAGE)
        last = 0
        while page := self._store.messages(replace(wanted, after_seq=last)):
            last = page[-1].seq
            yield page

    def sessions(self, *, again: bool = False) -> Iterator[SessionEntry]:
        """Yield the selected sessions, sorted by id.

        The number of sessions is added to ``counts``. Set ``again`` to read the sessions a second time without counting
        them twice.
        """
        yield from self._read_sessions() if again else self._counted("sessions", self._read_sessions())

    def _read_sessions(self) -> Iterator[SessionEntry]:
        if self._selection.session is not None:
            yield self._session(self._selection.session)
            return
        wanted, last = SessionFilter(owner=self._selection.owner, limit=_PAGE), ""
        while page := self._store.sessions(replace(wanted, after_id=last)):
            last = page[-1].id
            # An id is unique within a scope only, so the page may end between sessions with the same id.
            same = self._store.sessions(SessionFilter(owner=self._selection.owner, ids=(last,)))
            page = [*(session for session in page if session.id != last), *same]
            yield from map(self._session, sorted(page, key=lambda session: (session.id, _scope_key(session.scope))))

    def _session(self, session: SessionRecord) -> SessionEntry:
        numbers = {"digested_to": session.digested_to}
        numbers |= {name: int(session.metadata[name]) for name in SESSION_PLACES if name in session.metadata}
        places = {name: self._message_before(number, session=session.id, scope=session.scope) for name, number in numbers.items()}
        return SessionEntry(session=session, places={name: id for name, id in places.items() if id is not None})

    def _message_before(self, seq: int, *, session: str | None = None, scope: Scope | None = None) -> str | None:
        """Return the id of the newest message whose sequence number is at most ``seq``. Return None if there is none.

        The message with the number ``seq`` itself may have been removed. With ``session`` or ``scope``, only messages of this
        session or scope are considered.
        """
        found = self._store.messages(MessageFilter(session=session, exactly=scope, up_to_seq=seq, newest=1)) if seq else []
        return found[0].id if found else None

    def summarized(self) -> Iterator[Entry]:
        """Yield an entry for each scope with summarized messages.

        The entry has the scope, and the id of the last message that a summary covers. Call :meth:`messages` first, because
        that method collects the scopes. If only one session is selected, nothing is yielded, because an entry belongs to a
        whole scope.
        """
        scopes = self._scopes if self._selection.session is None else set()
        for scope in sorted(scopes, key=_scope_key):
            mark = self._store.setting(summarized_setting(scope))
            up_to = None if mark is None else self._message_before(int(mark), scope=scope)
            if up_to is not None:
                yield SummarizedEntry(scope=scope, up_to=up_to)

    def memories(self, *, again: bool = False) -> Iterator[MemoryEntry]:
        """Yield the selected memories and the memories derived from selected data, sorted by id.

        The number of memories is added to ``counts``. Set ``again`` to read the memories a second time without counting
        them twice.
        """
        yield from self._read_memories() if again else self._counted("memories", self._read_memories())

    def _read_memories(self) -> Iterator[MemoryEntry]:
        own = (memory for page in self._memory_pages() for memory in page)
        derived = (memory for _, memory in sorted(self._find_derived().items()))
        yield from map(self._memory, heapq.merge(own, derived, key=lambda memory: memory.id))

    def has_memory(self, id: str) -> bool:
        """Return True if :meth:`memories` yields the memory with this id."""
        found = self._store.memories(MemoryFilter(ids=(id,), statuses=None))
        return bool(found) and (self._selection.owns(found[0].scope) or id in self._find_derived())

    def message(self, id: str) -> Message | None:
        """Return the message with this id if it is selected, otherwise None."""
        found = self._store.messages(MessageFilter(ids=(id,)))
        return found[0] if found and self._selection.has(found[0]) else None

    def _memory_pages(self) -> Iterator[list[Memory]]:
        wanted = MemoryFilter(owner=self._selection.owner, statuses=None, limit=_PAGE)
        last = ""
        while self._selection.session is None and (page := self._store.memories(replace(wanted, after_id=last))):
            last = page[-1].id
            yield page

    def _find_derived(self) -> dict[str, Memory]:
        """Return the memories that were derived from selected data but belong to a scope outside the selection, by id."""
        if self._derived is None:
            self._derived = {}
            reached: list[str] = []
            if not self._selection.is_whole:
                pages: Iterator[Sequence[Message | Memory]] = itertools.chain(self._message_pages(), self._memory_pages())
                for page in pages:
                    reached += self._note_derived(self._derived, [each.id for each in page])
            while reached:
                reached = self._note_derived(self._derived, reached)
        return self._derived

    def _memory(self, memory: Memory) -> MemoryEntry:
        changes = {change.revision: change for change in self._store.changes(memory=memory.id)}
        revisions = self._store.revisions(memory.id) or [memory]  # erased since: export what was read
        return MemoryEntry(
            revisions=[
                RevisionEntry(memory=each, change=changes.get(each.revision), covers=self._covered(each)) for each in revisions
            ]
        )

    def _covered(self, memory: Memory) -> dict[str, str]:
        """Return the ids of the first and the last message that a summary or the base document covers, as ``from`` and ``to``.

        The result is empty for other memories.
        """
        base = self._preset.base.kind if self._preset.base else None
        if memory.kind not in ("summary", base) or memory.origin != "auto":
            return {}
        found = {}
        for name in COVERED:
            number = memory.metadata.get(name)
            if isinstance(number, int) and not isinstance(number, bool):
                found[name] = self._first_covered(memory, number) if name == "from" else self._last_covered(memory, number)
        return {name: id for name, id in found.items() if id is not None}

    def _first_covered(self, memory: Memory, seq: int) -> str | None:
        found = self._store.messages(MessageFilter(exactly=memory.scope, after_seq=seq - 1, oldest=1))
        return found[0].id if found else None

    def _last_covered(self, memory: Memory, seq: int) -> str | None:
        return self._message_before(seq, scope=memory.scope)

    def jobs(self) -> Iterator[JobEntry]:
        """Yield the jobs that work on selected data."""
        yield from self._counted("jobs", self._read_jobs())

    def _read_jobs(self) -> Iterator[JobEntry]:
        effects: set[str] = set()
        for job in self._store.jobs():
            if belongs(job, self._selection, self._store):
                entry = self._job(job)
                effect = effect_with(entry.job.effect, entry.place)
                if effect not in effects:  # two jobs can name the same message after others were erased
                    effects.add(effect)
                    yield entry

    def _job(self, job: Job) -> JobEntry:
        parts: dict[str, Any] = {part: job.payload.get(part) for part in ("app", "user", "agent")}
        scope: Scope | None = Scope(tenant=self._store.tenant, **parts)
        id = job.payload.get("session")
        if id is not None:
            session = session_of(self._store, job)
            scope = None if session is None else session.scope
        numbers = {name: int(job.payload[name]) for name in JOB_PLACES if isinstance(job.payload.get(name), int)}
        places = {name: self._message_before(number, session=id, scope=scope) for name, number in numbers.items()} if id else {}
        number = effect_number(job.effect)
        place = None if number is None else self._message_before(number, session=id, scope=scope)
        return JobEntry(job=job, places={name: id for name, id in places.items() if id is not None}, place=place)

    def traces(self) -> Iterator[Trace]:
        """Yield the traces of context blocks that were built for the selected session or scope, newest first."""
        session = self._selection.session
        wanted = TraceFilter(owner=self._selection.owner)
        if session is not None:
            wanted = TraceFilter(session=session.id, exactly=session.scope)
        yield from self._counted("traces", iter(self._store.traces(wanted)))

    def _note_derived(self, known: dict[str, Memory], sources: Sequence[str]) -> list[str]:
        """Find memories outside the selection that were derived from ``sources``. Add them to ``known``, and return their ids.

        A memory is left out if the caller may not read it, or if a source outside the selection states the same text.
        """
        found = self._store.memories(MemoryFilter(sources=sources, statuses=None))
        new = [memory for memory in found if memory.id not in known and not self._selection.owns(memory.scope)]
        new = [memory for memory in new if self._sees(memory.scope) and not self._is_restated(memory, known)]
        known |= {memory.id: memory for memory in new}
        return [memory.id for memory in new]

    def _is_restated(self, memory: Memory, known: Collection[str]) -> bool:
        """Return True if a memory's current text was also stated by a source outside the selection.

        Such a memory would remain if all selected data were erased. ``known`` has the ids of memories outside the selection that
        were derived from selected data. These memories do not count as sources outside the selection.
        """
        revisions = self._store.revisions(memory.id)
        sources = {source for revision in revisions for source in revision.sources}
        messages = {each.id for each in self._store.messages(MessageFilter(ids=sources)) if self._selection.has(each)}
        memories = self._store.memories(MemoryFilter(ids=sources, statuses=None))
        own = {each.id for each in memories if self._selection.owns(each.scope) or each.id in known}
        return bool(revisions) and is_restated(revisions, messages | own)


def _scope_key(scope: Scope) -> tuple[str, str, str]:
    """Return the sort key of a scope."""
    return scope.user or "", scope.app or "", scope.agent or ""


def effect_number(effect: str) -> int | None:
    """Return the sequence number of a message at the end of a ``Job.effect``, or None if there is no number.

    Three types of jobs have such a number: ``rollup:[APP, USER, AGENT, NUMBER]``, ``digest:SESSION:NUMBER`` and
    ``topic:SESSION:NUMBER``.
    """
    kind, _, rest = effect.partition(":")
    if kind in ("digest", "topic"):
        number = rest.rpartition(":")[2]
        return int(number) if number.isdecimal() else None
    if kind == "rollup":
        last = json.loads(rest)[-1]
        return last if isinstance(last, int) else None
    return None


def effect_with(effect: str, place: str | int | None) -> str:
    """Return a ``Job.effect``, such as ``digest:SESSION:NUMBER``, with ``place`` instead of its last part.

    The last part identifies a message: by a sequence number in a store, and by an id in an export. If ``place`` is None, the
    effect is returned unchanged.
    """
    kind, _, rest = effect.partition(":")
    if place is None:
        return effect
    if kind == "rollup":
        return f"rollup:{json.dumps([*json.loads(rest)[:-1], place], ensure_ascii=False)}"
    return f"{kind}:{rest.rpartition(':')[0]}:{place}"


def effect_place(effect: str) -> str | None:
    """Return the id of the message at the end of an exported ``Job.effect``, such as ``digest:SESSION:ID``.

    Return None if there is no message id at its end.
    """
    kind, _, rest = effect.partition(":")
    if kind == "rollup":
        last = json.loads(rest)[-1]
        return last if isinstance(last, str) else None
    return rest.rpartition(":")[2] if kind in ("digest", "topic") and effect_number(effect) is None else None
