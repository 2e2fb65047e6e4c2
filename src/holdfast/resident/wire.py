"""JSON lines over a socket."""

import json
import socket
from typing import Any, Final

MAX_LINE: Final = 64 * 1024 * 1024
"""Maximum number of bytes of one line."""


class Wire:
    """A connection that carries one JSON object per line."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = bytearray()

    def send(self, message: dict[str, Any]) -> None:
        """Send one JSON object as one line."""
        self.connection.sendall(json.dumps(message).encode("ascii") + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """Return the next object, or None at the end of the stream. Raise ``ValueError`` if the line is not a JSON object."""
        line = self.receive_line()
        if line is None:
            return None
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("a message must be a JSON object")  # noqa: TRY004  (the data is wrong, not the call)
        return message

    def receive_line(self) -> bytes | None:
        """Return the next line without its end, or None at the end of the stream. An incomplete last line is dropped."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > MAX_LINE:
                raise ValueError("the line is too long")
            piece = self.connection.recv(65536)
            if not piece:
                return None
            self._buffer += piece
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
