"""The default store: one SQLite file, shared by several threads and processes."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.errors import StoreError
from holdfast.protocols import SCRUB, MemoryFilter, ScrubTime
from holdfast.runtime import forks
from holdfast.runtime.private_files import create_file, create_folder
from holdfast.stores.chroma.protocol import IndexPlace
from holdfast.stores.sql import counts
from holdfast.stores.sql.connection import R, cached_fetch, guarded
from holdfast.stores.sql.transaction import SQLTransaction
from holdfast.stores.sqlite import damaged_vectors, embeddings, fulltext, maintenance, rewrites, scrubbing
from holdfast.stores.sqlite.acked_rows import AckedRows, last_item
from holdfast.stores.sqlite.allowed_items import AllowedItemsCache
from holdfast.stores.sqlite.connection import SQLiteConnections, limit_pages, translate_errors
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.disk_space import DiskSpace
from holdfast.stores.sqlite.migrate import migrate, schema_before_upgrade
from holdfast.stores.sqlite.queued_index import maintenance as index_maintenance
from holdfast.stores.sqlite.queued_index.feed import Pace
from holdfast.stores.sqlite.queued_index.index import QueuedIndex
from holdfast.stores.sqlite.search import SQLiteSearch
from holdfast.stores.sqlite.word_cache import WordCache
from holdfast.types import Finding


class SQLiteTransaction(SQLTransaction):
    """A write transaction on the file."""

    _text = fulltext
    _vectors = embeddings
    _by_partition = ("vector_log", "unembedded", "vectors", "partitions")

    def __init__(self, connection: FileConnection, *, tenant: str, path: Path) -> None:
        super().__init__(connection, tenant=tenant)
        self.path = path

    def guard(self, ask: Callable[[], R]) -> R:
        """Call ``ask``, which reads the file, and return its result. SQLite's errors are raised as Holdfast errors.

        The process cannot fork until ``ask`` has returned.
        """
        with translate_errors(self.path):
            return ask()

    def set_setting(self, name: str, value: str) -> None:
        """Store a persistent setting of the engine.

        If the setting requests a scrub, this transaction erases data. In this case, also store the number of the last rewrite
        that has begun. Only a later rewrite, with a higher number, removes the erased data from the file.
        """
        super().set_setting(name, value)
        if name == SCRUB and value == "pending":
            super().set_setting(rewrites.AWAITED, str(rewrites.last_begun(self.connection)))


class SQLiteStore(SQLiteSearch):
    """A store that keeps the data of one tenant in a SQLite file. The same file can also contain the data of other tenants."""

    def __init__(
        self,
        path: Path,
        *,
        tenant: str = "default",
        key: str | None = None,
        index: IndexPlace | None = None,
        pace: Pace | None = None,
        is_copy: bool = False,
        paced: bool = False,
    ) -> None:
        """Open a store file, or create it if it is missing. A file of an earlier version is backed up and then upgraded.

        ``key`` is the key of an encrypted file, or None. ``index`` is the place of an external vector index, and ``pace``
        limits the work of searches and updates in it. With ``is_copy``, the file is a copy of a store, so it is upgraded
        without a backup.

        With ``paced``, erasures that follow each other quickly share one rewrite of the file. A background worker must then
        call :meth:`scrub` later.
        """
        try:
            create_folder(path.parent)
            create_file(path)  # the write-ahead log gets the mode of the file
        except OSError as error:
            raise StoreError(
                f"{path} cannot be created: {error}. Check the permissions of its folder, or choose another path."
            ) from error
        self.path = path
        self.tenant = tenant
        self._key = key
        self._space = DiskSpace(path)
        self._acked = AckedRows(path)
        self._connections = SQLiteConnections(path, tenant=tenant, key=key)
        self._indexes = embeddings.IndexCache()
        self.words = WordCache()
        self._allowed_items = AllowedItemsCache()
        self._external: QueuedIndex | None = None
        if index is not None:
            self._external = QueuedIndex(self._connections, tenant, memory=self._indexes, place=index, pace=pace)
        self._merging = False
        self._settled = 1
        """Number of segments (separately stored parts) of the full-text index after its last merge."""
        self._tidied: tuple[int, int] | None = None
        self._is_copy = is_copy
        self._rewrite_pace = rewrites.pace_of(path) if paced else None
        self._prepare()

    def _prepare(self) -> None:
        """Migrate the file. On a full disk, the reserve file is deleted first, to make room for the files that SQLite creates."""
        try:
            self._migrate()
        except StoreError:
            if not self._space.reserve.exists():
                raise
            self._space.release_reserve()
            self._migrate()
        self._watch_space()

    def _migrate(self) -> None:
        """Upgrade the file of an earlier version. First write a backup of the file, if there is room."""
        with self._connections.exclusive() as connection:
            schema = None if self._is_copy else schema_before_upgrade(connection)
            kept = None if schema is None else maintenance.back_up_before_upgrade(connection, self.path, schema)
            migrate(connection)
        if kept is not None:
            with self._connections.writing() as connection:
                maintenance.note_backup(connection, self.tenant, kept)

    def _watch_space(self) -> None:
        self._space.watch()
        self._connections.set_checkpoint_pages(self._space.checkpoint_pages)

    @property
    def location(self) -> str:
        """The file's path."""
        return str(self.path)

    @property
    def is_local(self) -> bool:
        """True if the store uses no external index. A search in an external index may have to wait."""
        return self._external is None

    @property
    def search_notice(self) -> str | None:
        """A notice for the user if an external index on a server cannot be used now, otherwise None."""
        return self._external.notice if self._external is not None else None

    def preload(self) -> None:
        """Import the client library of the external index, if the store uses one."""
        if self._external is not None:
            self._external.place.load()

    def guard(self, ask: Callable[[], R]) -> R:
        """Call ``ask``, which reads the file, and return its result. SQLite's errors are raised as Holdfast errors.

        The process cannot fork until ``ask`` has returned.
        """
        if self.connection.known is not None:  # inside a snapshot, which is guarded as a whole
            return ask()
        with translate_errors(self.path):
            return ask()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Context manager: run all reads inside it in one snapshot.

        If an external index is used, there is no snapshot: each read sees the newest data.
        """
        if self._external is not None or self.connection.known is not None:
            yield
            return
        with translate_errors(self.path), self.connection.snapshot():
            yield

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[SQLiteTransaction]:
        """Context manager for a write transaction. If its ``with`` block raises an error, the transaction is rolled back.

        When the ``with`` block ends, the transaction is on disk. With ``durable=False``, it may reach the disk a little
        later.
        """
        self._watch_space()
        with self._connections.writing(durable=durable) as connection:
            yield SQLiteTransaction(connection, tenant=self.tenant, path=self.path)
            item = last_item(connection) if durable else 0
        if not self._space.is_very_low:
            self._acked.note(item)

    @contextlib.contextmanager
    def room(self) -> Iterator[Callable[[], object]]:
        """Context manager: make room on a full disk for the writes inside it. No other thread of this process writes meanwhile.

        It yields a function that empties the write-ahead log. Call this function between two writes.
        """
        with self._connections.exclusive() as connection:
            self._space.release_reserve()
            limit_pages(connection, spare=0)
            maintenance.try_checkpoint(connection)
            try:
                yield lambda: maintenance.try_checkpoint(connection)
            finally:
                maintenance.try_checkpoint(connection)
                limit_pages(connection)
                self._space.keep_reserve()

    def count_memories(self, wanted: MemoryFilter) -> int:
        """Count the memories that a filter selects. The count is cached until any process writes to the file."""
        with self.snapshot():
            return super().count_memories(wanted)

    def stats(self) -> Mapping[str, Any]:
        """Return the counts of this tenant by name, for ``Stats.of``. The row counts stay cached until the file changes.

        ``bytes`` is the total size of the store's files, including the rows of other tenants.
        """
        with self.snapshot():
            rows = self.guard(
                lambda: cached_fetch(self.connection, ("stats", self.tenant), lambda: counts.stats(self.connection, self.tenant))
            )
        return {**rows, "bytes": sum(file.stat().st_size for file in maintenance.store_files(self.path))}

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the file and the external index, if there is one. Return the findings.

        With ``deep``, also check the hash of every row.
        """
        with self._connections.fresh() as connection:
            findings = maintenance.check(connection, self.tenant, self.path, deep=deep)
            return [*findings, *index_maintenance.check(self._connections, self.tenant, self._external, deep=deep)]

    def tidy(self) -> bool:
        """Do one step of maintenance that makes searches faster. Return False if there is nothing to do.

        A step merges segments of the full-text index, updates an external index, or loads a partition's words into memory.
        """
        return self._merge_some() or self._feed_some() or self._load_words()

    @guarded
    def _load_words(self) -> bool:
        if not self.words.is_used:
            return False
        with self.snapshot():
            return self.words.load_waiting(self.connection, self.tenant)

    @guarded
    def _feed_some(self) -> bool:
        return self._external is not None and self._external.tidy()

    @guarded
    def rebuild_index(self) -> int:
        """Rebuild the external index and return its number of vectors.

        First, damaged vectors are removed. Background work embeds their texts again. If the store no longer uses an external
        index, remove its old external indexes and return 0.
        """
        with self._connections.writing() as connection:
            damaged_vectors.remove(connection, self.tenant)
        if self._external is not None:
            return self._external.rebuild()
        index_maintenance.remove_all(self._connections, self.tenant, self.path)
        return 0

    def _merge_some(self) -> bool:
        # Read the segments before taking the write lock, outside fork_guard: waiting for the lock must not delay a fork.
        sizes = [] if self._merging else self._new_segments()
        if not self._merging and not sizes:
            return False
        with self._connections.writing(durable=False) as connection:
            self._merging = fulltext.merge(connection, everything=fulltext.should_merge_all(sizes))
            if not self._merging:
                self._settled = len(fulltext.segments(connection))
        return True

    @guarded
    def _new_segments(self) -> list[int]:
        """Return the sizes of the full-text index's segments if the segments should be merged, otherwise an empty list.

        If nothing was written to the file since the last empty result, the segments are not checked again, and the list is
        empty.
        """
        version = (id(self.connection), self.connection.pragma("data_version"))
        if version == self._tidied:
            return []
        sizes = fulltext.segments(self.connection)
        self._settled = min(self._settled, len(sizes))
        if fulltext.should_merge_all(sizes) or len(sizes) > self._settled + fulltext.FEW_SEGMENTS:
            return sizes
        self._tidied = version
        return []

    def scrub(
        self, needles: Sequence[bytes], *, rewrite: bool = True, files: Sequence[Path] = (), when: ScrubTime = "now"
    ) -> tuple[bool, tuple[str, ...]]:
        """Overwrite removed data in the file and its log, and search both for the needles (byte strings from erased data).

        Return (complete, residue). ``complete`` is True if the log was emptied and all erased vectors were removed from the
        external indexes. ``residue`` has the names of the files that still contain a needle. Needles that also occur in a
        stored row are ignored. ``files`` are files outside the store that are searched, too. If the store is encrypted, only
        ``files`` are searched.

        With ``rewrite``, the file is rewritten, unless it is very large. Without ``rewrite``, only the log is emptied,
        because SQLite has already overwritten the removed data in the file itself (``secure_delete``). In both cases, the file
        is rewritten if a needle is still found after the log was emptied.

        With ``when="now"``, the file is rewritten at once. With ``due`` or ``later``, the rewrite is skipped if the file was
        already rewritten after the erasures. A ``paced`` store postpones the rewrite if it has used up its time for rewrites, or
        if other tenants are writing. Then nothing is overwritten, and ``complete`` is False. Call this method again later with
        ``due``.
        """
        self._clear_caches()
        outside = scrubbing.plain_residue(self._connections, self.path, files, needles)
        awaited = self.setting(rewrites.AWAITED) if when != "now" else None
        if rewrite and when != "now" and not self._may_rewrite(awaited):
            return False, outside
        clean = index_maintenance.scrub(self._connections, self.tenant, self.path, self._external)
        hidden: Sequence[bytes] = [] if self._key is not None else needles
        begin = time.monotonic()
        complete, residue = scrubbing.scrub(
            self._connections,
            self.path,
            hidden,
            rewrite=rewrite,
            awaited=awaited,
            may_rewrite=lambda: when == "now" or self._may_rewrite(None),
        )
        if rewrite and self._rewrite_pace is not None:
            self._rewrite_pace.spend(time.monotonic() - begin)
        # A reader that started earlier may have cached erased data again. Readers that start now cannot.
        self._clear_caches()
        return complete and clean, (*residue, *outside)

    @guarded
    def _may_rewrite(self, awaited: str | None) -> bool:
        """Return True if a scrub can run now, False if it must wait (see :meth:`rewrites.RewritePace.is_due`).

        ``awaited`` is the number of the last rewrite that had begun before this tenant's erasures. If a rewrite with a higher
        number has finished, the scrub skips the rewrite and need not wait.
        """
        return (
            self._rewrite_pace is None
            or self._rewrite_pace.is_due(self.tenant)
            or rewrites.is_covered(self._connections.reader(), awaited)
        )

    def _clear_caches(self) -> None:
        """Clear the in-memory caches.

        The process cannot fork while this runs, because the child would inherit locks that are held.
        """
        with forks.fork_guard:
            self._indexes.clear()
            self.words.clear()
            self._allowed_items.clear()

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the file, without removed data, to ``target``. Record that the copy exists."""
        with self._connections.exclusive() as connection:
            maintenance.backup(connection, target)
        with self._connections.writing() as connection:
            maintenance.note_backup(connection, self.tenant, target)

    def open_copy(self, path: Path) -> "SQLiteStore":
        """Open a copy of this file, with the same tenant and key."""
        return SQLiteStore(path, tenant=self.tenant, key=self._key, is_copy=True)

    @guarded
    def backups(self) -> list[str]:
        """List the known backups. Those of other tenants are included, because each backup contains the whole file."""
        return [row[0] for row in self._rows("SELECT path FROM backups GROUP BY path ORDER BY max(at)")]

    def close(self) -> None:
        """Close the file and drop the caches."""
        if self._external is not None:
            self._external.release()
        self._connections.close()
        self._clear_caches()
