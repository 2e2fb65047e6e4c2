"""Sharing clients between processes that listen on one socket.

Whoever wakes first takes a connection, and a client that stays connected stays where it is: of fifty, one of two processes
may have thirty-five, whose answers take twice as long as the others'. So each process notes how many it has, and lets those
that have fewer go first.
"""

import asyncio
import contextlib
import logging
import socket
from multiprocessing.context import BaseContext
from typing import Any, Protocol

import uvicorn

_log = logging.getLogger("holdfast.server")
_STOPPED = -1
_POLL_SECONDS = 0.003
_MAX_WAIT_SECONDS = 0.06
"""How long a connection may wait for a process that has fewer; that one may be busy, or gone."""
_EXHAUSTED_SECONDS = 0.5
"""How long nobody is let in after the system had no room for one more."""


class ConnectionCounts:
    """How many connections each of several processes has; every process writes its own number, and reads all."""

    def __init__(self, processes: int, context: BaseContext) -> None:
        self._counts: Any = context.RawArray("i", [_STOPPED] * processes)

    def note(self, place: int, connections: int) -> None:
        """Note what a process has."""
        self._counts[place] = connections

    def leave(self, place: int) -> None:
        """Note that a process takes nobody in."""
        self._counts[place] = _STOPPED

    def has_most(self, place: int) -> bool:
        """Tell whether another process that takes clients in has fewer."""
        own = self._counts[place]
        return any(_STOPPED < other < own for other in self._counts)


class Announcing(Protocol):
    """What a server tells that it has started: an event of this process or of another, or anything with ``set``."""

    def set(self) -> object:
        """Note that requests are answered."""
        ...


class AnnouncingServer(uvicorn.Server):
    """A server that says when it has started; one that fails to start says nothing."""

    def __init__(self, config: uvicorn.Config, announcing: Announcing) -> None:
        super().__init__(config)
        self._announcing = announcing

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self._announcing.set()


class SharingServer(AnnouncingServer):
    """A server that takes in a client only when it is its turn."""

    def __init__(self, config: uvicorn.Config, announcing: Announcing, shares: ConnectionCounts, place: int) -> None:
        super().__init__(config, announcing)
        self._shares = shares
        self._place = place
        self._doors: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets=[])
        self._note()
        self._doors = [asyncio.create_task(self._accept(door)) for door in sockets or []]

    async def on_tick(self, counter: int) -> bool:
        """Look after what there is to look after, ten times a second; connections may have ended."""
        self._note()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nobody in any more, and end."""
        self._shares.leave(self._place)
        for task in self._doors:
            task.cancel()
        await asyncio.gather(*self._doors, return_exceptions=True)
        await super().shutdown(sockets=sockets)

    def _note(self) -> None:
        self._shares.note(self._place, len(self.server_state.connections))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            await _has_pending(listener)
            await self._is_our_turn()
            try:
                guest, _ = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                continue  # another process was faster, or the client has gone
            except OSError as error:
                _log.warning("No further connection can be accepted now: %s", error.strerror)
                await asyncio.sleep(_EXHAUSTED_SECONDS)
                continue
            guest.setblocking(False)
            with contextlib.suppress(OSError):  # it has gone
                await loop.connect_accepted_socket(self._protocol, guest)
            self._note()

    async def _is_our_turn(self) -> None:
        """Let others go first while they have fewer."""
        for _ in range(round(_MAX_WAIT_SECONDS / _POLL_SECONDS)):
            if not self._shares.has_most(self._place):
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        made: asyncio.Protocol = make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        return made


async def _has_pending(listener: socket.socket) -> None:
    """Wait until somebody wants to come in."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[None] = loop.create_future()
    loop.add_reader(listener, lambda: None if heard.done() else heard.set_result(None))
    try:
        await heard
    finally:
        loop.remove_reader(listener)
