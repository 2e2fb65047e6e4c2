"""Find an Ollama server on this machine. Only loopback addresses are tried, with a short timeout."""

import http.client
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from holdfast.config import environment

_HOST, _PORT = "127.0.0.1", 11434
_LOOPBACK = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "")  # noqa: S104  (OLLAMA_HOST=0.0.0.0 also listens on loopback)
_TIMEOUT_SECONDS = 0.5
_MAX_BYTES = 1 << 20
_MAX_MODELS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Ollama:
    """An Ollama server on this machine."""

    url: str
    models: tuple[str, ...]
    """Names of the installed models, as ``ollama list`` shows them."""


def find_ollama() -> Ollama | None:
    """Return the Ollama server of this machine, or None if none answers within half a second.

    ``OLLAMA_HOST``, Ollama's own variable, can set the port. Other hosts are never contacted.
    """
    port = _port()
    if port is None:
        return None
    connection = http.client.HTTPConnection(_HOST, port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/api/tags")
        response = connection.getresponse()
        found = json.loads(response.read(_MAX_BYTES)) if response.status == http.client.OK else None
    except (OSError, ValueError, http.client.HTTPException):  # nothing listens, or it is another program
        return None
    finally:
        connection.close()
    return Ollama(url=f"http://{_HOST}:{port}", models=_names(found)) if isinstance(found, dict) else None


def _port() -> int | None:
    """Return the port of Ollama on this machine. Return None if ``OLLAMA_HOST`` names another machine."""
    given = environment.variable("OLLAMA_HOST")
    if given is None:
        return _PORT
    try:
        parts = urlsplit(given if "//" in given else f"//{given}")
        port = parts.port or _PORT
    except ValueError:
        return None
    return port if (parts.hostname or "") in _LOOPBACK else None


def _names(found: dict[str, object]) -> tuple[str, ...]:
    models = found.get("models")
    listed = [each.get("name") for each in models if isinstance(each, dict)] if isinstance(models, list) else []
    return tuple(name for name in listed if isinstance(name, str) and name)[:_MAX_MODELS]
