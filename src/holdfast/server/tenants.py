"""A pool of engines, one per tenant: opened by the first lease, each with its own worker, and closed when least recently used.

Tenants share models: weights are loaded once. Keys are kept with the tenant the server was opened with, whose engine
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
from holdfast.config.models import make_models
from holdfast.config.opening import make_preset, open_engine
from holdfast.config.settings import SettingsSource, load_settings
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, StoreClosed
from holdfast.models.chat_budget import ChatSource
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Embedder
from holdfast.services import services

log = logging.getLogger("holdfast.server")
_FLUSH_SECONDS = 15.0


@dataclass(slots=True)
class _Slot:
    """A tenant's engine, and how many leases hold it."""

    opening: threading.Lock = field(default_factory=threading.Lock)
    engine: Engine | None = None
    leases: int = 0


class EnginePool:
    """The engines of all tenants. Safe to use from several threads.

    An engine is used under a lease, and only an engine without a lease is closed: when more than ``max_open`` are open, the
    least recently used ones. The operator's engine is leased for as long as the pool lasts.
    """

    def __init__(self, open_tenant: Callable[[str], Engine], *, tenant: str, max_open: int = 64) -> None:
        self._open_tenant = open_tenant
        self._max_open = max_open
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        """By tenant, the least recently used first."""
        self._lock = threading.Lock()
        self._closers: list[threading.Thread] = []
        self._closing = threading.Event()
        self.tenant = tenant
        """The operator's."""
        self.operator = self._engine_of(tenant, self._acquire(tenant))
        self.gate = Gate(services(self.operator).store, services(self.operator).clock)
        self._flusher = threading.Thread(target=self._flush_regularly, name="holdfast-flusher", daemon=True)
        self._flusher.start()

    def identify(self, bearer: str | None, loopback: bool) -> Principal:  # noqa: FBT001  (as the middleware asks)
        """Return who bears a key, or who comes over loopback while none was made."""
        return self.gate.identify(bearer, loopback=loopback)

    @contextlib.contextmanager
    def lease(self, tenant: str) -> Iterator[Engine]:
        """Hold a tenant's engine open while the block lasts. The first lease opens it, so never call this on the event loop."""
        slot = self._acquire(tenant)
        try:
            yield self._engine_of(tenant, slot)
        finally:
            self._release(tenant, slot)

    def open_tenants(self) -> list[str]:
        """List the tenants whose engine is open, the least recently used first."""
        with self._lock:
            return [tenant for tenant, slot in self._slots.items() if slot.engine is not None]

    def close(self) -> None:
        """Close every engine; queued work stays queued."""
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
                raise StoreClosed("The server is closing.")
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
        """Return a slot's engine, opened by the first lease."""
        with slot.opening:
            if slot.engine is None:
                slot.engine = self._open_tenant(tenant)
        return slot.engine

    def _evict(self) -> None:
        """Close the least recently used engines beyond the limit, of those that nobody leases."""
        idle = [tenant for tenant, slot in self._slots.items() if not slot.leases]
        for tenant in idle[: max(0, len(self._slots) - self._max_open)]:
            engine = self._slots.pop(tenant).engine
            if engine is not None:
                thread = threading.Thread(target=engine.close, name="holdfast-closing")
                thread.start()  # it may have to finish a step of its work: nobody should wait for that
                self._closers = [*(each for each in self._closers if each.is_alive()), thread]

    def _flush_regularly(self) -> None:
        while not self._closing.wait(_FLUSH_SECONDS):
            self._flush_keys()
            self.drop_erased()

    def _flush_keys(self) -> None:
        """Write when keys were last used. A failure can wait for the next time, and must not end the pool."""
        try:
            self.gate.flush_uses()
        except HoldfastError as error:
            log.warning("When keys were last used could not be noted: %s", error)

    def drop_erased(self) -> None:
        """Have open engines drop their cached queries if another process has erased something; they may have no worker."""
        with self._lock:
            held = [(tenant, slot) for tenant, slot in self._slots.items() if slot.engine is not None]
            for _, slot in held:
                slot.leases += 1
        for _, slot in held:
            try:
                if slot.engine is not None:
                    services(slot.engine).embedding.queries.drop_erased()
            except HoldfastError as error:
                log.warning("Cached queries could not be checked for erasures: %s", error)
        with self._lock:
            for _, slot in held:
                slot.leases -= 1
            self._evict()


def _once(load: Callable[[], Any]) -> Callable[[], Any]:
    """Return a loader that loads once for all; a failure is not remembered."""
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
) -> EnginePool:
    """Open the engines of a store for all its tenants; takes what ``holdfast.open`` takes."""
    named = preset.name if isinstance(preset, Preset) else preset
    loaded = load_settings(settings, store=None if path is None else str(path), tenant=tenant, preset=named)
    vectors, talk = make_models(loaded, make_preset(loaded, preset), embedder=embedder, chat=chat)
    shared = None if vectors is None else replace(vectors, load=_once(vectors.load))
    asked = None if talk is None else ChatSource(name=talk.name, load=_once(talk.load), shared=True)

    def open_tenant(name: str) -> Engine:
        return open_engine(
            path,
            preset=preset,
            settings=settings,
            tenant=name,
            embedder=shared or "none",
            chat=asked or "none",
            worker=worker,
            clock=clock,
        )

    return EnginePool(open_tenant, tenant=loaded.tenant, max_open=max_open)
