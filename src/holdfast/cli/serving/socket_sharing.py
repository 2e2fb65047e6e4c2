"""Balances connections between processes that accept on one socket.

By default, the process that wakes first accepts a connection. A keep-alive client then stays with that process. With
fifty clients and two processes, one process may get thirty-five clients, and its responses take twice as long.
Therefore each process publishes its number of connections. If another process has fewer connections, a process waits
before it accepts the next connection.
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
"""Maximum time that a connection waits for a less loaded process, in seconds. The less loaded process may be busy or dead."""
_EXHAUSTED_SECONDS = 0.5
"""Pause, in seconds, after a connection could not be accepted because the system lacks file descriptors or a similar resource."""


class ConnectionCounts:
    """Number of connections of each process, in shared memory. ``place`` is the number of a process, from 0.

    Each process writes its own number of connections and reads those of all processes.
    """

    def __init__(self, processes: int, context: BaseContext) -> None:
        self._counts: Any = context.RawArray("i", [_STOPPED] * processes)

    def note(self, place: int, connections: int) -> None:
        """Publish the number of connections of one process. ``place`` is the number of the process."""
        self._counts[place] = connections

    def leave(self, place: int) -> None:
        """Publish that a process no longer accepts connections. ``place`` is the number of the process."""
        self._counts[place] = _STOPPED

    def has_more_than_another(self, place: int) -> bool:
        """Return True if the process ``place`` has more connections than another process that accepts connections."""
        own = self._counts[place]
        return any(_STOPPED < other < own for other in self._counts)


class Announcing(Protocol):
    """Receives the signal that the server has started: a threading or multiprocessing event, or any object with ``set``."""

    def set(self) -> object:
        """Signal that the server answers requests."""
        ...


class AnnouncingServer(uvicorn.Server):
    """A uvicorn server that signals when it has started. If startup fails, there is no signal."""

    def __init__(self, config: uvicorn.Config, announcing: Announcing) -> None:
        super().__init__(config)
        self._announcing = announcing

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server, then signal that it has started."""
        await super().startup(sockets=sockets)
        if self.started:
            self._announcing.set()


class SharingServer(AnnouncingServer):
    """A uvicorn server that accepts a connection only while no other process has fewer connections."""

    def __init__(self, config: uvicorn.Config, announcing: Announcing, shares: ConnectionCounts, place: int) -> None:
        super().__init__(config, announcing)
        self._shares = shares
        self._place = place
        self._acceptors: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server and begin to accept connections."""
        await super().startup(sockets=[])
        self._note()
        self._acceptors = [asyncio.create_task(self._accept(listener)) for listener in sockets or []]

    async def on_tick(self, counter: int) -> bool:
        """Publish the number of connections, ten times per second."""
        self._note()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, then shut down."""
        self._shares.leave(self._place)
        for task in self._acceptors:
            task.cancel()
        await asyncio.gather(*self._acceptors, return_exceptions=True)
        await super().shutdown(sockets=sockets)

    def _note(self) -> None:
        self._shares.note(self._place, len(self.server_state.connections))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            await _wait_for_connection(listener)
            await self._wait_for_turn()
            try:
                connection, _ = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                continue  # another process accepted it, or the client has gone
            except OSError as error:
                _log.warning("Cannot accept connections: %s. Retrying in half a second.", error.strerror)
                await asyncio.sleep(_EXHAUSTED_SECONDS)
                continue
            connection.setblocking(False)
            with contextlib.suppress(OSError):  # the client has gone
                await loop.connect_accepted_socket(self._protocol, connection)
            self._note()

    async def _wait_for_turn(self) -> None:
        """Wait while another process has fewer connections, up to the maximum wait."""
        for _ in range(round(_MAX_WAIT_SECONDS / _POLL_SECONDS)):
            if not self._shares.has_more_than_another(self._place):
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        made: asyncio.Protocol = make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        return made


async def _wait_for_connection(listener: socket.socket) -> None:
    """Wait until a client's connection is pending on the socket."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(listener, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(listener)
