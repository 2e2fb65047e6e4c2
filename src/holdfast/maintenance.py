"""Engine calls that concern the whole store: users, background work, statistics, checks and backups."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from holdfast.errors import NotFound, StoreCorrupt
from holdfast.filters import check_page
from holdfast.forgetting import records
from holdfast.forgetting.records import Registry
from holdfast.protocols import MemoryFilter, TraceFilter
from holdfast.recall.traces.explain import explain
from holdfast.runtime.clock import as_utc
from holdfast.services import Services
from holdfast.text.clean import fold, one_line
from holdfast.types import Explanation, Finding, Job, JobState, Receipt, Scope, Spend, Stats, Trace, UserRecord
from holdfast.types.translatable import translatable

if TYPE_CHECKING:
    from os import PathLike

    from holdfast.exporters.save import ExportFormat, ExportResult
    from holdfast.exporters.walk import Progress as ExportProgress
    from holdfast.importers.run import ImportResult
    from holdfast.importers.run import Progress as ImportProgress

_USER_PAGE = 5000
"""Number of user names to read at a time when users are searched by name."""


class Maintenance:
    """Base class of the engine, with the calls that concern the whole store."""

    _services: Services

    def users(self, *, containing: str | None = None, limit: int = 100, offset: int = 0) -> list[UserRecord]:
        """List users by name. Each entry has the user's number of memories, number of sessions, and last activity.

        With ``containing``, lists only names that contain this text. Case and accents are ignored.
        """
        check_page(limit=limit, offset=offset)
        wanted = fold(one_line(containing or ""))
        if wanted:
            found = (name for name in self._user_names() if wanted in fold(name))
            names = list(islice(found, offset, offset + limit))
        else:
            names = self._services.store.user_names(limit=limit, offset=offset)
        return self._services.store.user_records(names, unexpired_at=self._services.clock.now())

    def _user_names(self) -> Iterator[str]:
        """Yield the names of all users, read in pages."""
        offset = 0
        while names := self._services.store.user_names(limit=_USER_PAGE, offset=offset):
            yield from names
            offset += len(names)

    def jobs(self, *, states: Sequence[JobState] | None = None, limit: int = 100) -> list[Job]:
        """List background jobs, oldest first. ``states=["dead"]`` lists the jobs that failed too often."""
        return self._services.store.jobs(states=states, limit=limit)

    def rerun(self, job: str) -> Job:
        """Queue a job again, and return it. ``job`` is its id.

        A dead job (one that failed too often) and a waiting job can be queued again. So can a digest that used rules because the
        chat model failed.
        """
        again = self._services.jobs.rerun(job)
        self._services.scheduler.wake()
        return again

    def drain(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Run all queued work now: close idle sessions, digest, embed, and clean up.

        Return one number: the jobs and clean-up steps that were run, plus the texts that were embedded.
        """
        return self._services.scheduler.drain(progress)

    def purge_expired(self) -> int:
        """Purge expired memories, and forgotten memories past the undo window. Return the number of purged memories.

        This also runs at every start and once an hour. If the clock jumps, purging is paused; see :meth:`trust_clock`.
        """
        return self._services.housekeeping.clean_up()

    def trust_clock(self) -> datetime:
        """Confirm that the clock is right, so that purging resumes after a clock jump. Return the time.

        ``doctor`` reports a clock jump. Without a confirmation, the clock is trusted after three days.
        """
        return self._services.housekeeping.clock_guard.confirm()

    def spend(self, *, since: datetime | str | None = None) -> list[Spend]:
        """List the calls, tokens, US dollars and energy used by background work, by day, purpose and model."""
        day = "" if since is None else as_utc(since, what="since").date().isoformat()
        return self._services.store.spend(since=day)

    def stats(self) -> Stats:
        """Return counts of everything stored."""
        return Stats.of(self._services.store.stats())

    def doctor(self, *, deep: bool = True) -> list[Finding]:
        """Check the store, the embedder, the stored vectors, the job queue and the clock. Return the findings.

        With ``deep``, also check the hash of every row, and that a remote embedder answers in time.
        """
        services = self._services
        timeout = services.reader.recall_timeout if deep else None
        found = services.store.check(deep=deep)
        try:
            found += services.housekeeping.check(services.embedding, chat=services.chat.name, recall_timeout=timeout)
        except (StoreCorrupt, ValueError, LookupError, TypeError) as error:  # a value that no version has written
            detail = translatable("damaged.store", "cannot be checked, because the store is damaged: {error}", error=str(error))
            remedy = translatable("restore", "Restore a backup: holdfast restore FILE")
            found.append(Finding(check="background work", ok=False, detail=detail, remedy=remedy))
        return found

    def backup(self, target: str | Path) -> Path:
        """Write a consistent copy of the store to a new file."""
        path = Path(target).expanduser()
        self._services.store.backup(path)
        Registry(self._services.store.location).add_copy(path)
        return path

    def receipts(self, *, limit: int = 100) -> list[Receipt]:
        """List the receipts of erasures, newest first. They contain counts and times, but no names and no content."""
        return records.receipts(self._services.store)[: -limit - 1 : -1]

    def receipt(self, id: str) -> Receipt:
        """Return the current receipt of an erasure. Background work completes a ``pending`` receipt."""
        found = [receipt for receipt in records.receipts(self._services.store) if receipt.id == id]
        if not found:
            raise NotFound(f"There is no receipt {id}. `receipts` lists them.")
        return found[0]

    def traces(
        self,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Trace]:
        """List the traces of context blocks, newest first. They are kept for a few days; see the setting ``trace_days``."""
        self._services.reader.traces.flush()
        owner = {part: name for part, name in (("user", user), ("app", app), ("agent", agent)) if name is not None}
        return self._services.store.traces(TraceFilter(owner=owner, session=session, limit=limit, offset=offset))

    def trace(self, id: str) -> Trace:
        """Return a trace: how a context block was built. ``Context.trace`` is the id of the trace."""
        self._services.reader.traces.flush()
        found = self._services.store.traces(TraceFilter(ids=(id,)))
        if not found:
            raise NotFound(
                translatable(
                    "absent.trace",
                    "There is no trace {id}. Traces are kept for a few days, and removed with the data they list.",
                    id=id,
                )
            )
        return found[0]

    def explain(
        self,
        id: str,
        query: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        max_tokens: int | None = None,
    ) -> Explanation:
        """Explain why a memory is in the context block for a query, or why it is left out. Nothing is stored.

        Without a scope, the block is built for the memory's own user, app and agent.
        """
        services = self._services
        found = services.store.memories(MemoryFilter(ids=(id,), statuses=None))
        if not found:
            raise NotFound(translatable("absent.memory", "There is no memory {id}.", id=id))
        given = any(part is not None for part in (user, app, agent))
        reader = Scope(tenant=services.store.tenant, user=user, app=app, agent=agent) if given else found[0].scope
        return explain(services.reader, found[0], reader, query, now=services.clock.now(), max_tokens=max_tokens)

    def scrub(self) -> list[Receipt]:
        """Overwrite the bytes of erased data now. Return the receipts of erasures that had waited for this.

        Background work also scrubs, but waits a little, so that one scrub serves several erasures. On PostgreSQL, it scrubs at
        most once per ``scrub_interval``.
        """
        pending = [receipt.id for receipt in records.receipts(self._services.store) if receipt.status == "pending"]
        self._services.housekeeping.scrub()
        return [receipt for receipt in records.receipts(self._services.store) if receipt.id in pending]

    def export(
        self,
        target: "str | PathLike[str] | BinaryIO",
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        format: "ExportFormat | None" = None,
        replace: bool = False,
        progress: "ExportProgress | None" = None,
    ) -> "ExportResult":
        """Write data to a file or an open binary file: everything, one session, or all data of a user, app or agent.

        The formats are ``jsonl``, which :meth:`import_from` reads back without loss, ``markdown`` and ``pam`` (Portable AI
        Memory). Without ``format``, the extension of the file selects the format: ``.md`` for ``markdown``, ``.zip`` for
        ``pam``, and any other for ``jsonl``. The export contains everything that ``erase`` would remove with the same
        arguments. An existing file is kept, unless ``replace`` is True.
        """
        owner = {"user": user, "app": app, "agent": agent}
        from holdfast.exporters.save import export  # noqa: PLC0415  (most programs export nothing)

        self._services.reader.traces.flush()
        store, preset, now = self._services.store, self._services.preset, self._services.clock.now()
        return export(store, preset, now, target, owner=owner, session=session, format=format, replace=replace, progress=progress)

    def import_from(
        self,
        path: "str | PathLike[str]",
        *,
        format: str | None = None,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        default_user: str | None = None,
        learn: int | None = None,
        dry_run: bool = False,
        collection: str = "memories",
        shared: bool = True,
        progress: "ImportProgress | None" = None,
    ) -> "ImportResult":
        """Import a file or folder of another program, or an export of Holdfast. Without ``format``, the format is detected.

        Everything is checked first: if the file is damaged, nothing is stored. You can repeat an import: records that are
        already in the store are skipped. Imported conversations are queued for learning; ``learn`` limits that to the newest N
        of them. ``collection`` names the collection of a Chroma or Qdrant folder.

        ``user``, ``app`` and ``agent`` say whose data it is. ``default_user`` is the owner of records that name no user, app or
        agent. Without an owner, a record is shared by all users; with ``shared=False``, it raises an error instead.
        """
        from holdfast.importers.start import MAX_EMBEDDED_AT_ONCE, import_path  # noqa: PLC0415  (most programs import nothing)

        services = self._services
        result = import_path(
            services.store,
            services.preset,
            services.clock,
            services.digester,
            path,
            owner={"user": user, "app": app, "agent": agent},
            default_user=default_user,
            format=format,
            learn=learn,
            dry_run=dry_run,
            collection=collection,
            shared=shared,
            progress=progress,
            keep_vectors=services.embedding.adopt,
        )
        if not dry_run:
            services.embedding.catch_up_if_few(MAX_EMBEDDED_AT_ONCE)
        services.scheduler.wake()
        return result
