"""Reading what a server sends, however it misbehaves: bounded in size and in time, and JSON or nothing.

The providers' packages send the request. Their answers are read here as plain JSON, because a package trusts
its own server, and there are many that only speak alike.
"""

import importlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast.errors import AnswerInvalid, ModelUnavailable

__all__ = [
    "MAX_RESPONSE_BYTES",
    "ResponseReader",
    "as_count",
    "as_list",
    "as_mapping",
    "as_text",
    "http_client",
    "http_library",
    "well_formed",
]

MAX_RESPONSE_BYTES: Final = 8 * 1024 * 1024
"""Bytes one answer may have; what is longer is cut off while it is read."""
_MAX_ERROR_BYTES: Final = 64 * 1024
_ERROR_SECONDS: Final = 5.0
_UNSENDABLE: Final = dict.fromkeys((0, *range(0xD800, 0xE000)), "\ufffd")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def well_formed(text: str) -> str:
    """Return a text that can be sent and stored: NUL and lone surrogates become U+FFFD."""
    return text.translate(_UNSENDABLE)


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else _NOTHING


def as_list(value: object) -> list[Any]:
    """Return a JSON array, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return a text, or an empty one in place of anything else."""
    return well_formed(value) if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return a number of tokens, or zero in place of anything else."""
    return value if isinstance(value, int) and value > 0 else 0


def http_library(sdk: Any) -> Any:
    """Return the HTTP library a provider's package is built on: its name has changed between versions."""
    return importlib.import_module(sdk.DefaultHttpxClient.__base__.__module__.partition(".")[0])


def http_client(sdk: Any, base_url: str) -> Any:
    """Make the HTTP client for a provider's package: no redirects, which could take a key elsewhere; short complaints."""
    library = http_library(sdk)

    def shorten(response: Any) -> None:
        if response.status_code >= 300:
            response.stream = library.ByteStream(_complaint(response))

    return sdk.DefaultHttpxClient(
        follow_redirects=False,
        # A proxy cannot reach this very machine.
        trust_env=urlsplit(base_url).hostname not in _LOOPBACK,
        # Without TLS there is nothing to verify; to load the certificates would take a tenth of a second.
        verify=urlsplit(base_url).scheme == "https",
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [shorten]},
    )


def _complaint(response: Any) -> bytes:
    """Read the beginning of an error's body: the status matters more than the rest of it."""
    body = b""
    seconds = as_mapping(response.request.extensions.get("timeout")).get("read") or _ERROR_SECONDS
    give_up = time.monotonic() + min(seconds, _ERROR_SECONDS)
    stream = response.stream
    try:
        for chunk in stream:
            body += chunk
            if len(body) >= _MAX_ERROR_BYTES or time.monotonic() > give_up:
                break
    finally:
        stream.close()
    return body[:_MAX_ERROR_BYTES]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReader:
    """How an answer is read: until when, by which clock, and whose it is."""

    name: str
    deadline: float
    clock: Callable[[], float]

    def json(self, response: Any) -> Mapping[str, Any]:
        """Read a whole answer, which must be a JSON object."""
        return self._parsed(b"".join(self._chunks(response)))

    def events(self, response: Any) -> Iterator[Mapping[str, Any]]:
        """Read server-sent events, each a JSON object, up to the end or the word that marks it."""
        data: list[bytes] = []
        first_line, heard = b"", False
        for line in chain(self._lines(response), (b"",)):
            first_line = first_line or line
            if line.startswith(b"data:"):
                heard = True
                data.append(line.removeprefix(b"data:").strip())
            elif not line and data:
                if data == [b"[DONE]"]:
                    return
                yield self._parsed(b"\n".join(data))
                data = []
        if not heard:
            raise AnswerInvalid(f"{self.name} answered with {_shown(first_line)}, which is no stream. Is the address right?")

    def _lines(self, response: Any) -> Iterator[bytes]:
        """Cut at line feeds only: a text may hold other characters that pass for line ends."""
        begun: list[bytes] = []
        for chunk in self._chunks(response):
            first, *others = chunk.split(b"\n")
            begun.append(first)
            for other in others:
                yield b"".join(begun).rstrip(b"\r")
                begun = [other]
        yield b"".join(begun).rstrip(b"\r")

    def _chunks(self, response: Any) -> Iterator[bytes]:
        size = 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > MAX_RESPONSE_BYTES:
                raise ModelUnavailable(f"{self.name} sent more than {MAX_RESPONSE_BYTES // 1024**2} MB; the answer was cut off.")
            if self.clock() > self.deadline:
                raise ModelUnavailable(f"{self.name} had not finished its answer when the time was over.")
            yield chunk

    def _parsed(self, body: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise AnswerInvalid(f"{self.name} answered with {_shown(body)}, which is not JSON. Is the address right?") from error
        if not isinstance(answer, dict):
            raise AnswerInvalid(f"{self.name} answered with {_shown(body)}, which is not a JSON object. Is the address right?")
        return answer


def _shown(body: bytes) -> str:
    text = " ".join(body[:240].decode("utf-8", "replace").split())
    return repr(text[:60] + ("..." if len(text) > 60 else "")) if text else "an empty body"
