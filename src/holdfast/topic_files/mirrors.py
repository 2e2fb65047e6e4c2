"""Keeps folders of topic pages in sync with the store.

The root folder has the pages of shared memories. Every other scope in use, such as a user or an app, has a subfolder.
"""

import contextlib
import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from holdfast.errors import NotFound
from holdfast.learning.topics.naming import slug
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, Reads, Store, Transaction
from holdfast.runtime.private_files import create_file, create_folder
from holdfast.topic_files.sync import FileQuestion, SyncReport, TopicFiles
from holdfast.types import Scope

log = logging.getLogger("holdfast")
_MAX_FOLDERS = 100
"""Maximum number of scopes whose folders one process syncs. Topics of further scopes have pages in the store but no files."""
_NAME_FILE = ".holdfast-folder"
_OWNER_FILE = ".holdfast-store"
"""Name of a file in each folder of pages. It contains the path of the store that owns the pages, relative to the folder."""
_FOLDERS = "topic folders"
"""Name of the store's setting that lists the root folders into which presets have written pages."""
_FIRST_TENANT = "default"
"""The tenant whose pages are in the root folder itself. Each other tenant has a subfolder of the root folder."""


class FolderMirrors:
    """Syncs the topic pages of a store with files. Each scope in use has its own folder.

    The preset's ``topics_dir`` is the root of these folders. If the preset has no ``topics_dir``, nothing is synced.
    """

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        *,
        follow_up: Callable[[Transaction, Scope], None] | None = None,
        root: Path | None = None,
    ) -> None:
        """Mirror the topic pages of a store. ``root`` replaces the root folder that the preset names.

        ``follow_up`` is called in each transaction that imports edits, with the transaction and the scope of the edits.
        """
        self._store = store
        self._preset = preset
        self._clock = clock
        self._follow_up = follow_up
        self._lock = threading.RLock()
        self._open: dict[Scope, TopicFiles] = {}
        self.root = root or self._find_root()
        """The root folder of the pages; None if the preset keeps no files."""
        self.machine = _folder_id(self.root) if self.root is not None and "://" in store.location else ""
        """Random id of the root folder on this machine, if the store is on a server. Empty if the store is a file."""
        if self.root is not None and root is None:
            _record_folder(store, self.root, preset.name, self.machine)
        self.use(Scope(tenant=store.tenant))

    def _find_root(self) -> Path | None:
        """Return the root folder of the pages, or None if the preset keeps no files.

        A relative path starts at the store's folder.
        """
        if self._preset.topics is None or self._preset.topics_dir is None:
            return None
        path = Path(self._preset.topics_dir).expanduser()
        root = path if path.is_absolute() else Path(self._store.location).parent / path
        tenant = self._store.tenant
        if "://" not in self._store.location:
            root = _own_folder(root, Path(self._store.location))
        if tenant == _FIRST_TENANT:
            return root
        # Every page in a folder is imported, so tenants must not share one.
        return root / f"tenant-{slug(tenant, max_words=6) or 'x'}-{hashlib.blake2b(tenant.encode(), digest_size=8).hexdigest()}"

    def use(self, scope: Scope) -> None:
        """Start syncing the folder of a scope. Do nothing if the preset keeps no files, or if too many folders are synced already."""
        if self.root is not None and (scope in self._open or len(self._open) < _MAX_FOLDERS):
            self.of(scope)

    def of(self, scope: Scope) -> TopicFiles:
        """Return the object that syncs the topic files of one scope. Raise ``NotFound`` if the preset keeps no topic files."""
        if self.root is None:
            raise NotFound(
                f"The preset {self._preset.name!r} keeps no topic files. Set topics_dir to write them. An encrypted store also needs "
                "plain_topic_files = true."
            )
        with self._lock:
            if scope not in self._open:
                folder = self.root / folder_name(scope)
                self._open[scope] = TopicFiles(
                    self._store, self._preset, self._clock, folder, scope, follow_up=self._follow_up, machine=self.machine
                )
            return self._open[scope]

    def sync(self) -> SyncReport:
        """Import edits and write pages, for every scope in use."""
        return _combine(files.sync() for files in self._in_use())

    def before_erasing(self, owner: Mapping[str, str], scopes: Iterable[Scope] = ()) -> list[TopicFiles]:
        """Sync all folders that an erasure may affect. This imports pending edits, so that they are erased, too.

        ``owner`` names the user, app or agent whose data is erased. Its folders are affected, or all folders if ``owner`` is
        empty. Folders that are not in use yet are opened first: the folders of ``scopes``, and those of the owner's memories
        that have a topic. Return one ``TopicFiles`` object per affected folder.
        """
        if self.root is None:
            return []
        for scope in scopes:
            self.of(scope)
        for memory in self._store.memories(MemoryFilter(owner=owner, has_topic=True, statuses=None)):
            self.of(memory.scope)
        touched = [files for scope, files in list(self._open.items()) if not owner or _belongs_to(scope, owner)]
        for files in touched:
            files.sync()
        return touched

    def questions(self) -> tuple[FileQuestion, ...]:
        """Return the questions about edited files that the user has not answered yet."""
        return tuple(question for files in self._in_use() for question in files.questions())

    def answer(self, question: str, *, yes: bool) -> SyncReport:
        """Answer a question about an edited file. Yes accepts the edits. No keeps the memories and rewrites the file."""
        for files in self._in_use():
            if question in {asked.id for asked in files.questions()}:
                return files.confirm(question) if yes else files.refuse(question)
        raise NotFound(f"There is no open question {question}. `holdfast topics questions` lists the open ones.")

    def _in_use(self) -> list[TopicFiles]:
        with self._lock:
            return list(self._open.values())


def _own_folder(root: Path, store: Path) -> Path:
    """Return the folder for the pages of a store: ``root``, or a folder next to it if another store uses ``root``.

    Every page in a folder is imported, so two stores must not share a folder. If the other store no longer exists, its
    folder is taken over.
    """
    beside = root.with_name(f"{root.name}-{slug(store.stem, max_words=6) or 'store'}")
    digest = hashlib.blake2b(str(store).encode(), digest_size=4).hexdigest()
    for folder in (root, beside):
        if _claim(folder, store):
            return folder
    return beside.with_name(f"{beside.name}-{digest}")


def _claim(folder: Path, store: Path) -> bool:
    """Record in a folder that it contains the pages of this store. Return False if the pages belong to another existing store."""
    marker, name = folder / _OWNER_FILE, Path(os.path.relpath(store.resolve(), folder.resolve())).as_posix()
    try:
        create_folder(folder)
        if create_file(marker):
            marker.write_text(name, "utf-8")
        owner = marker.read_text("utf-8").strip()
        if owner in ("", name):
            return True
        if (folder / owner).exists():
            return False
        marker.write_text(name, "utf-8")
    except (OSError, ValueError) as error:  # ValueError: another drive on Windows
        log.warning("The folder for topic pages %s cannot be marked: %s. Check that it exists and is writable.", folder, error)
    return True


def folder_name(scope: Scope) -> str:
    """Return a scope's folder name: readable, unique, and safe on every system."""
    parts = [part for part in (scope.app, scope.user, scope.agent) if part]
    if not parts:
        return "."
    identity = json.dumps([scope.app, scope.user, scope.agent]).encode()
    readable = slug(" ".join(parts), max_words=6) or "scope"
    return f"{readable}-{hashlib.blake2b(identity, digest_size=4).hexdigest()}"


def recorded_folders(reads: Reads) -> dict[str, tuple[str, str]]:
    """Return the root folders into which any preset has written pages of this store.

    The result maps the path of each folder to the name of the preset and the folder's id. The id is empty if the store is a
    file.
    """
    stored = json.loads(reads.setting(_FOLDERS) or "{}")
    return {root: (name, machine) for root, (name, machine) in stored.items()}


def _record_folder(store: Store, root: Path, preset: str, machine: str) -> None:
    """Record in the store that a preset writes pages to the folder ``root``.

    An erasure uses the record to find the pages, even if it runs with another preset. ``machine`` is the id of the folder, or
    empty if the store is a file.
    """
    path = str(root.absolute())
    if recorded_folders(store).get(path) != (preset, machine):
        with store.write() as tx:
            tx.set_setting(_FOLDERS, json.dumps({**recorded_folders(tx), path: (preset, machine)}))


def belongs_to_store(folder: Path, store: Path) -> bool:
    """Return True if a folder contains the pages of this store, or if no store is recorded in the folder.

    Pages of another store must not be read.
    """
    try:
        owner = (folder / _OWNER_FILE).read_text("utf-8").strip()
    except OSError:
        return True
    return not owner or (folder / owner).resolve() == store.resolve()


def _folder_id(root: Path) -> str:
    """Return the random id of a folder. It is stored in the folder on first use.

    The id distinguishes folders that have the same path on two machines.
    """
    path, name = root / _NAME_FILE, secrets.token_hex(16)
    try:
        create_folder(root)
        with contextlib.suppress(FileExistsError), path.open("x", encoding="ascii") as file:
            file.write(name)
        for _ in range(50):  # another process may have just created it and not written it yet
            if known := path.read_text("ascii").strip():
                return known
            time.sleep(0.01)
    except OSError as error:
        log.warning("The folder for topic pages %s cannot be used: %s. Check that it exists and is writable.", root, error)
    return name


def _belongs_to(scope: Scope, owner: Mapping[str, str]) -> bool:
    return all(getattr(scope, part) == name for part, name in owner.items())


def _combine(reports: Iterable[SyncReport]) -> SyncReport:
    done = list(reports)
    return SyncReport(
        read_in=sum(report.read_in for report in done),
        written=sum(report.written for report in done),
        conflicts=tuple(id for report in done for id in report.conflicts),
        questions=tuple(question for report in done for question in report.questions),
        problems=tuple(problem for report in done for problem in report.problems),
    )
