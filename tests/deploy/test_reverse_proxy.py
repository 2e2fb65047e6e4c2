"""The nginx configuration on the deployment page works in front of a real server: TLS, keys, and streams without a delay."""

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.parsing import ROOT, blocks
from tests.server.http_support import Process, eventually, process

pytestmark = [pytest.mark.long, pytest.mark.ledger("X38")]
PAGE = ROOT / "docs" / "deployment.md"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _configuration(folder: Path, upstream: str, port: int) -> str:
    """Return a complete nginx configuration with the lines of the page. Only addresses and the certificate are added."""
    (lines,) = (each for each in blocks(PAGE, "text") if "proxy_pass" in each)
    lines = lines.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl; ssl_certificate c.pem; ssl_certificate_key k.pem;")
    lines = re.sub(r"proxy_pass [^;]+;", f"proxy_pass {upstream};", lines)
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    own = "daemon off; master_process off; pid n.pid; error_log stderr; events {}"
    return f"{own} http {{ access_log off; {temporary}\n{lines} }}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with process(tmp_path / "home", HOLDFAST_ALLOWED_HOSTS="memory.example") as found:
        yield found


@pytest.fixture
def proxied(server: Process, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client that reaches the server through nginx. The certificate is made for the test, so it is not checked."""
    nginx, openssl = shutil.which("nginx"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("nginx and openssl are not installed")
    subject = ["-subj", "/CN=memory.example", "-keyout", "k.pem", "-out", "c.pem"]
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    port = _free_port()
    (tmp_path / "nginx.conf").write_text(_configuration(tmp_path, server.url, port), "utf-8")
    with subprocess.Popen([nginx, "-p", str(tmp_path), "-c", "nginx.conf", "-e", "stderr"], cwd=tmp_path) as running:
        try:
            eventually(lambda: _listens(port))
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with httpx.Client(
                base_url=f"https://127.0.0.1:{port}", headers={"Host": "memory.example"}, verify=context, timeout=20
            ) as client:
                yield client
        finally:
            running.terminate()
            running.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def test_the_server_works_behind_nginx_with_a_key_and_not_without(server: Process, proxied: httpx.Client) -> None:
    assert proxied.get("/v1/stats").status_code in {401, 403}, "a proxy is not this machine"
    key = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}).raise_for_status().json()["key"]
    proxied.headers["Authorization"] = f"Bearer {key}"
    assert "Holdfast" in proxied.get("/").text
    proxied.post("/v1/memories", json={"text": "prefers tea", "user": "ana"}).raise_for_status()
    assert proxied.get("/v1/memories", params={"user": "ana"}).json()["items"][0]["text"] == "prefers tea"
    assert proxied.get("/v1/stats", headers={"Host": "other.example"}).status_code >= 400


def test_events_pass_nginx_without_a_delay(server: Process, proxied: httpx.Client) -> None:
    key = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}).raise_for_status().json()["key"]
    with proxied.stream("GET", "/v1/events", headers={"Authorization": f"Bearer {key}"}) as stream:
        assert "event: change" in next(line for line in stream.iter_lines() if line.startswith("event"))
