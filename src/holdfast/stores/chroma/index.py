"""Chroma as an index of vectors: embedded in a folder beside the store, or on a server.

Only keys, partitions and vectors are given to it: no text, no embedding function (it would be downloaded), and
no telemetry. One process at a time may have an embedded folder open: with two, Chroma misses what the other one wrote.
"""

import contextlib
import importlib.util
import os
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from holdfast.errors import ExtraMissing, SettingsError
from holdfast.runtime import forks
from holdfast.stores.chroma.folder import BuildLock, folder_of, remove_stale
from holdfast.stores.chroma.manifest import Manifest
from holdfast.stores.chroma.protocol import Build, IndexInvalid, IndexPlace, IndexUnavailable, VectorKey

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_AT_ONCE = 1000
_SECONDS = 10.0
"""How long a server may take to answer."""
_EFFORT = {"space": "cosine", "ef_construction": 128, "ef_search": 160}


def chroma_place(setting: str, store: Path) -> IndexPlace:
    """Return where a setting (``chroma``, ``chroma:http://host:8000``) wants the index."""
    if importlib.util.find_spec("chromadb") is None:
        raise ExtraMissing("The index `chroma` needs chromadb: pip install 'holdfast[chroma]'.")
    _, _, url = setting.partition(":")
    if not url:
        return EmbeddedChroma(store)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
        raise SettingsError(f"A Chroma server is named as in chroma:http://localhost:8000, not {setting!r}.")
    return ChromaServer(store, url)


class ChromaCollection:
    """One build of an index, as a collection of Chroma's."""

    def __init__(
        self,
        collection: Any,
        *,
        lock: "contextlib.AbstractContextManager[Any]",
        close: Callable[[], None],
        manifest: Manifest | None = None,
    ) -> None:
        self._collection = collection
        self._manifest = manifest
        self._lock = lock
        self._close = close

    @property
    def mark(self) -> str:
        """The mark of the last changes it took, wholly or in part."""
        return str((self._collection.metadata or {}).get("mark", ""))

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Any]:
        """Give the collection; its files may be written by any call."""
        with _translated(local=self._manifest is not None):
            yield self._collection
        if self._manifest is not None:
            self._manifest.renew()

    @contextlib.contextmanager
    def applying(self) -> Iterator[None]:
        """Be the only one to change it."""
        with self._lock:
            yield

    def note(self, mark: str) -> None:
        """Keep the mark of the changes that come now."""
        with self._asking() as collection:
            collection.modify(metadata={"mark": mark})

    def add(self, keys: Sequence[VectorKey], vectors: "NDArray[np.float32]") -> None:
        """Take vectors in, in the place of those it has under these keys."""
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            with self._asking() as collection:
                collection.upsert(
                    ids=[_id(key) for key in some],
                    embeddings=vectors[start : start + _AT_ONCE],
                    metadatas=[{"partition": key.partition} for key in some],
                )

    def remove(self, keys: Sequence[VectorKey]) -> None:
        """Let go of vectors; those it does not have are passed over."""
        for start in range(0, len(keys), _AT_ONCE):
            with self._asking() as collection:
                collection.delete(ids=[_id(key) for key in keys[start : start + _AT_ONCE]])

    def search(self, query: "NDArray[np.float32]", partitions: Collection[int], limit: int) -> list[VectorKey]:
        """Return about the nearest by cosine, of these partitions alone."""
        with self._asking() as collection:
            found = collection.query(
                query_embeddings=[query], n_results=limit, where={"partition": {"$in": sorted(partitions)}}, include=[]
            )
        return [_key(id) for id in found["ids"][0]]

    def count(self) -> int:
        """Count its vectors."""
        with self._asking() as collection:
            return int(collection.count())

    def keys(self) -> set[VectorKey]:
        """Return what it has."""
        found: set[VectorKey] = set()
        total = self.count()
        for offset in range(0, total, _AT_ONCE):
            with self._asking() as collection:
                found.update(map(_key, collection.get(limit=_AT_ONCE, offset=offset, include=[])["ids"]))
        return found

    def close(self) -> None:
        """Let go of it."""
        self._close()


@dataclass(slots=True)
class _Shared:
    """An open folder, used by every store of this process that is on it."""

    client: Any
    hold: BuildLock
    manifest: Manifest
    lock: Any
    users: int = 0


class _Folders:
    """The folders this process has open. A forked child keeps away from Chroma: its threads stayed with the parent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, _Shared] = {}
        self._inherited: list[object] = []
        forks.register(self)

    def after_fork(self) -> None:
        """Leave everything as it is, and never touch it."""
        self._lock = threading.Lock()
        if self._open:
            self._inherited.append(self._open)
        self._open = {}

    def use(self, folder: Path) -> _Shared:
        """Open a folder, or use it with the others."""
        if self._inherited:
            raise IndexUnavailable("this process was forked from one that has Chroma open")
        with self._lock:
            if folder not in self._open:
                hold = BuildLock(folder)
                try:
                    _refuse_damaged(folder)
                    self._open[folder] = _Shared(_embedded_client(folder), hold, Manifest(folder), threading.RLock())
                except BaseException:
                    hold.release()
                    raise
            shared = self._open[folder]
            shared.users += 1
            return shared

    def leave(self, folder: Path, shared: _Shared) -> None:
        """Close a folder when nobody uses it any more."""
        with self._lock:
            if self._open.get(folder) is not shared:
                return
            shared.users -= 1
            if shared.users == 0:
                del self._open[folder]
                shared.client.close()
                shared.manifest.renew()
                shared.hold.release()


_folders = _Folders()


class EmbeddedChroma:
    """Chroma in this process, in a folder beside the store."""

    name = "chroma"
    home = ""

    def __init__(self, store: Path) -> None:
        self._folder = folder_of(store.absolute())

    def describe(self) -> str:
        """Say where it is."""
        return str(self._folder)

    def open(self, build: Build) -> ChromaCollection:
        """Open a build's folder."""
        folder = self._folder / build.build
        if build.mark and not folder.is_dir():
            raise IndexInvalid("its folder is gone")
        with _translated(local=True):
            shared = _folders.use(folder)
            try:
                collection = _collection(shared.client, build)
            except BaseException:
                _folders.leave(folder, shared)
                raise
        return ChromaCollection(
            collection, lock=shared.lock, close=_once(lambda: _folders.leave(folder, shared)), manifest=shared.manifest
        )

    def discard(self, build: str, counting: Callable[[], Collection[str]]) -> None:  # noqa: ARG002  (the seam's signature)
        """Remove every folder that does not count any more."""
        remove_stale(self._folder, counting)


class ChromaServer:
    """Chroma on a server; several processes may use it at once."""

    def __init__(self, store: Path, url: str) -> None:
        self.name = f"chroma:{url.rstrip('/')}"
        self.home = str(store.absolute().resolve())
        self._locks = folder_of(store.absolute())
        parts = urlsplit(url)
        self._host, self._tls = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 8000)

    def describe(self) -> str:
        """Say where it is."""
        return self.name.partition(":")[2]

    def open(self, build: Build) -> ChromaCollection:
        """Open a build's collection."""
        with _translated(local=False):
            client = self._client()
            try:
                collection = _collection(client, build)
            except BaseException:
                client.close()
                raise
        return ChromaCollection(collection, lock=_ServerLock(self._locks / build.build), close=_once(client.close))

    def discard(self, build: str, counting: Callable[[], Collection[str]]) -> None:
        """Delete a build's collection, if the server is there."""
        remove_stale(self._locks, counting)
        with contextlib.suppress(IndexUnavailable, IndexInvalid), _translated(local=False):
            client = self._client()
            try:
                client.delete_collection(_name(build))
            finally:
                client.close()

    def _client(self) -> Any:
        # Asked for by itself first: Chroma's own client waits for an answer for ever.
        socket.create_connection((self._host, self._port), timeout=_SECONDS).close()
        import chromadb  # noqa: PLC0415  (heavy, and only there with the extra)

        settings = chromadb.Settings(
            _env_file=None, anonymized_telemetry=False, chroma_otel_collection_endpoint="",
            chroma_server_host=self._host, chroma_server_http_port=self._port,
        )  # fmt: skip
        client = chromadb.HttpClient(host=self._host, port=self._port, ssl=self._tls, settings=settings)
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = _SECONDS
        return client


class _ServerLock:
    """The right to change a server's collection, for as long as a change takes; all who write share the store's machine."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self._held: list[BuildLock] = []

    def __enter__(self) -> None:
        self._held.append(BuildLock(self._build))

    def __exit__(self, *_: object) -> None:
        self._held.pop().release()


def _refuse_damaged(folder: Path) -> None:
    if folder.is_dir() and not Manifest(folder).is_intact():
        raise IndexInvalid("its files are damaged, or were half written when a process ended")


def _embedded_client(folder: Path) -> Any:
    import chromadb  # noqa: PLC0415  (heavy, and only there with the extra)

    settings = chromadb.Settings(
        _env_file=None, anonymized_telemetry=False, chroma_otel_collection_endpoint="",
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI", allow_reset=False,
    )  # fmt: skip
    return chromadb.PersistentClient(path=os.fspath(folder), settings=settings)


def _collection(client: Any, build: Build) -> Any:
    """Return the collection of a build; only one that has not taken anything yet may be missing."""
    if build.mark:
        return client.get_collection(_name(build.build), embedding_function=None)
    return client.get_or_create_collection(
        _name(build.build), embedding_function=None, metadata={"mark": ""}, configuration={"hnsw": _EFFORT}
    )


@contextlib.contextmanager
def _translated(*, local: bool) -> Iterator[None]:
    """Say of an error whether the index is away for a while or lost; what goes wrong in our own folder stays wrong."""
    import httpx  # noqa: PLC0415  (comes with chromadb)
    from chromadb.errors import ChromaError, NotFoundError  # noqa: PLC0415  (heavy)

    try:
        yield
    except ChromaError as error:
        is_lost = local or isinstance(error, NotFoundError)
        raise (IndexInvalid if is_lost else IndexUnavailable)(f"Chroma: {error}") from error
    except (httpx.HTTPError, OSError, ValueError, AttributeError, RuntimeError) as error:
        # ValueError: no server there. AttributeError: another thread has closed it.
        raise IndexUnavailable(f"Chroma: {error}") from error


def _once(close: Callable[[], None]) -> Callable[[], None]:
    """Return a way to close that closes once."""
    left = [close]
    return lambda: left.pop()() if left else None


def _name(build: str) -> str:
    return f"holdfast-{build}"


def _id(key: VectorKey) -> str:
    return ".".join(map(str, key))


def _key(id: str) -> VectorKey:
    return VectorKey(*map(int, id.split(".")))
