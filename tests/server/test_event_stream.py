"""Event streams are stored, so that a repeated request gets the same stream.

A stream within the size limit is stored completely. A longer stream is sent whole, but not stored.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from holdfast.server.api.sse import EventStream

MEGABYTE = 1024 * 1024


def finished(pieces: list[bytes]) -> tuple[int, bool, int]:
    """Send a stream. Return the number of stored bytes, whether they are the complete stream, and the number of bytes sent."""
    kept: list[tuple[bytes, bool]] = []
    sent: list[bytes] = []

    async def run() -> None:
        async def events() -> AsyncGenerator[bytes, None]:
            for piece in pieces:
                yield piece

        async def receive() -> Any:
            await asyncio.Event().wait()  # the client stays

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        async def finish(body: bytes, complete: bool) -> None:  # noqa: FBT001
            kept.append((body, complete))

        stream = EventStream(events())
        stream.when_done(finish)
        await stream({"type": "http"}, receive, send)

    asyncio.run(run())
    ((body, complete),) = kept
    return len(body), complete, sum(map(len, sent))


@pytest.mark.ledger("X20")
def test_a_stream_up_to_the_limit_is_kept_whole() -> None:
    assert finished([b"a", b"b" * (MEGABYTE - 1)]) == (MEGABYTE, True, MEGABYTE)


@pytest.mark.ledger("X20")
@pytest.mark.parametrize("pieces", [[b"a" * MEGABYTE, b"b"], [b"a" * (MEGABYTE + 1)], [b"a" * MEGABYTE, b"b", b"c" * MEGABYTE]])
def test_a_longer_stream_is_sent_whole_and_not_kept_as_complete(pieces: list[bytes]) -> None:
    _, complete, sent = finished(pieces)
    assert (complete, sent) == (False, sum(map(len, pieces)))
