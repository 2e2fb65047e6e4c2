"""One memory for each tenant: opened when first asked for, with a worker of its own, and closed when long unused.

Models are shared between tenants: weights are loaded once. Keys are kept with the tenant the server was opened with,
whose memory stays open.
"""

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from holdfast.access import Gate, Principal
from holdfast.answers import Answers
from holdfast.chat import ChatModel
from holdfast.config.models import make_models
from holdfast.config.opening import make_preset, open_engine
from holdfast.config.settings import SettingsSource, load_settings
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, StoreClosed
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Embedder
from holdfast.services import services
from holdfast.thinking import ChatSource

log = logging.getLogger("holdfast.server")
_FLUSH_SECONDS = 15.0


@dataclass(slots=True)
class _Room:
    """A tenant's memory, and who is in it."""

    opening: threading.Lock = field(default_factory=threading.Lock)
    engine: Engine | None = None
    guests: int = 0
    left_at: float = 0.0


class House:
    """The memories of all tenants. Safe to use from several threads."""

    def __init__(self, open_tenant: Callable[[str], Engine], *, tenant: str, most: int = 64, grace: float = 30.0) -> None:
        self._open_tenant = open_tenant
        self._most = most
        self._grace = grace
        self._rooms: OrderedDict[str, _Room] = OrderedDict()
        self._lock = threading.Lock()
        self._leaving: list[threading.Thread] = []
        self._closing = threading.Event()
        self.tenant = tenant
        """The operator's."""
        self.operator = self.engine(tenant)
        self.gate = Gate(services(self.operator).store, services(self.operator).clock)
        self._caretaker = threading.Thread(target=self._take_care, name="holdfast-house", daemon=True)
        self._caretaker.start()

    def identify(self, bearer: str | None, loopback: bool) -> Principal:  # noqa: FBT001  (as the middleware asks)
        """Return who bears a key, or who comes over loopback while none was made."""
        return self.gate.identify(bearer, loopback=loopback)

    def engine(self, tenant: str) -> Engine:
        """Return a tenant's memory for a short call; it stays open for a while after it was last asked for."""
        with self.lease(tenant) as engine:
            return engine

    @contextlib.contextmanager
    def lease(self, tenant: str) -> Iterator[Engine]:
        """Hold a tenant's memory open for as long as it is needed."""
        room = self._enter(tenant)
        try:
            yield self._engine_of(tenant, room)
        finally:
            with self._lock:
                room.guests -= 1
                room.left_at = time.monotonic()

    def answers(self, tenant: str) -> Answers:
        """Return a tenant's answers to requests that may be sent again."""
        engine = self.engine(tenant)
        return Answers(services(engine).store, services(engine).clock)

    def close(self) -> None:
        """Close every memory; queued work stays queued."""
        self._closing.set()
        with self._lock:
            rooms, self._rooms = self._rooms, OrderedDict()
        self._caretaker.join()
        for thread in self._leaving:
            thread.join()
        self._flush()
        for room in rooms.values():
            if room.engine is not None:
                room.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _enter(self, tenant: str) -> _Room:
        """Note that someone is in a tenant's room, and make place if there are too many."""
        with self._lock:
            if self._closing.is_set():
                raise StoreClosed("The server is closing.")
            room = self._rooms.setdefault(tenant, _Room())
            self._rooms.move_to_end(tenant)
            room.guests += 1
            for engine in filter(None, self._make_place()):
                thread = threading.Thread(target=engine.close, name="holdfast-closing")
                thread.start()  # it may have to finish a step of its work: nobody should wait for that
                self._leaving = [*(each for each in self._leaving if each.is_alive()), thread]
        return room

    def _engine_of(self, tenant: str, room: _Room) -> Engine:
        """Return a room's memory, opened by whoever came first."""
        with room.opening:
            if room.engine is None:
                room.engine = self._open_tenant(tenant)
        return room.engine

    def _make_place(self) -> list[Engine | None]:
        """Take out the rooms that nobody has been in for longest, while there are too many."""
        latest = time.monotonic() - self._grace
        spare = len(self._rooms) - self._most
        empty = [
            (tenant, room.engine)
            for tenant, room in self._rooms.items()
            if tenant != self.tenant and not room.guests and room.left_at <= latest
        ]
        gone = empty[: max(0, spare)]
        for tenant, _ in gone:
            del self._rooms[tenant]
        return [engine for _, engine in gone]

    def _take_care(self) -> None:
        while not self._closing.wait(_FLUSH_SECONDS):
            self._flush()

    def _flush(self) -> None:
        """Write down which keys were used; it can wait, and must not end the house."""
        try:
            self.gate.flush_uses()
        except HoldfastError as error:
            log.warning("When keys were last used could not be noted: %s", error)


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


def open_house(
    path: str | Path | None = None,
    *,
    preset: str | Preset | None = None,
    settings: SettingsSource | None = None,
    tenant: str | None = None,
    embedder: "str | Embedder | Callable[[str], Any] | None" = None,
    chat: "str | ChatModel | Callable[..., Any] | None" = None,
    worker: Literal["thread", "inline", "none"] | None = None,
    clock: Clock | None = None,
    most: int = 64,
) -> House:
    """Open the memories of a store for all its tenants; takes what ``holdfast.open`` takes."""
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

    return House(open_tenant, tenant=loaded.tenant, most=most)
