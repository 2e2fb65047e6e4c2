"""The folders of topic pages: one for what all share, and one inside it for each user or app that is talked to."""

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
from holdfast.topic_files.sync import FileQuestion, SyncReport, TopicFiles
from holdfast.types import Scope

log = logging.getLogger("holdfast")
_MAX_FOLDERS = 100
"""Scopes whose folders one process keeps in step; more have their pages in the store, and no files."""
_NAME_FILE = ".holdfast-folder"
_FIRST_TENANT = "default"
"""Who has the folder itself; others have one inside it."""


class FolderMirrors:
    """Keeps the folders of the scopes in use in step; does nothing for a preset without a folder for topics."""

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
        """Where the pages are; None where a preset keeps no files."""
        self._machine = _name_of(self.root) if self.root is not None and "://" in store.location else ""
        self.use(Scope(tenant=store.tenant))

    def _find_root(self) -> Path | None:
        """Return the folder; one without a place of its own lies beside the store."""
        if self._preset.topics is None or self._preset.topics_dir is None:
            return None
        given = Path(self._preset.topics_dir).expanduser()
        root = given if given.is_absolute() else Path(self._store.location).parent / given
        tenant = self._store.tenant
        if tenant == _FIRST_TENANT:
            return root
        # What lies in a folder is taken in: a tenant's pages must not lie where another looks.
        return root / f"tenant-{slug(tenant, max_words=6) or 'x'}-{hashlib.blake2b(tenant.encode(), digest_size=8).hexdigest()}"

    def use(self, scope: Scope) -> None:
        """Keep a scope's folder in step from now on."""
        if self.root is not None and (scope in self._open or len(self._open) < _MAX_FOLDERS):
            self.of(scope)

    def of(self, scope: Scope) -> TopicFiles:
        """Return the pages of one scope."""
        if self.root is None:
            raise NotFound(f"The preset {self._preset.name!r} keeps no topic files; set topics_dir to have them.")
        with self._lock:
            if scope not in self._open:
                folder = self.root / self._name(scope)
                self._open[scope] = TopicFiles(
                    self._store, self._preset, self._clock, folder, scope, follow_up=self._follow_up, machine=self._machine
                )
            return self._open[scope]

    @staticmethod
    def _name(scope: Scope) -> str:
        """Return a scope's folder: readable, safe on every system, and no other scope's."""
        parts = [part for part in (scope.app, scope.user, scope.agent) if part]
        if not parts:
            return "."
        whole = json.dumps([scope.app, scope.user, scope.agent]).encode()
        readable = slug(" ".join(parts), max_words=6) or "scope"
        return f"{readable}-{hashlib.blake2b(whole, digest_size=4).hexdigest()}"

    def sync(self) -> SyncReport:
        """Take hand edits in and write pages out, for every scope in use."""
        return _together(files.sync() for files in self._in_use())

    def before_erasing(self, owner: Mapping[str, str]) -> list[TopicFiles]:
        """Take in what stands in the files of the scopes an erasure may touch, so that it goes as well; returns them."""
        if self.root is None:
            return []
        for memory in self._store.memories(MemoryFilter(owner=owner, has_topic=True, statuses=None)):
            self.of(memory.scope)
        touched = [files for scope, files in list(self._open.items()) if not owner or _fits(scope, owner)]
        for files in touched:
            files.sync()
        return touched

    def questions(self) -> tuple[FileQuestion, ...]:
        """Return what waits for a person's answer."""
        return tuple(question for files in self._in_use() for question in files.questions())

    def answer(self, question: str, *, yes: bool) -> SyncReport:
        """Take a file as the person has it, or keep what the memory has and write the file again."""
        for files in self._in_use():
            if question in {asked.id for asked in files.questions()}:
                return files.confirm(question) if yes else files.refuse(question)
        raise NotFound(f"There is no open question {question}; `holdfast topics questions` lists them.")

    def _in_use(self) -> list[TopicFiles]:
        with self._lock:
            return list(self._open.values())


def _name_of(root: Path) -> str:
    """Return the name that a folder was given when it was first used: another machine's may have the same path."""
    path, name = root / _NAME_FILE, secrets.token_hex(16)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), path.open("x", encoding="ascii") as file:
            file.write(name)
        for _ in range(50):  # another process may have made it this moment, and not written yet
            if known := path.read_text("ascii").strip():
                return known
            time.sleep(0.01)
    except OSError as error:
        log.warning("The folder of topic pages %s cannot be used: %s", root, error)
    return name


def _fits(scope: Scope, owner: Mapping[str, str]) -> bool:
    return all(getattr(scope, part) == name for part, name in owner.items())


def _together(reports: Iterable[SyncReport]) -> SyncReport:
    done = list(reports)
    return SyncReport(
        read_in=sum(report.read_in for report in done),
        written=sum(report.written for report in done),
        conflicts=tuple(id for report in done for id in report.conflicts),
        questions=tuple(question for report in done for question in report.questions),
        problems=tuple(problem for report in done for problem in report.problems),
    )
