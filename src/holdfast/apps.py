"""The registry of apps: installing apps, sharing memories between them, metrics and energy use.

Installing is optional: an app can have memories without being installed. Such an app is listed, too. Uninstalling an app
keeps its memories unless you purge them. Sharing neither moves nor copies memories: another app sees them as long as the
share exists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from holdfast.background.energy import Energy
from holdfast.errors import InvalidInput, NotFound
from holdfast.forgetting.erase import Erasing, erase
from holdfast.forgetting.targets import MEMORIES_OF_APP
from holdfast.learning.related_conversations import CONVERSATION, RELATED
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SessionFilter, Store
from holdfast.recall.embedding import Embedding
from holdfast.recall.reader import Reader
from holdfast.recall.uses import SHOWN
from holdfast.runtime.clock import as_utc
from holdfast.text.clean import clean_metadata, clean_name
from holdfast.types import OFF_RECORD, AppRecord, ChangeRecord, Context, Memory, Metadata, Scope, SessionRecord, SessionStatus
from holdfast.types.translatable import translatable

Point: TypeAlias = Literal["unanswered", "review", "selection"]
"""The purpose of a context block. It decides which query is used to recall memories for the block.

``unanswered`` uses the user's last message, ``review`` uses the end of the conversation, and ``selection`` uses no query.
"""
Sharing: TypeAlias = Sequence[str] | Literal["all"]
"""Apps that may read an app's memories: a list of names, or every app."""
Entries: TypeAlias = "list[AppEntry]"

EVERY_APP = "*"
_MAX_REVIEW_CHARACTERS = 4000
"""Maximum length, in characters, of the query for a ``review`` block: only the end of the conversation is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppEntry:
    """One app in the list of apps."""

    app: str
    name: str
    """Display name. If the app has none, this is the app's id."""
    installed: bool
    memory_count: int
    """Number of live memories of the app, for all users together."""
    installed_at: datetime | None = None
    uninstalled_at: datetime | None = None
    shares_with: tuple[str, ...] = ()
    """Apps that may read this app's memories; ``*`` means every app."""
    metadata: Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class AppMetrics:
    """Metrics of memory use by apps over a period. Erased data is not counted."""

    since: datetime
    until: datetime
    creations: int
    """Number of memories extracted from conversations."""
    creations_per_hour: float
    compactions: int
    compactions_per_app_per_day: float
    compactions_by_app: Mapping[str, int]
    apps: int
    """Number of apps that are installed, have memories or had conversations. Uninstalled apps are not counted."""
    apps_with_memories: int
    share_of_apps_with_memories: float
    conversations: int
    conversations_with_memories: int
    """Number of conversations for which a context block with memories was built."""
    share_of_conversations_with_memories: float
    energy: float
    """Abstract energy units that Holdfast's background jobs used. A model call of a digest counts as 12 units.

    Energy is counted per day. The whole first day is included, even the hours before ``since``.
    """
    energy_share: float | None
    """Share of the host's energy that Holdfast's background jobs used, from 0 to 1. None if the host reports no energy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A memory that was removed because its scope had more memories than the cap. ``Engine.undo(batch)`` restores the memory."""

    app: str
    memory: str
    """Id of the removed memory."""
    text: str
    """Text of the removed memory."""
    merged_into: str | None
    """Id of the memory into which the removed memory was merged. None if the removed memory was dropped without a merge."""
    reason: str
    at: datetime
    batch: str
    """Id of the batch of changes that removed the memory. Pass it to ``Engine.undo``."""
    model: str | None = None
    """Name of the chat model that chose the memory. None if rules chose it."""


class Apps:
    """The registry of the apps in a store."""

    def __init__(
        self, store: Store, preset: Preset, clock: Clock, *, reader: Reader, embedding: Embedding, energy: Energy
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._reader = reader
        self._embedding = embedding
        self._energy = energy

    # Registry

    def install(
        self,
        app: str,
        name: str | None = None,
        shares_with: Sharing | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> AppEntry:
        """Install an app, or update an installed one. Each given argument replaces the old value.

        ``shares_with`` says which other apps may read the app's memories, as in :meth:`share`. By default, none may.
        """
        app = _app(app)
        with self._store.write() as tx:
            known = tx.app(app) or AppRecord(app=app)
            is_installed = known.installed_at is not None and known.uninstalled_at is None
            record = replace(
                known,
                name=clean_name(name, what="name") or known.name,
                installed_at=known.installed_at if is_installed else self._clock.now(),
                uninstalled_at=None,
                shares_with=known.shares_with if shares_with is None else _sharing(shares_with),
                metadata=known.metadata if metadata is None else clean_metadata(metadata),
            )
            tx.set_app(record)
        return self.get(app)

    def share(self, app: str, shares_with: Sharing) -> AppEntry:
        """Set which other apps may read an app's memories: a list of names, ``"all"``, or ``()`` for none."""
        app = _app(app)
        known = self._known(app)
        if known.uninstalled_at is not None:
            raise NotFound(f"The app {app} is not installed. Nothing was shared; install it first.")
        with self._store.write() as tx:
            tx.set_app(replace(tx.app(app) or known, shares_with=_sharing(shares_with)))
        return self.get(app)

    def uninstall(self, app: str, purge_memories: bool = False, *, everything: bool = False) -> int:  # noqa: FBT001, FBT002  (the signature of the design's own manager)
        """Uninstall an app and stop its sharing. Return the number of memories purged.

        The app's memories stay unless ``purge_memories`` is set. ``everything`` also removes its conversations and its
        entry in the list of apps.
        """
        app = _app(app)
        known = self._known(app)
        with self._store.write() as tx:
            record = tx.app(app) or known
            tx.set_app(replace(record, uninstalled_at=record.uninstalled_at or self._clock.now(), shares_with=()))
        if everything:
            return self._erase({"app": app}, app)
        return self.purge(app) if purge_memories else 0

    def purge(self, app: str) -> int:
        """Erase all memories of an app, for all users. Return the number of memories erased.

        The app's sessions stay stored. Their existing messages are no longer recalled, and no memories are extracted
        from them.
        """
        return self._erase({MEMORIES_OF_APP: _app(app)}, _app(app))

    def _erase(self, target: Mapping[str, str], app: str) -> int:
        count = self._count(app)
        self._reader.uses.discard()
        self._reader.traces.discard()
        erase(self._store, self._preset, target, Erasing(now=self._clock.now()))
        self._embedding.forget_queries()
        return count

    # Reading

    def get(self, app: str) -> AppEntry:
        """Return one app, even if it was uninstalled."""
        known = self._known(_app(app))
        return _entry(known, self._count(known.app))

    def memories(self, app: str, *, limit: int = 100, offset: int = 0) -> Sequence[Memory]:
        """List an app's own memories for all users, newest first. Memories that other apps share with it are not listed."""
        wanted = MemoryFilter(owner={"app": _app(app)}, unexpired_at=self._clock.now(), limit=limit, offset=offset)
        return self._store.memories(wanted)

    def compactions(self, app: str, *, user: str | None = None, limit: int = 20) -> Sequence[Compaction]:
        """List the memories that were removed because the app had more memories than its cap, newest removal first.

        Each removal can be undone within the undo window, 30 days by default.
        """
        owner = {"app": _app(app), **({"user": user} if user else {})}
        retired = MemoryFilter(owner=owner, statuses=("expired", "superseded"), limit=limit)
        found: list[Compaction] = []
        for memory in self._store.memories(retired):
            last = self._store.changes(memory=memory.id)[-1]
            if last.author.actor == "compact" and last.action == "retired":
                found.append(_compaction(memory, last))
        return sorted(found, key=lambda each: each.at, reverse=True)

    def of_conversation(self, conversation: str) -> str | None:
        """Return the app that a session belongs to, or None if the session belongs to no app."""
        session = self._store.session(clean_name(conversation, what="conversation") or "")
        if session is None:
            raise NotFound(f"There is no session {conversation}.")
        return session.scope.app

    def list(self, uninstalled: bool = False) -> Entries:  # noqa: FBT001, FBT002  (reads well at the call)
        """List installed apps, and apps that have memories but were never installed.

        With ``uninstalled``, also list the apps that were uninstalled.
        """
        counts = self._counts()
        known = {record.app: record for record in self._store.apps()}
        entries = [_entry(known.get(app) or AppRecord(app=app), counts.get(app, 0)) for app in sorted({*known, *counts})]
        return [entry for entry in entries if entry.uninstalled_at is None or uninstalled]

    def _known(self, app: str) -> AppRecord:
        """Return the record of an app. If an app has data but was never installed, return an empty record."""
        record = self._store.app(app)
        if record is None and not self._count(app) and not self._store.sessions(SessionFilter(owner={"app": app}, limit=1)):
            raise NotFound(translatable("absent.app", "There is no app {app}.", app=app))
        return record or AppRecord(app=app)

    def _count(self, app: str) -> int:
        return self._store.count_memories(MemoryFilter(owner={"app": app}, unexpired_at=self._clock.now()))

    def _counts(self) -> Mapping[str, int]:
        return self._store.memories_by_app(unexpired_at=self._clock.now())

    # Context

    def context(
        self,
        app: str,
        point: Point = "selection",
        conversation: str | None = None,
        user: str | None = None,
        *,
        max_tokens: int | None = None,
    ) -> Context:
        """Return a context block of an app's memories.

        ``point`` is the purpose of the block: ``selection``, ``review`` or ``unanswered``. It decides which query is used to
        recall memories. ``conversation`` is the id of the session from which the query is taken. Without it, the query is
        empty. With ``user``, the block contains the app's memories of that user and the app's memories shared by all users.
        """
        if point not in get_args(Point):
            raise InvalidInput(f"point must be one of {', '.join(get_args(Point))}, not {point!r}.")
        scope = Scope(tenant=self._store.tenant, app=_app(app), user=clean_name(user, what="user"))
        session = self._session(conversation, scope)
        query = self._about(session, point) if session else ""
        context = self._reader.context(
            session.scope if session else scope,
            query,
            max_tokens=max_tokens,
            without_session=session.id if session else None,
            off_record=session is not None and self._is_withheld(session),
        )
        if session is not None:
            self._reader.uses.note_shown(session.id, session.scope, context)
        return context

    def _session(self, conversation: str | None, scope: Scope) -> SessionRecord | None:
        if conversation is None:
            return None
        found = self._store.sessions(SessionFilter(ids=(clean_name(conversation, what="conversation") or "",)))
        fitting = [each for each in found if each.scope.app == scope.app and scope.user in (None, each.scope.user)]
        if not fitting:
            raise NotFound(f"There is no session {conversation} with the app {scope.app}.")
        if len(fitting) > 1:
            raise InvalidInput(f"Several users have a session {conversation} with the app {scope.app}. Name the user.")
        return fitting[0]

    def _about(self, session: SessionRecord, point: Point) -> str:
        """Return the query for a context block.

        For ``selection``, the query is empty. For ``review``, it is the end of the conversation. For ``unanswered``, it is the
        user's last message.
        """
        if point == "selection":
            return ""
        messages = self._store.messages(MessageFilter(session=session.id, exactly=session.scope, newest=50))
        if point == "review":
            return "\n".join(message.text for message in messages)[-_MAX_REVIEW_CHARACTERS:]
        return next((message.text for message in reversed(messages) if message.role == "user"), "")

    def _is_withheld(self, session: SessionRecord) -> bool:
        """Return True if a session has messages that are off the record.

        If it has, no trace of its context blocks is stored, because the query may quote these messages.
        """
        withheld = MessageFilter(session=session.id, exactly=session.scope, actions=[OFF_RECORD], newest=1)
        return bool(self._store.messages(withheld))

    # Metrics and energy

    def metrics(self, since: datetime | str | None = None) -> AppMetrics:
        """Return metrics of the period from ``since`` until now. The default period is the last 24 hours."""
        until = self._clock.now()
        begin = until - timedelta(days=1) if since is None else as_utc(since, what="since")
        if begin >= until:
            raise InvalidInput(f"since must be in the past, not {begin:%Y-%m-%d %H:%M}.")
        self._reader.uses.flush_shown()
        changes = self._store.changes_by_app(since=begin)
        compacted = {change.app: change.batches for change in changes if change.actor == "compact"}
        active = SessionFilter(statuses=get_args(SessionStatus), active_since=begin)
        sessions = [session for session in self._store.sessions(active) if session.scope.app]
        with_memories = sum(bool(session.metadata.get(SHOWN)) for session in sessions)
        listed = {entry.app: entry.memory_count for entry in self.list()}
        uninstalled = {record.app for record in self._store.apps() if record.uninstalled_at is not None}
        apps = {*listed, *(session.scope.app for session in sessions)} - uninstalled
        apps_with_memories = sum(count > 0 for count in listed.values())
        hours = (until - begin) / timedelta(hours=1)
        creations = sum(change.created for change in changes if change.actor == "digest")
        return AppMetrics(
            since=begin,
            until=until,
            creations=creations,
            creations_per_hour=creations / hours,
            compactions=sum(compacted.values()),
            compactions_by_app=compacted,
            compactions_per_app_per_day=_ratio(sum(compacted.values()), len(apps)) / (hours / 24),
            apps=len(apps),
            apps_with_memories=apps_with_memories,
            share_of_apps_with_memories=_ratio(apps_with_memories, len(apps)),
            conversations=len(sessions),
            conversations_with_memories=with_memories,
            share_of_conversations_with_memories=_ratio(with_memories, len(sessions)),
            energy=sum(self._energy.by_operation(since=begin.date().isoformat()).values()),
            energy_share=self._energy.share(),
        )

    def report_energy(self, units: float) -> None:
        """Report how much energy the host has used since its last report, in abstract units.

        A model call that digests a session counts as 12 units. Holdfast's background work may use up to 5% of the total that
        the host reports.
        """
        self._energy.used(units)

    def report_energy_level(self, level: float | None) -> None:
        """Report the charge of the host's battery, from 0 to 1. Below 0.2, background work waits.

        The level holds for every process that uses the store, until the next report. To remove the level, report None.
        """
        self._energy.report_level(level)

    def energy_level(self) -> float:
        """Return the charge of the host's battery, from 0 to 1. Return 1 if the host does not report the charge."""
        return self._energy.level()

    def poll_energy(self) -> float:
        """Return the energy units that Holdfast's background work has used since the last poll, or since the store was opened."""
        return self._energy.consumed_since_last_poll()


def design_metadata(memory: Memory) -> dict[str, Any]:
    """Return a memory's metadata with the field names of the design "apps": importance, tags and related conversations."""
    more = {name: value for name, value in memory.metadata.items() if name not in (CONVERSATION, RELATED)}
    related = memory.metadata.get(RELATED, [])
    return {"importance": memory.importance, "tags": list(memory.tags), "relatedConversations": list(related), **more}


def _app(app: str) -> str:
    cleaned = clean_name(app, what="app")
    if cleaned is None or cleaned == EVERY_APP:
        raise InvalidInput(translatable("app.name", "app must be the name of one app, not {app!r}.", app=str(app)))
    return cleaned


def _sharing(shares_with: Sharing) -> tuple[str, ...]:
    if isinstance(shares_with, str):
        if shares_with not in ("all", EVERY_APP):
            raise InvalidInput('shares_with must be a list of apps, or "all".')
        return (EVERY_APP,)
    return tuple(dict.fromkeys(_app(app) for app in shares_with))


def _entry(record: AppRecord, memories: int) -> AppEntry:
    return AppEntry(
        app=record.app,
        name=record.name or record.app,
        memory_count=memories,
        installed=record.installed_at is not None and record.uninstalled_at is None,
        installed_at=record.installed_at,
        uninstalled_at=record.uninstalled_at,
        shares_with=record.shares_with,
        metadata=record.metadata,
    )


def _compaction(memory: Memory, change: ChangeRecord) -> Compaction:
    return Compaction(
        app=memory.scope.app or "",
        memory=memory.id,
        text=memory.text,
        merged_into=memory.replaced_by,
        reason=change.reason or memory.reason or "",
        at=change.at,
        batch=change.batch,
        model=change.author.model,
    )


def _ratio(part: int, total: int) -> float:
    return part / total if total else 0.0
