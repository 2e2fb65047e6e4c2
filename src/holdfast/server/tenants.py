"""A pool of engines (:class:`holdfast.Engine`), one per tenant.

The first lease of a tenant opens its engine, which runs its own background worker. All engines share the models, so
weights are loaded once. Access keys are stored in one tenant, the operator's. The engine of the operator's tenant always
stays open.
"""

import contextlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from holdfast.access.keys import Gate, Principal
from holdfast.chat import ChatModel
from holdfast.config.loading import SettingsSource, load_settings
from holdfast.config.models import make_models
from holdfast.config.opening import make_preset, open_engine
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, StoreClosed
from holdfast.presets.base import Preset
from holdfast.presets.plain_kinds import adopt_recorded_kinds
from holdfast.protocols import Clock, Embedder
from holdfast.runtime.heap import return_free_memory
from holdfast.services import services
from holdfast.types.translatable import translatable

log = logging.getLogger("holdfast.server")
FLUSH_SECONDS = 15.0
"""Default interval, in seconds, of two regular tasks: save when each access key was last used, and return free memory."""


@dataclass(slots=True)
class _Slot:
    """The pool's entry for one tenant: its engine, if open, and the number of active leases."""

    opening: threading.Lock = field(default_factory=threading.Lock)
    engine: Engine | None = None
    leases: int = 0


class EnginePool:
    """A thread-safe pool with one engine per tenant.

    Callers lease an engine while they use it. When more than ``max_open`` engines are open, the least recently used
    engines without a lease are closed. The pool itself leases the operator's engine for its whole lifetime.
    """

    def __init__(
        self, open_tenant: Callable[[str], Engine], *, tenant: str, max_open: int = 64, flush_seconds: float = FLUSH_SECONDS
    ) -> None:
        self._open_tenant = open_tenant
        self._max_open = max_open
        self._flush_seconds = flush_seconds
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        """The pool's entries by tenant, least recently used first."""
        self._lock = threading.Lock()
        self._closers: list[threading.Thread] = []
        self._closing = threading.Event()
        self.tenant = tenant
        """The operator's tenant, which stores the access keys."""
        self.operator = self._engine_of(tenant, self._acquire(tenant))
        self.gate = Gate(services(self.operator).store, services(self.operator).clock)
        self._flusher = threading.Thread(target=self._flush_regularly, name="holdfast-flusher", daemon=True)
        self._flusher.start()

    def identify(self, bearer: str | None, loopback: bool) -> Principal:  # noqa: FBT001  (signature of the middleware's Identify)
        """Return the principal that an access key belongs to. ``bearer`` is the access key that the request contains.

        ``loopback`` is True if the request comes from this machine. Such a request is accepted without a key, unless the store
        requires keys. Creating the first key makes the store require keys.
        """
        return self.gate.identify(bearer, loopback=loopback)

    @contextlib.contextmanager
    def lease(self, tenant: str) -> Iterator[Engine]:
        """Context manager: yield a tenant's engine, which stays leased until the ``with`` block ends.

        If the engine is not open, it is opened first, which can take a while. So do not use this method on the event loop.
        """
        slot = self._acquire(tenant)
        try:
            yield self._engine_of(tenant, slot)
        finally:
            self._release(tenant, slot)

    def open_tenants(self) -> list[str]:
        """List the tenants with an open engine, least recently used first."""
        with self._lock:
            return [tenant for tenant, slot in self._slots.items() if slot.engine is not None]

    def close(self) -> None:
        """Close all engines. Queued jobs stay queued."""
        self._closing.set()
        with self._lock:
            slots, self._slots = self._slots, OrderedDict()
        self._flusher.join()
        for thread in self._closers:
            thread.join()
        self._flush_keys()
        for slot in slots.values():
            if slot.engine is not None:
                slot.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _acquire(self, tenant: str) -> _Slot:
        with self._lock:
            if self._closing.is_set():
                raise StoreClosed(
                    translatable(
                        "server.stopping", "The server is shutting down. Nothing was changed. Retry when it has restarted."
                    )
                )
            slot = self._slots.setdefault(tenant, _Slot())
            slot.leases += 1
            self._slots.move_to_end(tenant)
            self._evict()
        return slot

    def _release(self, tenant: str, slot: _Slot) -> None:
        with self._lock:
            slot.leases -= 1
            if self._slots.get(tenant) is slot:
                self._slots.move_to_end(tenant)
            self._evict()

    def _engine_of(self, tenant: str, slot: _Slot) -> Engine:
        """Return the engine of a pool entry, opening it if needed."""
        with slot.opening:
            if slot.engine is None:
                slot.engine = self._open_tenant(tenant)
        return slot.engine

    def _evict(self) -> None:
        """Close the least recently used engines beyond the limit. Leased engines stay open."""
        idle = [tenant for tenant, slot in self._slots.items() if not slot.leases]
        for tenant in idle[: max(0, len(self._slots) - self._max_open)]:
            engine = self._slots.pop(tenant).engine
            if engine is not None:
                thread = threading.Thread(target=engine.close, name="holdfast-closing")
                thread.start()  # closing waits for the worker's current step; do not block the caller
                self._closers = [*(closer for closer in self._closers if closer.is_alive()), thread]

    def _flush_regularly(self) -> None:
        while not self._closing.wait(self._flush_seconds):
            self._flush_keys()
            self.follow_other_processes()
            return_free_memory()

    def _flush_keys(self) -> None:
        """Save the times at which access keys were last used. A failure is only logged, and the next flush tries again."""
        try:
            self.gate.flush_uses()
        except HoldfastError as error:
            log.warning("The last use of access keys could not be saved: %s", error)

    def follow_other_processes(self) -> None:
        """Update each open engine after another process has changed its store.

        If data was erased, the engine's cached queries are cleared. If an import has recorded new plain kinds in the store, they
        are added to the engine's preset. A background worker does the same for its own engine, but not every open engine has a
        worker.
        """
        with self._lock:
            held = [(tenant, slot) for tenant, slot in self._slots.items() if slot.engine is not None]
            for _, slot in held:
                slot.leases += 1
        for _, slot in held:
            try:
                if slot.engine is not None:
                    parts = services(slot.engine)
                    parts.embedding.queries.drop_erased()
                    adopt_recorded_kinds(parts.store, parts.preset)
            except HoldfastError as error:
                log.warning("A store could not be checked for changes of other processes: %s", error)
        with self._lock:
            for _, slot in held:
                slot.leases -= 1
            self._evict()


def _once(load: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that calls ``load`` and caches the result. If ``load`` raises, the next call tries again."""
    lock = threading.Lock()
    loaded: list[Any] = []

    def shared() -> Any:
        with lock:
            if not loaded:
                loaded.append(load())
            return loaded[0]

    return shared


def open_pool(
    path: str | Path | None = None,
    *,
    preset: str | Preset | None = None,
    settings: SettingsSource | None = None,
    tenant: str | None = None,
    embedder: "str | Embedder | Callable[[str], Any] | None" = None,
    chat: "str | ChatModel | Callable[..., Any] | None" = None,
    worker: Literal["thread", "inline", "none"] | None = None,
    clock: Clock | None = None,
    max_open: int = 64,
    flush_seconds: float = FLUSH_SECONDS,
) -> EnginePool:
    """Open a pool for all tenants of a store. Takes the same arguments as ``holdfast.open``, and two more.

    ``max_open`` is the maximum number of open engines. ``flush_seconds`` is the interval of two regular tasks: save when each
    access key was last used, and return free memory to the operating system.
    """
    named = preset.name if isinstance(preset, Preset) else preset
    loaded = load_settings(settings, store=None if path is None else str(path), tenant=tenant, preset=named)
    vectors, chat_source = make_models(loaded, make_preset(loaded, preset), embedder=embedder, chat=chat)
    shared_embedder = None if vectors is None else replace(vectors, load=_once(vectors.load))
    shared_chat = None if chat_source is None else replace(chat_source, load=_once(chat_source.load), shared=True)

    def open_tenant(name: str) -> Engine:
        return open_engine(
            path,
            preset=preset,
            settings=settings,
            tenant=name,
            embedder=shared_embedder or "none",
            chat=shared_chat or "none",
            worker=worker,
            clock=clock,
        )

    return EnginePool(open_tenant, tenant=loaded.tenant, max_open=max_open, flush_seconds=flush_seconds)
