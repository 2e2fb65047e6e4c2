"""What every store does about indexes outside the file, whether or not it searches with one."""

from pathlib import Path

from holdfast.runtime import forks
from holdfast.stores.chroma.folder import folder_of, remove_stale
from holdfast.stores.sqlite.connection import SQLiteConnections
from holdfast.stores.sqlite.queued_index import queue
from holdfast.stores.sqlite.queued_index.index import QueuedIndex
from holdfast.types import Finding

EMBEDDED = "chroma"
"""The place of an index that is kept in a folder beside the store."""


def scrub(connections: SQLiteConnections, tenant: str, path: Path, index: QueuedIndex | None) -> bool:
    """See to it that no index holds what was removed; False while one does, or while that cannot be told.

    Chroma keeps removed vectors in its files. So an embedded index from which something was removed is begun anew in a
    new folder, and the old one goes at once; searches are done in memory until it is filled.
    """
    clean = True
    # Not inside the gate while waiting to write: whoever writes may be about to fork.
    with forks.fork_guard:
        builds = queue.builds(connections.reader(), tenant)
    for model, build in builds.items():
        if not build.removed:
            continue
        if build.place == EMBEDDED:
            with connections.writing() as writer:
                queue.begin(writer, tenant, model, place=build.place, home=build.home)
        elif index is not None and _is_emptied(index):
            with connections.writing() as writer:
                queue.none_removed(writer, tenant, model, up_to=build.removed)
        else:
            clean = False
    if index is not None:
        index.release()
    with forks.fork_guard:
        return remove_stale(folder_of(path), lambda: queue.builds_of_all(connections.reader())) and clean


def _is_emptied(index: QueuedIndex) -> bool:
    with forks.fork_guard:
        return index.empty_queue()


def give_up(connections: SQLiteConnections, tenant: str, path: Path) -> None:
    """Want no index outside the file any more, and remove what is beside it."""
    with connections.writing() as writer:
        for model in queue.builds(writer, tenant):
            queue.end(writer, tenant, model)
    remove_stale(folder_of(path), lambda: queue.builds_of_all(connections.reader()))


def check(connections: SQLiteConnections, tenant: str, index: QueuedIndex | None, *, deep: bool) -> list[Finding]:
    """Say how the index is, if there is one."""
    if index is not None:
        return [index.check(deep=deep)]
    builds = queue.builds(connections.reader(), tenant)
    if not builds:
        return []
    waiting = sum(queue.count_waiting(connections.reader(), tenant, model) for model in builds)
    where = ", ".join(sorted({build.place for build in builds.values()}))
    return [
        Finding(
            check="index", ok=True, detail=f"{where} is not in use here: {waiting} changes wait for it. "
            "If it is not wanted any more: holdfast doctor --rebuild-index",
        )
    ]  # fmt: skip
