"""Scrub, remove and check external indexes, including those that a store no longer uses for search."""

from pathlib import Path

from holdfast.runtime import forks
from holdfast.stores.chroma.folder import folder_of, remove_stale
from holdfast.stores.sqlite.connection import SQLiteConnections
from holdfast.stores.sqlite.queued_index import queue
from holdfast.stores.sqlite.queued_index.index import QueuedIndex
from holdfast.types import Finding
from holdfast.types.translatable import translatable

EMBEDDED = "chroma"
"""Name of the place of an index that runs in this process. The index is in a folder next to the store file."""


def scrub(connections: SQLiteConnections, tenant: str, path: Path, index: QueuedIndex | None) -> bool:
    """Remove erased vectors from all external indexes. Return False if an index may still contain erased vectors.

    Chroma keeps removed vectors in its files. So after a removal, an index in a folder (not on a server) is rebuilt in a
    new folder, and the old folder is deleted. Until the new index is filled, searches run in memory.
    """
    clean = True
    # Do not hold fork_guard while waiting for the write lock: the thread that holds the lock may be about to fork.
    with forks.fork_guard:
        builds = queue.builds(connections.reader(), tenant)
    for model, build in builds.items():
        if not build.removed:
            continue
        if build.place == EMBEDDED:
            with connections.writing() as writer:
                queue.start_build(writer, tenant, model, place=build.place, home=build.home)
        elif index is not None and _is_synced(index):
            with connections.writing() as writer:
                queue.subtract_removed(writer, tenant, model, up_to=build.removed)
        else:
            clean = False
    if index is not None:
        index.release()
    with forks.fork_guard:
        return remove_stale(folder_of(path), lambda: queue.builds_of_all(connections.reader())) and clean


def _is_synced(index: QueuedIndex) -> bool:
    with forks.fork_guard:
        return index.sync()


def remove_all(connections: SQLiteConnections, tenant: str, path: Path) -> None:
    """Stop using external indexes. Delete those that are in a folder next to the store, but not those on a server."""
    with connections.writing() as writer:
        for model in queue.builds(writer, tenant):
            queue.drop_build(writer, tenant, model)
    remove_stale(folder_of(path), lambda: queue.builds_of_all(connections.reader()))


def check(connections: SQLiteConnections, tenant: str, index: QueuedIndex | None, *, deep: bool) -> list[Finding]:
    """Check the external index, and return the findings. The list is empty if the store has no external index.

    ``index`` is None if this process uses no external index. If the store has one nevertheless, the finding says that it is
    unused.
    """
    if index is not None:
        return [index.check(deep=deep)]
    builds = queue.builds(connections.reader(), tenant)
    if not builds:
        return []
    waiting = sum(queue.count_waiting(connections.reader(), tenant, model) for model in builds)
    where = ", ".join(sorted({build.place for build in builds.values()}))
    return [
        Finding(
            check="index",
            ok=True,
            detail=translatable(
                "index.unused",
                "{place} is not used by this process; changes queued for it: {n}. To remove it: holdfast doctor --rebuild-index",
                place=where,
                n=waiting,
            ),
        )
    ]
