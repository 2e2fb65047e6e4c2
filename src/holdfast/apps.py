"""Apps: a registry of those that are installed, what of their memories others may read, and how it all goes.

Nothing here is needed to talk: a host that never installs an app has its memories all the same, and they are listed
with it. Uninstalling keeps memories unless a purge is asked for. Sharing moves and copies nothing: an app that was
chosen sees more when it asks, and sees it no longer once the choice is withdrawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from holdfast.background.energy import Energy
from holdfast.errors import InvalidInput, NotFound
from holdfast.forgetting.erase import MEMORIES_OF_APP, erase
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SessionFilter, Store
from holdfast.recall.embedding import Embedding
from holdfast.recall.reader import SHOWN, Reader
from holdfast.runtime.clock import as_utc
from holdfast.text.clean import clean_metadata, clean_name
from holdfast.types import AppRecord, Context, Memory, Metadata, Scope, SessionRecord, SessionStatus

Point: TypeAlias = Literal["unanswered", "review", "selection"]
"""When a host asks for an app's memories: a conversation waits for an answer, one is looked over, one is to be chosen."""
Sharing: TypeAlias = Sequence[str] | Literal["all"]
"""The apps that may read an app's memories: by name, or every app."""
Entries: TypeAlias = "list[AppEntry]"

EVERY_APP = "*"
_MAX_REVIEW_CHARACTERS = 4000
"""Characters of a conversation's end that a review is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppEntry:
    """An app as it is listed."""

    app: str
    name: str
    """What people call it; its id where nobody said."""
    installed: bool
    memory_count: int
    """How many live memories it has, whoever their users are."""
    installed_at: datetime | None = None
    uninstalled_at: datetime | None = None
    shares_with: tuple[str, ...] = ()
    """The apps that may read its memories; ``*`` is every app."""
    metadata: Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class AppMetrics:
    """How memory has served the apps from one moment to another, by what is kept; what was erased is not counted."""

    since: datetime
    until: datetime
    creations: int
    """Memories that conversations left."""
    creations_per_hour: float
    compactions: int
    compactions_per_app_per_day: float
    compactions_by_app: Mapping[str, int]
    apps: int
    """Those installed, and those that have memories or were talked to; none that was uninstalled."""
    apps_with_memories: int
    share_of_apps_with_memories: float
    conversations: int
    conversations_with_memories: int
    """Those for which a context with memories was given."""
    share_of_conversations_with_memories: float
    energy: float
    """Units, counted by whole days."""
    energy_share: float | None
    """What part of all the host's energy memory has drawn; None where the host does not tell."""


class Apps:
    """The apps of one memory."""

    def __init__(
        self, store: Store, preset: Preset, clock: Clock, *, reader: Reader, embedding: Embedding, energy: Energy
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._reader = reader
        self._embedding = embedding
        self._energy = energy

    # --- the registry ---------------------------------------------------------------------------------------

    def install(
        self,
        app: str,
        name: str | None = None,
        shares_with: Sharing | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> AppEntry:
        """Note that an app is installed. Again, it changes what is given and keeps the rest; what is not said is not shared."""
        wanted = _app(app)
        with self._store.write() as tx:
            known = tx.app(wanted) or AppRecord(app=wanted)
            stays = known.installed_at is not None and known.uninstalled_at is None
            record = replace(
                known,
                name=clean_name(name, what="name") or known.name,
                installed_at=known.installed_at if stays else self._clock.now(),
                uninstalled_at=None,
                shares_with=known.shares_with if shares_with is None else _sharing(shares_with),
                metadata=known.metadata if metadata is None else clean_metadata(metadata),
            )
            tx.set_app(record)
        return self.get(wanted)

    def share(self, app: str, shares_with: Sharing) -> AppEntry:
        """Choose which other apps may read an app's memories: some by name, ``"all"``, or with ``()`` none any more."""
        wanted = _app(app)
        known = self._known(wanted)
        if known.uninstalled_at is not None:
            raise NotFound(f"The app {wanted} is not installed; install it before it shares anything.")
        with self._store.write() as tx:
            tx.set_app(replace(tx.app(wanted) or known, shares_with=_sharing(shares_with)))
        return self.get(wanted)

    def uninstall(self, app: str, purge_memories: bool = False, *, everything: bool = False) -> int:  # noqa: FBT001, FBT002  (the design's own)
        """Note that an app is gone, and end its sharing; its memories stay unless a purge is asked for.

        Returns how many memories were purged. ``everything`` removes its conversations and its place in the list, too.
        """
        wanted = _app(app)
        known = self._known(wanted)
        with self._store.write() as tx:
            record = tx.app(wanted) or known
            tx.set_app(replace(record, uninstalled_at=record.uninstalled_at or self._clock.now(), shares_with=()))
        if everything:
            return self._erase({"app": wanted}, wanted)
        return self.purge(wanted) if purge_memories else 0

    def purge(self, app: str) -> int:
        """Remove all of an app's memories for good, whoever their users are; returns how many it had.

        Its conversations stay in the log, but what was said so far is neither recalled nor learnt from any more.
        """
        return self._erase({MEMORIES_OF_APP: _app(app)}, _app(app))

    def _erase(self, target: Mapping[str, str], app: str) -> int:
        had = self._count(app)
        self._reader.forget_uses()
        erase(self._store, self._preset, target, self._clock.now())
        self._embedding.forget_queries()
        return had

    # --- looking --------------------------------------------------------------------------------------------

    def get(self, app: str) -> AppEntry:
        """Return one app, also one that was uninstalled."""
        known = self._known(_app(app))
        return _entry(known, self._count(known.app))

    def memories(self, app: str, *, limit: int = 100, offset: int = 0) -> Sequence[Memory]:
        """List an app's own memories, whoever their users are, the newest first; not what others share with it."""
        wanted = MemoryFilter(owner={"app": _app(app)}, unexpired_at=self._clock.now(), limit=limit, offset=offset)
        return self._store.memories(wanted)

    def of_conversation(self, conversation: str) -> str | None:
        """Return the app of a session; None if it has none."""
        session = self._store.session(clean_name(conversation, what="conversation") or "")
        if session is None:
            raise NotFound(f"There is no session {conversation}.")
        return session.scope.app

    def list(self, uninstalled: bool = False) -> Entries:  # noqa: FBT001, FBT002  (reads well at the call)
        """List the apps that are installed, and those that were never but have memories; ``uninstalled`` ones if asked."""
        counts = self._counts()
        known = {record.app: record for record in self._store.apps()}
        entries = [_entry(known.get(app) or AppRecord(app=app), counts.get(app, 0)) for app in sorted({*known, *counts})]
        return [each for each in entries if each.uninstalled_at is None or uninstalled]

    def _known(self, app: str) -> AppRecord:
        """Return what is known of an app that has a record, memories or conversations."""
        record = self._store.app(app)
        if record is None and not self._count(app) and not self._store.sessions(SessionFilter(owner={"app": app}, limit=1)):
            raise NotFound(f"There is no app {app}.")
        return record or AppRecord(app=app)

    def _count(self, app: str) -> int:
        return self._store.count_memories(MemoryFilter(owner={"app": app}, unexpired_at=self._clock.now()))

    def _counts(self) -> Mapping[str, int]:
        return self._store.memories_by_app(unexpired_at=self._clock.now())

    # --- the three points -----------------------------------------------------------------------------------

    def context(
        self,
        app: str,
        point: Point = "selection",
        conversation: str | None = None,
        user: str | None = None,
        *,
        max_tokens: int | None = None,
    ) -> Context:
        """Return the block of an app's memories: for a conversation that waits, one that is reviewed, or a selection.

        With ``user``, the memories of that user with the app are in it, beside those all its users share.
        """
        if point not in get_args(Point):
            raise InvalidInput(f"point is one of {', '.join(get_args(Point))}, not {point!r}.")
        scope = Scope(tenant=self._store.tenant, app=_app(app), user=clean_name(user, what="user"))
        session = self._session(conversation, scope)
        query = self._about(session, point) if session else ""
        context = self._reader.context(
            session.scope if session else scope, query, max_tokens=max_tokens, without_session=session.id if session else None
        )
        if session is not None:
            self._reader.note_shown(session.id, context)
        return context

    def _session(self, conversation: str | None, scope: Scope) -> SessionRecord | None:
        if conversation is None:
            return None
        session = self._store.session(clean_name(conversation, what="conversation") or "")
        if session is None or session.scope.app != scope.app or scope.user not in (None, session.scope.user):
            raise NotFound(f"There is no conversation {conversation} with the app {scope.app}.")
        return session

    def _about(self, session: SessionRecord, point: Point) -> str:
        """Return what memories are wanted for: the last thing the user said, or the whole talk's end."""
        if point == "selection":
            return ""
        said = self._store.messages(MessageFilter(session=session.id, newest=50))
        if point == "review":
            return "\n".join(message.text for message in said)[-_MAX_REVIEW_CHARACTERS:]
        return next((message.text for message in reversed(said) if message.role == "user"), "")

    # --- how it goes ----------------------------------------------------------------------------------------

    def metrics(self, since: datetime | str | None = None) -> AppMetrics:
        """Measure from a moment on; by default over the last day."""
        until = self._clock.now()
        begin = until - timedelta(days=1) if since is None else as_utc(since, what="since")
        if begin >= until:
            raise InvalidInput(f"since {begin:%Y-%m-%d %H:%M} is not in the past.")
        self._reader.flush_shown()
        changes = self._store.changes_by_app(since=begin)
        compacted = {each.app: each.batches for each in changes if each.actor == "compact"}
        talks = [
            each
            for each in self._store.sessions(SessionFilter(statuses=get_args(SessionStatus), active_since=begin))
            if each.scope.app
        ]
        shown = sum(bool(each.metadata.get(SHOWN)) for each in talks)
        listed = {each.app: each.memory_count for each in self.list()}
        gone = {record.app for record in self._store.apps() if record.uninstalled_at is not None}
        apps = {*listed, *(each.scope.app for each in talks)} - gone
        filled = sum(number > 0 for number in listed.values())
        hours = (until - begin) / timedelta(hours=1)
        creations = sum(each.created for each in changes if each.actor == "digest")
        return AppMetrics(
            since=begin, until=until, creations=creations, creations_per_hour=creations / hours,
            compactions=sum(compacted.values()), compactions_by_app=compacted,
            compactions_per_app_per_day=_part(sum(compacted.values()), len(apps)) / (hours / 24),
            apps=len(apps), apps_with_memories=filled, share_of_apps_with_memories=_part(filled, len(apps)),
            conversations=len(talks), conversations_with_memories=shown,
            share_of_conversations_with_memories=_part(shown, len(talks)),
            energy=sum(self._energy.by_operation(since=begin.date().isoformat()).values()), energy_share=self._energy.share(),
        )  # fmt: skip

    def report_energy(self, units: float) -> None:
        """Report the energy the host has used in all since its last report; memory keeps to 5% of it."""
        self._energy.used(units)

    def poll_energy(self) -> float:
        """Return the energy units memory work has used since the last poll, or since the store was opened."""
        return self._energy.consumed_since_last_poll()


def _app(app: str) -> str:
    cleaned = clean_name(app, what="app")
    if cleaned is None or cleaned == EVERY_APP:
        raise InvalidInput(f"app is the name of one app, not {app!r}.")
    return cleaned


def _sharing(shares_with: Sharing) -> tuple[str, ...]:
    if isinstance(shares_with, str):
        if shares_with not in ("all", EVERY_APP):
            raise InvalidInput('shares_with is a list of apps, or "all".')
        return (EVERY_APP,)
    return tuple(dict.fromkeys(_app(each) for each in shares_with))


def _entry(record: AppRecord, memories: int) -> AppEntry:
    return AppEntry(
        app=record.app, name=record.name or record.app, memory_count=memories,
        installed=record.installed_at is not None and record.uninstalled_at is None,
        installed_at=record.installed_at, uninstalled_at=record.uninstalled_at, shares_with=record.shares_with,
        metadata=record.metadata,
    )  # fmt: skip


def _part(some: int, of: int) -> float:
    return some / of if of else 0.0
