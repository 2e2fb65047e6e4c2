"""Serve the files of a folder from memory, compressed once.

The dashboard's first page needs about thirty small files. Reading and compressing each one per request takes longer than
sending it.
"""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from holdfast.server.api.problem import AsgiScope, Receive, Send

_MIN_COMPRESSED = 500
"""Smaller files are not compressed, because they fit into one packet anyway."""
_TYPES = {".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml"}
"""Media types by file suffix. They replace those of the machine, which differ between machines."""


@dataclass(frozen=True, slots=True)
class _File:
    """The content of a file. ``state`` is the modification time and size that the file had when it was read."""

    state: tuple[int, int]
    body: bytes
    compressed: bytes | None
    etag: bytes
    content_type: bytes


class StaticFiles:
    """An ASGI application that serves the files of a folder. ``/`` is ``index.html``. A changed file is read again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        paths = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
        self._paths = {f"/{path.relative_to(folder).as_posix()}": path for path in paths}
        if "/index.html" in self._paths:
            self._paths["/"] = self._paths["/index.html"]
        self._files: dict[Path, _File] = {}

    @property
    def paths(self) -> list[str]:
        """The URL paths of the files."""
        return list(self._paths)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (a request without a body)
        """Answer a request for one of the paths."""
        if scope["method"] not in ("GET", "HEAD"):
            await _send(send, 405, [(b"allow", b"GET, HEAD")], b"")
            return
        file = self._read(self._paths[scope["path"]])
        wanted = {name.lower(): value for name, value in scope["headers"]}
        headers = [(b"content-type", file.content_type), (b"etag", file.etag), (b"vary", b"accept-encoding")]
        if file.etag in wanted.get(b"if-none-match", b""):
            await _send(send, 304, headers, None)
            return
        body = file.body
        if file.compressed is not None and b"gzip" in wanted.get(b"accept-encoding", b""):
            body = file.compressed
            headers.append((b"content-encoding", b"gzip"))
        headers.append((b"content-length", str(len(body)).encode()))
        await _send(send, 200, headers, None if scope["method"] == "HEAD" else body)

    def _read(self, path: Path) -> _File:
        """Return a file. It is read and compressed again only if it changed on disk."""
        info = path.stat()
        state = (info.st_mtime_ns, info.st_size)
        known = self._files.get(path)
        if known is None or known.state != state:
            known = self._files[path] = _load(path, state)
        return known


def _load(path: Path, state: tuple[int, int]) -> _File:
    body = path.read_bytes()
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    is_text = kind.startswith("text/")
    return _File(
        state=state,
        body=body,
        compressed=gzip.compress(body, mtime=0) if len(body) >= _MIN_COMPRESSED else None,
        etag=f'W/"{hashlib.sha256(body).hexdigest()[:24]}"'.encode(),
        content_type=(f"{kind}; charset=utf-8" if is_text else kind).encode(),
    )


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes | None) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body or b""})
