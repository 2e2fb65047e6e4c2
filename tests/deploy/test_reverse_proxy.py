"""The configurations of nginx and Caddy on the deployment page work in front of a real server: TLS, keys, and streams without a delay."""

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from tests.parsing import ROOT, blocks
from tests.server.http_support import Process, eventually, process

pytestmark = [pytest.mark.long, pytest.mark.ledger("X38")]
PAGE = ROOT / "docs" / "deployment.md"
HOST = "memory.example"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _page(word: str) -> str:
    """Return the configuration on the page that contains a word."""
    (lines,) = (each for each in blocks(PAGE, "text") if word in each)
    return lines


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed, so the lines of {PAGE.name} for it are not run")
    return found


def _nginx(folder: Path, upstream: str, port: int) -> Sequence[str]:
    """Write a complete nginx configuration with the lines of the page, and return the command. Only addresses and the certificate are added."""
    nginx, openssl = _program("nginx"), _program("openssl")
    subject = ["-subj", f"/CN={HOST}", "-keyout", "k.pem", "-out", "c.pem"]
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    lines = _page("proxy_pass")
    lines = lines.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl; ssl_certificate c.pem; ssl_certificate_key k.pem;")
    lines = re.sub(r"proxy_pass [^;]+;", f"proxy_pass {upstream};", lines)
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    own = "daemon off; master_process off; pid n.pid; error_log stderr; events {}"
    (folder / "nginx.conf").write_text(f"{own} http {{ access_log off; {temporary}\n{lines} }}", "utf-8")
    return [nginx, "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]


def _caddy(folder: Path, upstream: str, port: int) -> Sequence[str]:
    """Write a complete Caddyfile with the lines of the page, and return the command.

    Only addresses are changed, and Caddy issues the certificate itself: the host name of the page does not exist.
    """
    caddy = _program("caddy")
    lines = _page("reverse_proxy 127").replace("127.0.0.1:8321", upstream.removeprefix("http://"))
    assert upstream.removeprefix("http://") in lines
    own = (
        f"https_port {port}",
        "default_bind 127.0.0.1",
        "admin off",
        "local_certs",
        "skip_install_trust",
        "auto_https disable_redirects",
        f"storage file_system {folder}/caddy",
    )
    (folder / "Caddyfile").write_text("\n".join(["{", *own, "}", lines]), "utf-8")
    return [caddy, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


PROXIES = {"nginx": _nginx, "caddy": _caddy}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with process(tmp_path / "home", HOLDFAST_ALLOWED_HOSTS=HOST) as found:
        yield found


@pytest.fixture(params=PROXIES)
def proxied(request: pytest.FixtureRequest, server: Process, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client that reaches the server through the proxy. The certificate is made for the test, so it is not checked."""
    port = _free_port()
    command = PROXIES[request.param](tmp_path, server.url, port)
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}) as running:
        try:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            eventually(lambda: _answers(port, context))
            with httpx.Client(
                base_url=f"https://127.0.0.1:{port}",
                headers={"Host": HOST},
                verify=context,
                timeout=20,
                event_hooks={"request": [_name_the_host]},
            ) as client:
                yield client
        finally:
            running.terminate()
            running.wait(20)


def _name_the_host(request: httpx.Request) -> None:
    """Ask for the certificate of the host, as a browser does that finds the proxy by its name."""
    request.extensions["sni_hostname"] = HOST


def _answers(port: int, context: ssl.SSLContext) -> bool:
    """Return True if the proxy has a certificate for the host."""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as found, context.wrap_socket(found, server_hostname=HOST):
            return True
    except OSError:
        return False


def test_the_server_works_behind_a_proxy_with_a_key_and_not_without(server: Process, proxied: httpx.Client) -> None:
    assert proxied.get("/v1/stats").status_code in {401, 403}, "a proxy is not this machine"
    key = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}).raise_for_status().json()["key"]
    proxied.headers["Authorization"] = f"Bearer {key}"
    assert "Holdfast" in proxied.get("/").text
    proxied.post("/v1/memories", json={"text": "prefers tea", "user": "ana"}).raise_for_status()
    assert proxied.get("/v1/memories", params={"user": "ana"}).json()["items"][0]["text"] == "prefers tea"


def test_a_host_name_that_is_not_the_servers_reaches_no_data(server: Process, proxied: httpx.Client) -> None:
    """nginx forwards every host name, and Holdfast refuses it. Caddy answers an unknown host with an empty page."""
    key = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}).raise_for_status().json()["key"]
    found = proxied.get("/v1/stats", headers={"Host": "other.example", "Authorization": f"Bearer {key}"})
    assert found.status_code >= 400 or not found.content


def test_events_pass_the_proxy_without_a_delay(server: Process, proxied: httpx.Client) -> None:
    key = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}).raise_for_status().json()["key"]
    with proxied.stream("GET", "/v1/events", headers={"Authorization": f"Bearer {key}"}) as stream:
        assert "event: change" in next(line for line in stream.iter_lines() if line.startswith("event"))


def test_a_client_that_leaves_a_stream_ends_it_at_the_server(server: Process, proxied: httpx.Client) -> None:
    """A closed page must not keep a stream, or the call of a chat model behind it, running at the server."""
    key = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}).raise_for_status().json()["key"]
    port = int(server.url.rpartition(":")[2])
    with proxied.stream("GET", "/v1/events", headers={"Authorization": f"Bearer {key}"}) as stream:
        lines = stream.iter_lines()  # the response is closed with its iterator
        next(lines)
        assert _connections_to(port) == 1
    eventually(lambda: _connections_to(port) == 0, seconds=8)


def _connections_to(port: int) -> int:
    """Return the number of open connections of clients to a port of this machine."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]]
    return sum(remote == f"0100007F:{port:04X}" and state == "01" for _, _, remote, state, *_ in rows)


def test_a_large_import_passes_the_proxy(server: Process, proxied: httpx.Client) -> None:
    """nginx refuses bodies over 1 MB unless its configuration says otherwise."""
    key = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}).raise_for_status().json()["key"]
    text = "".join(f"# Note {n}\n\n{'word ' * 2000}\n\n" for n in range(200))
    query = {"user": "ana", "format": "markdown", "name": "notes.md", "dry_run": "true"}
    done = proxied.post(
        "/v1/import",
        params=query,
        content=text.encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/octet-stream"},
    )
    assert done.status_code == 200, done.text
    assert done.json()["memories"]["found"] >= 200
