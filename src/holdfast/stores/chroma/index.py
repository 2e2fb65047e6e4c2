"""Chroma as an external vector index. It runs in this process, with a folder next to the store, or on a server.

Chroma receives only keys, partitions and vectors, and no text. Chroma's telemetry is off. Chroma's embedding function is
not used, because Chroma would have to download it. Only one process at a time opens a Chroma folder, because Chroma does
not notice what another process writes to the folder.
"""

import contextlib
import importlib.util
import os
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

_BATCH = 1000
"""Maximum number of vectors per call to Chroma."""
_TIMEOUT_SECONDS = 10.0
"""Maximum time to wait for a response of the Chroma server, in seconds."""
_HNSW = {"space": "cosine", "ef_construction": 128, "ef_search": 160}


def chroma_place(setting: str, store: Path) -> IndexPlace:
    """Return the index location that a setting names: ``chroma`` (a folder) or ``chroma:http://host:8000`` (a server).

    ``store`` is the path of the store's file.
    """
    if importlib.util.find_spec("chromadb") is None:
        raise ExtraMissing("The index `chroma` needs the package chromadb. Run: pip install 'holdfast-memory[chroma]'")
    _, _, url = setting.partition(":")
    if not url:
        return EmbeddedChroma(store)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
        raise SettingsError(f"{setting!r} does not name a Chroma server. Write it like chroma:http://localhost:8000.")
    return ChromaServer(store, url)


class ChromaCollection:
    """One build (complete version) of an index, stored as a Chroma collection."""

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
        """Mark (random id) of the last batch of changes that was begun on this index.

        It is possible that only a part of the batch was applied, for example if the process was killed.
        """
        return str((self._collection.metadata or {}).get("mark", ""))

    @contextlib.contextmanager
    def _calling(self) -> Iterator[Any]:
        """Context manager for one call to Chroma. It yields the collection, and raises Chroma's errors as Holdfast errors.

        If the collection is in a folder, record the hashes of the files again afterwards, because any call may write files.
        """
        with _translate_errors(local=self._manifest is not None):
            yield self._collection
        if self._manifest is not None:
            self._manifest.renew()

    @contextlib.contextmanager
    def applying(self) -> Iterator[None]:
        """Context manager: hold the lock that a process needs to change the index."""
        with self._lock:
            yield

    def note(self, mark: str) -> None:
        """Record in the index the mark (random id) of the batch of changes that will be applied next."""
        with self._calling() as collection:
            collection.modify(metadata={"mark": mark})

    def add(self, keys: Sequence[VectorKey], vectors: "NDArray[np.float32]") -> None:
        """Add vectors. Vectors with the same keys are replaced."""
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            with self._calling() as collection:
                collection.upsert(
                    ids=[_id(key) for key in batch],
                    embeddings=vectors[start : start + _BATCH],
                    metadatas=[{"partition": key.partition} for key in batch],
                )

    def remove(self, keys: Sequence[VectorKey]) -> None:
        """Remove the vectors with these keys. Unknown keys are ignored."""
        for start in range(0, len(keys), _BATCH):
            with self._calling() as collection:
                collection.delete(ids=[_id(key) for key in keys[start : start + _BATCH]])

    def search(self, query: "NDArray[np.float32]", partitions: Collection[int], limit: int) -> list[VectorKey]:
        """Return the keys of the ``limit`` vectors in these partitions that are nearest to the query by cosine, approximately.

        If fewer than ``limit`` keys are returned, the index has found no further vectors in these partitions.
        """
        with self._calling() as collection:
            found = collection.query(
                query_embeddings=[query], n_results=limit, where={"partition": {"$in": sorted(partitions)}}, include=[]
            )
        return [_key(id) for id in found["ids"][0]]

    def count(self) -> int:
        """Return the number of vectors in the index."""
        with self._calling() as collection:
            return int(collection.count())

    def keys(self) -> set[VectorKey]:
        """Return the keys of all vectors in the index."""
        found: set[VectorKey] = set()
        total = self.count()
        for offset in range(0, total, _BATCH):
            with self._calling() as collection:
                found.update(map(_key, collection.get(limit=_BATCH, offset=offset, include=[])["ids"]))
        return found

    def close(self) -> None:
        """Close the index."""
        self._close()


@dataclass(slots=True)
class _Shared:
    """An open Chroma folder, shared by all stores of this process that use it."""

    client: Any
    build_lock: BuildLock
    manifest: Manifest
    lock: Any
    users: int = 0


class _Folders:
    """The Chroma folders that this process has open.

    A child that is forked while a folder is open cannot use Chroma, because Chroma's threads exist only in the parent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, _Shared] = {}
        self._inherited: list[object] = []
        forks.register(self)

    def after_fork(self) -> None:
        """Stop using the folders that the parent process had open. Runs in a forked child.

        If there are such folders, :meth:`use` raises ``IndexUnavailable`` from now on. This object keeps references to them, so
        that Python does not close them in the child.
        """
        self._lock = threading.Lock()
        if self._open:
            self._inherited.append(self._open)
        self._open = {}

    def use(self, folder: Path) -> _Shared:
        """Open a folder. If this process already has the folder open, share it."""
        if self._inherited:
            raise IndexUnavailable("this process was forked from one that has Chroma open")
        with self._lock:
            if folder not in self._open:
                build_lock = BuildLock(folder)
                try:
                    _check_intact(folder)
                    self._open[folder] = _Shared(_embedded_client(folder), build_lock, Manifest(folder), threading.RLock())
                except BaseException:
                    build_lock.release()
                    raise
            shared = self._open[folder]
            shared.users += 1
            return shared

    def leave(self, folder: Path, shared: _Shared) -> None:
        """Stop using a folder. The folder is closed when no store of this process uses it any longer.

        ``shared`` is the object that :meth:`use` returned.
        """
        with self._lock:
            if self._open.get(folder) is not shared:
                return
            shared.users -= 1
            if shared.users == 0:
                del self._open[folder]
                shared.client.close()
                shared.manifest.renew()
                shared.build_lock.release()


_folders = _Folders()


class EmbeddedChroma:
    """Chroma in this process, in a folder next to the store."""

    name = "chroma"
    home = ""
    is_remote = False

    def __init__(self, store: Path) -> None:
        self._folder = folder_of(store.absolute())

    def load(self) -> None:
        """Import Chroma, so that the first search need not wait for the import."""
        _import_chroma()

    def describe(self) -> str:
        """Return the folder's path."""
        return str(self._folder)

    def open(self, build: Build) -> ChromaCollection:
        """Open the folder of a build."""
        folder = self._folder / build.build
        if build.mark and not folder.is_dir():
            raise IndexInvalid("its folder is missing")
        with _translate_errors(local=True):
            shared = _folders.use(folder)
            try:
                collection = _collection(shared.client, build)
            except BaseException:
                _folders.leave(folder, shared)
                raise
        return ChromaCollection(
            collection, lock=shared.lock, close=_once(lambda: _folders.leave(folder, shared)), manifest=shared.manifest
        )

    def discard(self, build: str, current: Callable[[], Collection[str]]) -> None:  # noqa: ARG002  (required by the protocol)
        """Remove all builds (versions of the index) in the folder, except those whose names ``current`` returns."""
        remove_stale(self._folder, current)


class ChromaServer:
    """Chroma on a server, shared by several processes."""

    is_remote = True

    def __init__(self, store: Path, url: str, *, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._timeout_seconds = timeout_seconds
        self.name = f"chroma:{url.rstrip('/')}"
        self.home = str(store.absolute().resolve())
        self._locks = folder_of(store.absolute())
        parts = urlsplit(url)
        self._host, self._tls = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 8000)

    def load(self) -> None:
        """Import Chroma in advance. The import takes longer than a recall may wait for the server."""
        _import_chroma()

    def describe(self) -> str:
        """Return the server's URL."""
        return self.name.partition(":")[2]

    def open(self, build: Build) -> ChromaCollection:
        """Open the collection of a build."""
        with _translate_errors(local=False):
            client = self._client()
            try:
                collection = _collection(client, build)
            except BaseException:
                client.close()
                raise
        return ChromaCollection(collection, lock=_ServerLock(self._locks / build.build), close=_once(client.close))

    def discard(self, build: str, current: Callable[[], Collection[str]]) -> None:
        """Delete the collection of a build from the server. If the server cannot be reached, the collection stays.

        Also delete local lock files, except those of the builds whose names ``current`` returns.
        """
        remove_stale(self._locks, current)
        with contextlib.suppress(IndexUnavailable, IndexInvalid), _translate_errors(local=False):
            client = self._client()
            try:
                client.delete_collection(_name(build))
            finally:
                client.close()

    def _client(self) -> Any:
        import chromadb  # noqa: PLC0415  (slow to import, and optional)
        import httpx  # noqa: PLC0415  (comes with chromadb)

        # Send a request first, because Chroma's client waits for its first response without a timeout.
        url = httpx.URL(scheme="https" if self._tls else "http", host=self._host, port=self._port, path="/api/v2/heartbeat")
        httpx.get(url, timeout=self._timeout_seconds)
        settings = chromadb.Settings(
            _env_file=None,
            anonymized_telemetry=False,
            chroma_otel_collection_endpoint="",
            chroma_server_host=self._host,
            chroma_server_http_port=self._port,
        )
        client = chromadb.HttpClient(host=self._host, port=self._port, ssl=self._tls, settings=settings)
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = self._timeout_seconds
        return client


class _ServerLock:
    """Lock that a writer holds while it changes a collection on a Chroma server.

    The lock is a local file. This suffices, because all writers run on the same machine as the store.
    """

    def __init__(self, build: Path) -> None:
        self._build = build
        self._held: list[BuildLock] = []

    def __enter__(self) -> None:
        self._held.append(BuildLock(self._build))

    def __exit__(self, *_: object) -> None:
        self._held.pop().release()


def _import_chroma() -> None:
    import chromadb  # noqa: F401, PLC0415  (slow to import, and optional)


def _check_intact(folder: Path) -> None:
    if folder.is_dir() and not Manifest(folder).is_intact():
        raise IndexInvalid("its files are damaged or incomplete")


def _embedded_client(folder: Path) -> Any:
    import chromadb  # noqa: PLC0415  (slow to import, and optional)

    settings = chromadb.Settings(
        _env_file=None,
        anonymized_telemetry=False,
        chroma_otel_collection_endpoint="",
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        allow_reset=False,
    )
    return chromadb.PersistentClient(path=os.fspath(folder), settings=settings)


def _collection(client: Any, build: Build) -> Any:
    """Return the Chroma collection of a build. If the build is new, create a missing collection.

    If vectors were already added to the build, a missing collection is an error, which Chroma raises.
    """
    if build.mark:
        return client.get_collection(_name(build.build), embedding_function=None)
    return client.get_or_create_collection(
        _name(build.build), embedding_function=None, metadata={"mark": ""}, configuration={"hnsw": _HNSW}
    )


@contextlib.contextmanager
def _translate_errors(*, local: bool) -> Iterator[None]:
    """Context manager: raise Chroma's errors as `IndexUnavailable` (try later) or `IndexInvalid` (rebuild the index).

    ``local`` is True if Chroma runs in this process. Then every ``ChromaError`` means that the index must be rebuilt. Other
    errors, such as ``OSError``, always mean that the index is unavailable.
    """
    import httpx  # noqa: PLC0415  (comes with chromadb)
    from chromadb.errors import ChromaError, NotFoundError  # noqa: PLC0415  (slow to import)

    try:
        yield
    except ChromaError as error:
        is_invalid = local or isinstance(error, NotFoundError)
        raise (IndexInvalid if is_invalid else IndexUnavailable)(f"Chroma: {error}") from error
    except (httpx.HTTPError, OSError, ValueError, AttributeError, RuntimeError) as error:
        # ValueError: no server at the address. AttributeError: another thread closed the client.
        raise IndexUnavailable(f"Chroma: {error}") from error


def _once(close: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls ``close`` on its first call and does nothing on later calls."""
    pending = [close]
    return lambda: pending.pop()() if pending else None


def _name(build: str) -> str:
    return f"holdfast-{build}"


def _id(key: VectorKey) -> str:
    return ".".join(map(str, key))


def _key(id: str) -> VectorKey:
    return VectorKey(*map(int, id.split(".")))
