"""The security middleware over real sockets: hosts, origins, proxies, keys, limits and headers."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from holdfast.access.keys import Gate, authorize
from holdfast.config.opening import open_engine
from holdfast.config.settings import Settings
from holdfast.errors import HoldfastError, SettingsError
from holdfast.server.api.problem import AsgiScope, Receive, Send, problem_of, problem_response
from holdfast.server.middleware.limits import Rate, RateLimiter
from holdfast.server.middleware.security import (
    Policy,
    Security,
    _with_security_headers,
    check_bind,
    is_loopback,
    principal_of,
    request_id_of,
)
from holdfast.services import services

uvicorn = pytest.importorskip("uvicorn")


@dataclass
class Answer:
    """A parsed HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return str(self.json["code"])


@dataclass
class Echo:
    """An ASGI application that returns the principal and the body size, and records the requests that reach it."""

    reached: list[str] = field(default_factory=list)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        self.reached.append(scope["path"])
        if scope["path"] == "/broken":
            raise ValueError("a secret")
        who: dict[str, Any] = {"request_id": request_id_of(scope)}
        if not scope["path"].startswith("/open"):
            try:
                principal = principal_of(scope)
                authorize(principal, "read" if scope["method"] == "GET" else "write")
            except HoldfastError as error:
                await problem_of(error)(scope, receive, send)
                return
            who |= {"tenant": principal.tenant, "user": principal.user, "keyless": principal.keyless}
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":  # frameworks raise an error here too
                await problem_response(400, "invalid_input", "gone")(scope, receive, send)
                return
            size += len(message["body"])
            if not message["more_body"]:
                break
        kind = b"text/html" if scope["path"] == "/open/page" else b"application/json"
        headers = [(b"content-type", kind), (b"access-control-allow-origin", b"*"), (b"cache-control", b"public")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({**who, "size": size}).encode()})


@dataclass
class Served:
    """A server on a loopback port, with methods to send raw requests."""

    port: int
    echo: Echo
    gate: Gate

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def raw(self, request: bytes) -> Answer:
        """Send raw bytes and read the response."""
        with self.connect() as connection:
            connection.sendall(request)
            return read(connection)

    def ask(self, path: str = "/v1/x", *lines: str, method: str = "GET", host: str | None = "", body: bytes = b"") -> Answer:
        """Send a request with the given header lines."""
        named = [] if host is None else [f"Host: {host or f'127.0.0.1:{self.port}'}"]
        sized = [f"Content-Length: {len(body)}"] if body else []
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *named, *lines, *sized, "Connection: close", "", ""])
        return self.raw(head.encode("latin-1") + body)


Serve: TypeAlias = Callable[..., Served]


def read(connection: socket.socket) -> Answer:
    received = b""
    while block := connection.recv(65536):
        received += block
        head, found, body = received.partition(b"\r\n\r\n")
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if found and length and len(body) >= int(length[0].split(b":")[1]):
            break
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.split(":", 1) for line in lines]
    if any(name.lower() == "transfer-encoding" for name, _ in pairs):
        body = body.partition(b"\r\n")[2].partition(b"\r\n")[0]
    return Answer(int(status.split()[1]), {name.strip().lower(): value.strip() for name, value in pairs}, body)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Yield a function that starts a server on a free loopback port. All servers use the same store."""
    memory = open_engine(tmp_path / "memory.db", embedder="none", worker="none")
    gate = Gate(services(memory).store, services(memory).clock)
    running: list[tuple[Any, threading.Thread]] = []

    def start(*, http: str = "auto", rates: RateLimiter | None = None, **policy: Any) -> Served:
        listening = socket.create_server(("127.0.0.1", 0))
        echo = Echo()
        guarded = Security(
            echo, policy=Policy(**policy), identify=lambda key, loopback: gate.identify(key, loopback=loopback), rates=rates
        )
        config = uvicorn.Config(guarded, log_config=None, lifespan="off", proxy_headers=False, server_header=False, http=http)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        running.append((server, thread))
        return Served(listening.getsockname()[1], echo, gate)

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(timeout=60)
    memory.close()


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()


def key(served: Served, **bound: Any) -> str:
    """Return the Authorization header of a new access key."""
    return f"Authorization: Bearer {served.gate.create_key(**{'level': 'write', **bound})[1]}"


# Authentication


@pytest.mark.ledger("A13")
def test_this_machine_needs_no_key_until_there_is_one(served: Served) -> None:
    assert served.ask().json["keyless"] is True
    header = key(served, user="ana")
    refused = served.ask()
    assert (refused.status, refused.code, refused.headers["www-authenticate"]) == (401, "unauthorized", "Bearer")
    answer = served.ask("/v1/x", header)
    assert (answer.status, answer.json["user"], answer.json["keyless"]) == (200, "ana", False)


@pytest.mark.ledger("A13")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.20"])
def test_a_server_on_a_public_address_treats_no_request_as_local(serve: Serve, host: str) -> None:
    """A proxy on the same machine connects from loopback even for remote clients, so no request counts as local."""
    served = serve(host=host, allowed_hosts=("127.0.0.1",))
    assert (served.ask().status, served.ask().code) == (401, "unauthorized")


@pytest.mark.ledger("X8")
def test_a_revoked_key_is_refused_with_the_next_request(served: Served) -> None:
    header = key(served, level="read", tenant="acme")
    assert served.ask("/v1/x", header).json["tenant"] == "acme"
    refused = served.ask("/v1/x", header, method="POST")
    assert (refused.status, refused.code) == (403, "forbidden")
    served.gate.revoke(served.gate.list_keys()[0].id)
    assert served.ask("/v1/x", header).status == 401


@pytest.mark.parametrize(
    "lines",
    [
        ("Authorization: Basic aGk6aGk=",),
        ("Authorization: Bearer hf_x_y",),
        ("Authorization: Bearer \xff\xfe",),
        ("Authorization: ",),
        ("Authorization: Bearer a", "Authorization: Bearer b"),
    ],
)
def test_an_invalid_key_is_refused_even_where_no_key_is_needed(served: Served, lines: tuple[str, ...]) -> None:
    assert served.ask("/v1/x", *lines).code == "unauthorized"


def test_a_public_path_needs_no_key(served: Served) -> None:
    key(served)
    assert served.ask("/open").status == 200
    assert served.ask("/open", "Authorization: Bearer nonsense").status == 200


def test_an_unauthenticated_request_has_no_principal() -> None:
    with pytest.raises(HoldfastError) as refused:
        principal_of({"type": "http"})
    assert refused.value.code == "unauthorized"


# Hosts, origins and proxies


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost:9", "LOCALHOST", "[::1]:8321", "127.1.2.3", "localhost.", "memory.lan:80"]
)
def test_the_server_answers_requests_for_its_own_host_names(serve: Serve, host: str) -> None:
    assert serve(allowed_hosts=("memory.lan",)).ask(host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "evil.example:8321",
        "127.0.0.1@evil",
        "a b",
        "2130706433",
        "[::1",
        "localhost:x",
        "[::ffff:10.0.0.1]",
        "xn--lcalhost-8ya",
        "0.0.0.0",
    ],
)
def test_an_unknown_host_name_is_refused_before_the_request_reaches_the_application(served: Served, host: str) -> None:
    answer = served.ask("/open", host=host)
    assert (answer.status, answer.code) == (421, "forbidden")
    assert served.echo.reached == []


def test_a_request_needs_exactly_one_host_header(served: Served) -> None:
    assert served.raw(b"GET /open HTTP/1.0\r\n\r\n").status in (400, 421)
    assert served.raw(b"GET /open HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").status in (400, 421)
    assert served.echo.reached == []


def test_a_server_that_listens_everywhere_answers_to_addresses_and_given_names_only(serve: Serve) -> None:
    served = serve(host="0.0.0.0", allowed_hosts=("memory.example.org",))
    header = key(served)
    status = {
        host: served.ask("/v1/x", header, host=host).status for host in ("10.1.2.3:8321", "memory.example.org", "evil.example")
    }
    assert status == {"10.1.2.3:8321": 200, "memory.example.org": 200, "evil.example": 421}
    assert served.ask("/v1/x").status == 401


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1:8321", "http://127.0.0.1:8321", 200),
        ("localhost:8321", "http://localhost:8321", 200),
        ("memory.lan", "https://memory.lan", 200),
        ("memory.lan:80", "http://memory.lan", 200),
        ("localhost:8321", "http://localhost:3000", 403),
        ("localhost:8321", "http://127.0.0.1:8321", 403),
        ("localhost:8321", "https://evil.example", 403),
        ("localhost:8321", "null", 403),
        ("localhost:8321", "file://", 403),
        ("localhost:8321", "http://localhost:8321.evil.example", 403),
        ("localhost:8321", "http://localhost:8321/x", 403),
        ("localhost:8321", "http://evil@localhost:8321", 403),
        ("localhost:8321", "http://[", 403),
        ("localhost:8321", "", 403),
    ],
)
def test_only_pages_of_the_servers_own_origin_may_send_requests(serve: Serve, host: str, origin: str, status: int) -> None:
    served = serve(allowed_hosts=("memory.lan",))
    for method in ("GET", "POST", "OPTIONS"):
        assert served.ask("/open", f"Origin: {origin}", host=host, method=method).status == status
    assert bool(served.echo.reached) == (status == 200)


def test_a_page_of_another_site_that_hides_its_origin_is_refused_but_a_link_may_be_followed(served: Served) -> None:
    assert served.ask("/v1/x", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors").code == "forbidden"
    assert served.ask("/open", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate").status == 200
    assert served.ask("/v1/x", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors").status == 200


@pytest.mark.ledger("A13")
@pytest.mark.parametrize(
    "mark",
    [
        "Forwarded: for=1.2.3.4",
        "X-Forwarded-For: 127.0.0.1",
        "x-forwarded-host: a",
        "X-Forwarded-Proto: https",
        "Via: 1.1 proxy",
        "X-Real-IP: 127.0.0.1",
        "CF-Connecting-IP: 1.2.3.4",
    ],
)
def test_without_keys_proxied_requests_are_refused(served: Served, mark: str) -> None:
    for path in ("/v1/x", "/open"):
        for lines in ((mark,), (mark, "Authorization: Bearer nonsense")):
            answer = served.ask(path, *lines)
            assert (answer.status, answer.code) == (403, "forbidden")
            assert "holdfast keys create" in answer.json["detail"]
    assert served.echo.reached == []
    header = key(served)
    assert (served.ask("/v1/x", mark, header).status, served.ask("/open", mark).status) == (200, 200)


def test_a_web_socket_is_not_opened(served: Served) -> None:
    lines = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
    with served.connect() as connection:
        head = ["GET /open HTTP/1.1", "Host: localhost", "Connection: Upgrade", *lines, "", ""]
        connection.sendall("\r\n".join(head).encode())
        assert read(connection).status != 101


# Limits


@pytest.mark.long
@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_a_body_over_the_limit_is_refused_by_its_declared_length_or_while_it_arrives(serve: Serve, http: str) -> None:
    served = serve(http=http, body_limit=100_000, file_limit=300_000)
    assert served.ask(method="POST", body=b"x" * 100_000).json["size"] == 100_000
    told = served.ask(method="POST", body=b"x" * 100_001)
    assert (told.status, told.code) == (413, "too_large")
    assert served.echo.reached == ["/v1/x"]
    assert served.ask("/chat/audio", method="POST", body=b"x" * 300_000).json["size"] == 300_000
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    head = b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    streamed = served.raw(head + chunk * 6 + b"0\r\n\r\n")
    assert streamed.json["size"] == 6 * 0x4000
    cut = served.raw(head + chunk * 60)  # the final chunk is missing
    assert (cut.status, cut.code, cut.headers["connection"]) == (413, "too_large", "close")


def test_a_body_longer_than_its_declared_length_is_not_read_further(serve: Serve) -> None:
    served = serve(body_limit=1000)
    answer = served.raw(b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\nx")
    assert answer.status in (400, 413)
    assert served.echo.reached == []


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_a_body_that_arrives_too_slowly_is_given_up(serve: Serve, http: str) -> None:
    served = serve(http=http, body_seconds=0.5)
    with served.connect() as connection:
        connection.sendall(b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        began = time.monotonic()
        with contextlib.suppress(OSError):
            for _ in range(8):
                connection.sendall(b"x")
                time.sleep(0.1)
        answer = read(connection)
        assert (answer.status, answer.code) == (408, "timeout")
        assert time.monotonic() - began < 30


def test_slow_senders_do_not_delay_others(serve: Serve) -> None:
    served = serve(body_seconds=60)
    slow = [served.connect() for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx")
        began = time.monotonic()
        assert served.ask().status == 200
        assert time.monotonic() - began < 30
    finally:
        for connection in slow:
            connection.close()


def test_headers_and_addresses_have_limits(serve: Serve) -> None:
    served = serve()
    assert served.ask("/open", *(f"X-{number}: y" for number in range(120))).status == 431
    assert served.ask("/open", f"X-Long: {'y' * 40_000}").status == 431
    assert served.ask("/open?" + "q" * 20_000).status == 414
    assert served.echo.reached == []


def test_one_key_that_asks_too_often_waits_and_others_do_not(serve: Serve) -> None:
    served = serve(rate=Rate(per_second=0.5, burst=3), rates=RateLimiter(clock=lambda: 0.0))
    often, seldom = key(served), key(served)
    assert [served.ask("/v1/x", often).status for _ in range(4)] == [200, 200, 200, 429]
    refused = served.ask("/v1/x", often)
    assert (refused.code, refused.headers["retry-after"]) == ("rate_limited", "2")
    assert served.ask("/v1/x", seldom).status == 200


def test_guessed_keys_count_against_the_rate_limit_of_their_address(serve: Serve) -> None:
    served = serve(rate=Rate(per_second=1, burst=3), rates=RateLimiter(clock=lambda: 0.0))
    good = key(served)
    id = served.gate.list_keys()[0].id
    guesses = [served.ask("/v1/x", f"Authorization: Bearer hf_{id}_{number:043}").status for number in range(5)]
    assert guesses == [401, 401, 401, 429, 429]
    assert served.ask("/v1/x", good).status == 200


def test_tokens_are_refilled_over_time_and_idle_callers_are_dropped() -> None:
    now = 0.0
    rates = RateLimiter(clock=lambda: now)
    rate = Rate(per_second=10, burst=2)
    assert [rates.take("a", rate), rates.take("a", rate)] == [0, 0]
    assert rates.take("a", rate) == pytest.approx(0.1)
    now = 0.1
    assert rates.take("a", rate) == 0
    now = 100.0
    assert [bool(rates.take("a", rate)) for _ in range(3)] == [False, False, True]
    for number in range(10_001):
        rates.take(f"caller {number}", rate)
    assert rates.take("a", rate) == 0


# Responses


def test_every_response_has_the_security_headers(served: Served) -> None:
    for answer in (served.ask("/v1/x"), served.ask("/open/page"), served.ask(host="evil.example"), served.ask("/broken")):
        headers = answer.headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        assert not [name for name in headers if name.startswith("access-control") or name == "server"]
    assert served.ask("/v1/x").headers["cache-control"] == "no-store"
    assert served.ask(host="evil.example").headers["cache-control"] == "no-store"
    assert served.ask("/open/page").headers["cache-control"] == "public"


def test_an_answer_carries_the_id_of_its_request(served: Served) -> None:
    made = served.ask()
    assert made.headers["x-request-id"] == made.json["request_id"]
    assert made.headers["x-request-id"] != served.ask().headers["x-request-id"]
    assert served.ask("/v1/x", "X-Request-ID: mine-1").headers["x-request-id"] == "mine-1"
    for odd in ("a b", "x" * 65, "<script>"):
        assert served.ask("/v1/x", f"X-Request-ID: {odd}").headers["x-request-id"].startswith("req_")


def test_an_internal_error_is_reported_without_details(served: Served) -> None:
    answer = served.ask("/broken")
    assert (answer.status, answer.code) == (500, "unexpected")
    assert b"secret" not in answer.body
    assert answer.headers["x-request-id"] in answer.json["detail"]
    assert served.ask().status == 200


# Bind addresses


@pytest.mark.ledger("A13")
def test_a_public_address_is_refused_until_there_is_a_key() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.9"):
        check_bind(host, has_keys=False)
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "", "192.168.1.2", "memory.example.org", "localhost.example.org"):
        with pytest.raises(SettingsError, match="holdfast keys create"):
            check_bind(host, has_keys=False)
        check_bind(host, has_keys=True)
    with pytest.raises(SettingsError, match="--operator acme"):
        check_bind("0.0.0.0", has_keys=False, tenant="acme")


def test_allowed_hosts_must_be_plain_names() -> None:
    for name in ("*", "*.example.org", "https://example.org"):
        with pytest.raises(SettingsError, match="allowed_hosts"):
            Security(Echo(), policy=Policy(allowed_hosts=(name,)), identify=lambda *_: pytest.fail("not asked"))


def test_the_security_policy_is_built_from_the_settings() -> None:
    policy = Policy.of(Settings(allowed_hosts="a.lan, b.lan", rate_limit=5, serve_host="::1", max_body=1_000_000))
    assert (policy.host, policy.allowed_hosts, policy.rate) == ("::1", ("a.lan", "b.lan"), Rate(per_second=5, burst=20))
    assert (policy.limit_of("/v1/x"), policy.limit_of("/chat/audio")) == (1 << 20, 1_000_000)
    default = Policy.of(Settings())
    assert (default.limit_of("/v1/x"), default.limit_of("/chat/audio")) == (1 << 20, 32 << 20)
    assert default.rate == Rate(per_second=50, burst=200)


@pytest.mark.parametrize(
    ("headers", "control"),
    [
        ([(b"Content-Type", b"text/css"), (b"cache-control", b"max-age=60")], b"max-age=60"),
        ([(b"x-kind", b"application/json"), (b"content-type", b"text/html")], b"no-cache"),
        ([(b"x-kind", b"text/html"), (b"content-type", b"application/json"), (b"cache-control", b"max-age=60")], b"no-store"),
        ([(b"etag", b"image/1")], b"no-store"),
    ],
)
def test_only_the_content_type_decides_whether_a_response_may_be_cached(headers: Any, control: bytes) -> None:
    sent = _with_security_headers(headers, "req_1")
    assert [value for name, value in sent if name == b"cache-control"] == [control]
