"""Keeps folders of topic pages in sync with the store.

The root folder has the pages of shared memories. Every other scope in use, such as a user or an app, has a subfolder.
"""

import contextlib
import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from holdfast.errors import NotFound
from holdfast.learning.topics.naming import slug
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, Store, Transaction
from holdfast.runtime.private_files import create_folder
from holdfast.topic_files.sync import FileQuestion, SyncReport, TopicFiles
from holdfast.types import Scope

log = logging.getLogger("holdfast")
_MAX_FOLDERS = 100
"""Maximum number of scopes whose folders one process syncs. Further scopes have pages in the store but no files."""
_NAME_FILE = ".holdfast-folder"
_FIRST_TENANT = "default"
"""The tenant whose pages are in the root folder itself. Each other tenant has a subfolder of the root folder."""


class FolderMirrors:
    """Syncs the folders of the scopes in use. Does nothing if the preset has no ``topics_dir`` (root folder of the pages)."""

    def __init__(
        self, store: Store, preset: Preset, clock: Clock, *, follow_up: Callable[[Transaction, Scope], None] | None = None
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._follow_up = follow_up
        self._lock = threading.RLock()
        self._open: dict[Scope, TopicFiles] = {}
        self.root = self._find_root()
        """The root folder of the pages; None if the preset keeps no files."""
        self._machine = _folder_id(self.root) if self.root is not None and "://" in store.location else ""
        self.use(Scope(tenant=store.tenant))

    def _find_root(self) -> Path | None:
        """Return the root folder. A relative path is resolved against the store's folder."""
        if self._preset.topics is None or self._preset.topics_dir is None:
            return None
        path = Path(self._preset.topics_dir).expanduser()
        root = path if path.is_absolute() else Path(self._store.location).parent / path
        tenant = self._store.tenant
        if tenant == _FIRST_TENANT:
            return root
        # Every page in a folder is imported, so tenants must not share one.
        return root / f"tenant-{slug(tenant, max_words=6) or 'x'}-{hashlib.blake2b(tenant.encode(), digest_size=8).hexdigest()}"

    def use(self, scope: Scope) -> None:
        """Start syncing a scope's folder, unless the preset keeps no files or the maximum number of folders is reached."""
        if self.root is not None and (scope in self._open or len(self._open) < _MAX_FOLDERS):
            self.of(scope)

    def of(self, scope: Scope) -> TopicFiles:
        """Return the topic files of one scope."""
        if self.root is None:
            raise NotFound(
                f"The preset {self._preset.name!r} keeps no topic files. Set topics_dir to write them. An encrypted store also needs "
                "plain_topic_files = true."
            )
        with self._lock:
            if scope not in self._open:
                folder = self.root / self._name(scope)
                self._open[scope] = TopicFiles(
                    self._store, self._preset, self._clock, folder, scope, follow_up=self._follow_up, machine=self._machine
                )
            return self._open[scope]

    @staticmethod
    def _name(scope: Scope) -> str:
        """Return a scope's folder name: readable, unique, and safe on every system."""
        parts = [part for part in (scope.app, scope.user, scope.agent) if part]
        if not parts:
            return "."
        identity = json.dumps([scope.app, scope.user, scope.agent]).encode()
        readable = slug(" ".join(parts), max_words=6) or "scope"
        return f"{readable}-{hashlib.blake2b(identity, digest_size=4).hexdigest()}"

    def sync(self) -> SyncReport:
        """Import edits and write pages, for every scope in use."""
        return _combine(files.sync() for files in self._in_use())

    def before_erasing(self, owner: Mapping[str, str]) -> list[TopicFiles]:
        """Import the pending edits of all scopes that an erasure may touch, so that the edits are erased too.

        Return the topic files of these scopes.
        """
        if self.root is None:
            return []
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
        """Answer a question about an edited file. Yes accepts the file as edited. No keeps the memories and rewrites the file."""
        for files in self._in_use():
            if question in {asked.id for asked in files.questions()}:
                return files.confirm(question) if yes else files.refuse(question)
        raise NotFound(f"There is no open question {question}. `holdfast topics questions` lists the open ones.")

    def _in_use(self) -> list[TopicFiles]:
        with self._lock:
            return list(self._open.values())


def _folder_id(root: Path) -> str:
    """Return the random id that is stored in a folder on first use.

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
