"""The dashboard's files are compressed once and sent again only if they have changed. Other paths are not served."""

import asyncio
import gzip
from pathlib import Path

import httpx
import pytest

from holdfast.server.static_files import StaticFiles
from tests.server.http_support import Served

pytestmark = pytest.mark.ledger("X12")


def _get(files: StaticFiles, path: str, **headers: str) -> httpx.Response:
    """Return the response of the application to a request, still compressed."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=files), base_url="http://here") as client:
            return await client.get(path, headers={"Accept-Encoding": "identity", **headers})

    return asyncio.run(ask())


def test_a_file_is_compressed_and_has_its_type(served: Served) -> None:
    plain = served.client.get("/js/dom.js", headers={"Accept-Encoding": "identity"})
    with served.client.stream("GET", "/js/dom.js", headers={"Accept-Encoding": "gzip"}) as found:
        sent = b"".join(found.iter_raw())
        assert found.headers["content-encoding"] == "gzip"
        assert found.headers["vary"] == "accept-encoding"
    assert gzip.decompress(sent) == plain.content
    assert len(sent) < len(plain.content) / 2
    assert plain.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "content-encoding" not in plain.headers


def test_an_unchanged_file_is_not_sent_again(served: Served) -> None:
    first = served.client.get("/css/base.css")
    again = served.client.get("/css/base.css", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["cache-control"]) == (304, b"", "no-cache")
    assert served.client.get("/css/base.css", headers={"If-None-Match": 'W/"other"'}).status_code == 200


def test_a_head_request_has_no_body_and_a_write_is_refused(served: Served) -> None:
    head = served.client.head("/icon.svg")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == "image/svg+xml"
    assert served.client.post("/icon.svg").status_code == 405


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text("old")
    files = StaticFiles(tmp_path)
    first = _get(files, "/")
    page.write_text("newer")
    second = _get(files, "/", **{"If-None-Match": first.headers["etag"]})
    assert (first.text, second.text) == ("old", "newer")
    assert sorted(files.paths) == ["/", "/index.html"]
