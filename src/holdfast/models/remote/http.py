"""Read HTTP responses with limits on size and time, and parse them as JSON.

The providers' Python packages send the requests, but responses are parsed here. The packages expect exactly the format
of their own servers, and many compatible servers deviate from it.
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
"""Maximum size of a response in bytes. A longer response is aborted with an error."""
_MAX_ERROR_BYTES: Final = 64 * 1024
"""Maximum number of bytes read from the body of an error response."""
_ERROR_SECONDS: Final = 5.0
"""Maximum time spent on reading the body of an error response, in seconds."""
_UNSENDABLE: Final = dict.fromkeys((0, *range(0xD800, 0xE000)), "\ufffd")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def well_formed(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD, so that the text can be sent and stored."""
    return text.translate(_UNSENDABLE)


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, or else an empty mapping."""
    return value if isinstance(value, dict) else _NOTHING


def as_list(value: object) -> list[Any]:
    """Return the value if it is a JSON array, or else an empty list."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return the value if it is a string, or else an empty string."""
    return well_formed(value) if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return the value if it is a positive integer, or else 0."""
    return value if isinstance(value, int) and value > 0 else 0


def http_library(sdk: Any) -> Any:
    """Return the HTTP library that a provider's package uses. Different versions of the package use different libraries."""
    return importlib.import_module(sdk.DefaultHttpxClient.__base__.__module__.partition(".")[0])


def http_client(sdk: Any, base_url: str) -> Any:
    """Create the HTTP client for a provider's package.

    It does not follow redirects, because they could send the key to another host. It limits the size of error bodies.
    """
    library = http_library(sdk)

    def shorten(response: Any) -> None:
        if response.status_code >= 300:
            response.stream = library.ByteStream(_error_body(response))

    return sdk.DefaultHttpxClient(
        follow_redirects=False,
        # A proxy cannot reach the loopback address of this machine.
        trust_env=urlsplit(base_url).hostname not in _LOOPBACK,
        # Without TLS there is nothing to verify, and loading the certificates would take 0.1 s.
        verify=urlsplit(base_url).scheme == "https",
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [shorten]},
    )


def _error_body(response: Any) -> bytes:
    """Read the beginning of an error body, within limits of size and time. The rest of the body is not needed."""
    body = b""
    seconds = as_mapping(response.request.extensions.get("timeout")).get("read") or _ERROR_SECONDS
    deadline = time.monotonic() + min(seconds, _ERROR_SECONDS)
    stream = response.stream
    try:
        for chunk in stream:
            body += chunk
            if len(body) >= _MAX_ERROR_BYTES or time.monotonic() > deadline:
                break
    finally:
        stream.close()
    return body[:_MAX_ERROR_BYTES]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReader:
    """Reads one response of the model ``name``.

    Reading fails when the time returned by ``clock()`` is later than ``deadline``. Both times are in seconds.
    """

    name: str
    deadline: float
    clock: Callable[[], float]

    def json(self, response: Any) -> Mapping[str, Any]:
        """Read the whole response and return it as a JSON object."""
        return self._parsed(b"".join(self._chunks(response)))

    def events(self, response: Any) -> Iterator[Mapping[str, Any]]:
        """Yield server-sent events, each a JSON object, until ``[DONE]`` or the end of the response."""
        data: list[bytes] = []
        first_line, started = b"", False
        for line in chain(self._lines(response), (b"",)):
            first_line = first_line or line
            if line.startswith(b"data:"):
                started = True
                data.append(line.removeprefix(b"data:").strip())
            elif not line and data:
                if data == [b"[DONE]"]:
                    return
                yield self._parsed(b"\n".join(data))
                data = []
        if not started:
            raise AnswerInvalid(f"{self.name} returned {_shown(first_line)} instead of an event stream. Check the URL.")

    def _lines(self, response: Any) -> Iterator[bytes]:
        """Yield the lines of the response. Only line feeds end a line, because JSON text may contain other line separators."""
        partial: list[bytes] = []
        for chunk in self._chunks(response):
            first, *others = chunk.split(b"\n")
            partial.append(first)
            for other in others:
                yield b"".join(partial).rstrip(b"\r")
                partial = [other]
        yield b"".join(partial).rstrip(b"\r")

    def _chunks(self, response: Any) -> Iterator[bytes]:
        size = 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > MAX_RESPONSE_BYTES:
                raise ModelUnavailable(
                    f"{self.name} sent more than {MAX_RESPONSE_BYTES // 1024**2} MB. The response was discarded."
                )
            if self.clock() > self.deadline:
                raise ModelUnavailable(f"{self.name} did not finish its reply within the timeout.")
            yield chunk

    def _parsed(self, body: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise AnswerInvalid(f"{self.name} returned {_shown(body)}, which is not JSON. Check the URL.") from error
        if not isinstance(answer, dict):
            raise AnswerInvalid(f"{self.name} returned {_shown(body)}, which is not a JSON object. Check the URL.")
        return answer


def _shown(body: bytes) -> str:
    text = " ".join(body[:240].decode("utf-8", "replace").split())
    return repr(text[:60] + ("..." if len(text) > 60 else "")) if text else "an empty body"
