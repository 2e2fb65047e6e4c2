"""A store for the ``Memory`` capability of Pydantic AI's harness: files with versions.

A write names the version that it expects, and fails if the file has another version. A receipt records each operation,
so that a repeated operation is not run twice.
"""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Literal

from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchMatch,
    MemorySearchResult,
)

import holdfast
from holdfast.adapters.shared import ITEM, Owner, check_items, root_label

_PAGE = 500
_SEGMENT = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_MAX_METADATA_CHARS = 4096
_RECEIPT_LIFETIME = timedelta(days=30)
Part = Literal["files", "receipts"]


class HoldfastFiles:
    """A ``MemoryStore`` of Pydantic AI's harness, with metadata and search, in a Holdfast memory.

    ::

        agent = Agent(model, capabilities=[Memory(store=HoldfastFiles(memory, user="ana"))])

    Files are stored unchanged. Several processes can write at once: a write fails if the file no longer has the version
    that the writer expects. The name and version of a deleted file are kept. If the file is created again, it gets a new
    version, so a write that expects a version from before the deletion fails, too.
    """

    def __init__(
        self, memory: holdfast.Engine, *, user: str | None = None, app: str | None = None, agent: str | None = None
    ) -> None:
        """Use a memory that was opened with the kind ``holdfast.adapters.ITEM``. Each owner has separate files."""
        self._memory = check_items(memory)
        self._owner: Owner = {"user": user, "app": app, "agent": agent}
        self._root = root_label("pydantic_ai", self._owner)

    def __repr__(self) -> str:
        return "HoldfastFiles()"

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return the first ``max_chars`` characters of a file, or None if it does not exist."""
        _check_path(path)
        if max_chars <= 0:
            raise ValueError("max_chars must be positive")
        found = await asyncio.to_thread(self._file, path)
        if found is None or _is_deleted(found):
            return None
        return MemoryFile(
            content=found.text[:max_chars],
            version=str(found.revision),
            operation_id=found.metadata.get("operation"),
            truncated=len(found.text) > max_chars,
            metadata=found.metadata.get("metadata"),
        )

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return the result of an operation that has already run. Return None if it has not run."""
        return await asyncio.to_thread(self._receipt, operation)

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Create or replace a file, if it has the expected version. Otherwise raise ``MemoryConflictError``.

        If ``expected_version`` is None, the file must not exist. If ``operation`` has already run, nothing is written,
        and its stored result is returned.
        """
        return await self.write_with_metadata(
            path, content, expected_version=expected_version, metadata=None, operation=operation
        )

    async def write_with_metadata(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        metadata: Mapping[str, str] | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Create or replace a file, if it has the expected version, and store metadata with it.

        The other arguments and the errors are those of :meth:`write`.
        """
        _check_path(path)
        stored = {"operation": operation.id if operation else None, "metadata": _checked_metadata(metadata)}
        file = {"text": content, "metadata": stored, "index": [f"{path}\n{content}"]}
        return await asyncio.to_thread(self._change, path, file, expected_version, operation)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Delete a file, if it has the expected version. Otherwise raise ``MemoryConflictError``.

        If ``operation`` has already run, nothing is deleted, and its stored result is returned.
        """
        _check_path(path)
        gone = {"text": "", "metadata": {"deleted": True}, "index": False}
        return await asyncio.to_thread(self._change, path, gone, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the paths that start with a prefix, sorted."""
        _check_prefix(prefix)
        if limit <= 0:
            raise ValueError("limit must be positive")
        return (await asyncio.to_thread(self._paths, prefix))[:limit]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """Return the files directly below a prefix that are relevant to a query or contain a word of the query, best first.

        At most ``limit`` and at most ``max_files`` files are returned. Their paths and snippets have at most
        ``max_chars`` characters in total. If one of the four limits is 0, nothing is returned. ``max_file_chars`` has
        no other effect.
        """
        _check_prefix(prefix)
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        return await asyncio.to_thread(self._search, prefix, query, limit, max_files, max_chars)

    def _search(self, prefix: str, query: str, limit: int, max_files: int, max_chars: int) -> MemorySearchResult:
        namespace = self._namespace("files", prefix)
        hits = self._memory.recall(
            query, kind=ITEM.name, namespace=namespace, limit=min(max_files, limit + 1), distinct=False, **self._owner
        )
        relevant = [hit for hit in hits if hit.is_relevant or _has_word(hit.memory, query)]
        matches: list[MemorySearchMatch] = []
        left = max_chars
        for hit in relevant[:limit]:
            assert hit.memory is not None
            path = _path(hit.memory)
            room = left - len(path.removeprefix(prefix))
            if room <= 0:
                break
            snippet = _snippet(hit.memory.text, query, room)
            matches.append(MemorySearchMatch(path=path, snippet=snippet, score=hit.score))
            left = room - len(snippet)
        scanned = self._memory.count_memories(kind=ITEM.name, namespace=namespace, where=_LIVE, **self._owner)
        return MemorySearchResult(matches=matches, scanned=scanned, truncated=len(matches) < len(relevant))

    # The store

    def _namespace(self, part: Part, path: str = "") -> tuple[str, ...]:
        """Return the namespace of the folder that contains ``path``.

        ``part`` is the part of the store: the files, or the results of operations that have already run.
        """
        return (self._root, part, *path.split("/")[:-1])

    def _file(self, path: str) -> holdfast.Memory | None:
        """Return the memory that stores a file, even if the file was deleted. Return None if the file never existed."""
        return self._item(self._namespace("files", path), path.rsplit("/", maxsplit=1)[-1])

    def _item(self, namespace: tuple[str, ...], key: str) -> holdfast.Memory | None:
        found = self._memory.memories(kind=ITEM.name, namespace=namespace, key=key, limit=1, **self._owner)
        return found[0] if found else None

    def _receipt(self, operation: MemoryOperation | None) -> MemoryMutation | None:
        found = None if operation is None else self._item(self._namespace("receipts"), operation.id)
        if operation is None or found is None:
            return None
        if found.metadata["fingerprint"] != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
        return MemoryMutation(version=found.metadata["version"], replayed=True, existed=found.metadata["existed"])

    def _change(
        self, path: str, file: Mapping[str, Any], expected_version: str | None, operation: MemoryOperation | None
    ) -> MemoryMutation:
        """Write a file if it has the expected version. Raise ``MemoryConflictError`` if it has another version.

        ``file`` has the new text, metadata and searched texts. If ``expected_version`` is None, the file must not
        exist. The result of ``operation`` is stored in the same transaction. If the operation has already run, nothing
        is written, and its stored result is returned.
        """
        if (done := self._receipt(operation)) is not None:
            return done
        current = self._file(path)
        existed = current is not None and not _is_deleted(current)
        revision = current.revision if current else 0
        conflict = MemoryConflictError(f"memory path {path!r} changed before it could be written")
        if (str(revision) if existed else None) != expected_version:
            raise conflict
        deletes = file["metadata"].get("deleted", False)
        mutation = MemoryMutation(version=None if deletes else str(revision + 1), replayed=False, existed=existed)
        changes = [] if deletes and not existed else [self._fields(path, file, revision)]
        if operation is not None:
            changes.append(self._receipt_fields(operation, mutation))
        try:
            self._memory.remember_all(changes, **self._owner)
        except holdfast.RevisionConflict:  # another writer was faster, maybe with the same operation
            done = self._receipt(operation)
            if done is None:
                raise conflict from None
            return done
        return mutation

    def _fields(self, path: str, file: Mapping[str, Any], revision: int) -> holdfast.NewMemory:
        return holdfast.NewMemory(
            text=file["text"],
            kind=ITEM.name,
            key=path.rsplit("/", maxsplit=1)[-1],
            namespace=self._namespace("files", path),
            metadata=file["metadata"],
            index=file["index"],
            if_revision=revision,
        )

    def _receipt_fields(self, operation: MemoryOperation, mutation: MemoryMutation) -> holdfast.NewMemory:
        return holdfast.NewMemory(
            text="",
            kind=ITEM.name,
            key=operation.id,
            namespace=self._namespace("receipts"),
            metadata={"fingerprint": operation.fingerprint, "version": mutation.version, "existed": mutation.existed},
            index=False,
            expires_at=datetime.now(UTC) + _RECEIPT_LIFETIME,
            if_revision=0,
        )

    def _paths(self, prefix: str) -> list[str]:
        folder = self._namespace("files", prefix)
        found: list[str] = []
        for offset in count(0, _PAGE):
            page = self._memory.memories(
                kind=ITEM.name, namespace_prefix=folder, where=_LIVE, limit=_PAGE, offset=offset, **self._owner
            )
            found += [_path(memory) for memory in page]
            if len(page) < _PAGE:
                break
        return sorted(path for path in found if path.startswith(prefix))


_LIVE = {"deleted": {"$exists": False}}
"""Filter for files that are not deleted."""


def _is_deleted(memory: holdfast.Memory) -> bool:
    return bool(memory.metadata.get("deleted"))


def _path(memory: holdfast.Memory) -> str:
    return "/".join([*memory.namespace[2:], memory.key or ""])


def _check_path(path: str) -> None:
    """Raise ValueError if a path is invalid. A valid path is relative, such as ``notes/today.md``.

    It contains neither ``..`` nor special characters.
    """
    if not all(_SEGMENT.fullmatch(part) and ".." not in part and part != "." for part in path.split("/")):
        raise ValueError(f"invalid memory path: {path!r}")


def _check_prefix(prefix: str) -> None:
    if prefix:
        _check_path(prefix.removesuffix("/"))


def _checked_metadata(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    if not metadata:
        return None
    if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
        raise TypeError("memory metadata keys and values must be strings")
    size = sum(len(name) + len(value) for name, value in metadata.items())
    if size > _MAX_METADATA_CHARS:
        raise ValueError(f"memory metadata has {size} characters; the limit is {_MAX_METADATA_CHARS}")
    return dict(metadata)


def _has_word(memory: holdfast.Memory | None, query: str) -> bool:
    text = f"{_path(memory)}\n{memory.text}".lower() if memory else ""
    return any(word in text for word in query.lower().split())


def _snippet(text: str, query: str, max_chars: int) -> str:
    """Return the part of a text around the first word that the text shares with the query."""
    folded = text.lower()
    places = [place for word in query.lower().split() if (place := folded.find(word)) >= 0]
    start = max(0, min(min(places, default=0) - max_chars // 3, len(text) - max_chars))
    return text[start : start + max_chars]
