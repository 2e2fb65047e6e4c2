"""Parts of the server that need no running server: addresses, signals, error responses, and the backup command."""

import os
import signal
import sys
import threading

import pytest

from holdfast.errors import InvalidInput, ModelBusy
from holdfast.server.api.problem import STATUS, problem_of
from holdfast.server.middleware.addresses import AllowedHosts, is_loopback, is_same_origin, split_authority
from holdfast.server.middleware.shutdown import ShutdownFlag
from holdfast.server.routes.admin.backups import _dump


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_these_addresses_are_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "::ffff:10.0.0.1", "localhost.example.org", ""])
def test_these_addresses_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_a_host_header_is_split_into_name_and_port() -> None:
    assert split_authority(" Example.ORG.:8765 ") == ("example.org", 8765)
    assert split_authority("[::1]:80") == ("::1", 80)
    assert split_authority("example.org") == ("example.org", None)
    assert split_authority("exa mple") is None


def test_a_server_accepts_its_own_names_and_loopback() -> None:
    hosts = AllowedHosts("10.0.0.1", ["Memory.example.org"])
    assert [hosts.answers_to(each) for each in ("10.0.0.1:80", "memory.example.org", "localhost:9", "10.0.0.2", "a b", "evil.org")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
    everywhere = AllowedHosts("0.0.0.0")
    assert [everywhere.answers_to(each) for each in ("10.0.0.2", "evil.org")] == [True, False]


@pytest.mark.parametrize(
    ("origins", "same"),
    [
        ((b"http://example.org",), True), ((b"https://example.org",), False), ((b"http://example.org:80",), True),
        ((b"http://example.org:81",), False), ((b"http://evil.org",), False), ((b"null",), False), ((b"http://[",), False),
        ((b"ftp://example.org",), False), ((b"http://example.org/path",), False), ((b"http://example.org?q",), False),
        ((b"http://example.org", b"http://example.org"), False), ((), True),
    ],
)  # fmt: skip
def test_a_page_is_of_the_same_origin_by_name_and_port(origins: tuple[bytes, ...], *, same: bool) -> None:
    headers = {b"origin": list(origins)} if origins else {}
    assert is_same_origin(headers, "example.org:80") is same


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to itself")
def test_a_signal_sets_the_flag_and_still_reaches_the_earlier_handler() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        flag = ShutdownFlag()
        flag.listen()
        assert not flag.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        assert (flag.is_set(), heard) == (True, [signal.SIGTERM])
        flag.restore()
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM] * 2, "the earlier handler is back"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_outside_the_main_thread_no_handler_is_installed() -> None:
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=ShutdownFlag().listen)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("seconds", "header"), [(0.2, "1"), (7.4, "7"), (None, None)])
def test_a_busy_model_says_when_to_try_again(seconds: float | None, header: str | None) -> None:
    problem = problem_of(ModelBusy("The model is busy.", retry_after=seconds))
    assert (problem.headers.get("retry-after"), problem.detail) == (header, "The model is busy.")
    assert problem_of(InvalidInput("no")).headers == {}


@pytest.mark.parametrize(
    ("location", "where"),
    [
        ("postgresql://ana:secret@db:5433/my%20store", "-h db -p 5433 -U ana 'my store'"),
        ("postgresql://db", "-h db holdfast"),
        ("postgresql:///memory?host=/run/pg", "-h /run/pg memory"),
        ("postgresql://db;rm/x", "-h 'db;rm' x"),
    ],
)
def test_the_command_that_backs_up_a_database_has_its_place_but_not_its_password(location: str, where: str) -> None:
    assert _dump(location) == f"pg_dump --format=custom --schema=holdfast --file=holdfast.dump {where}"


@pytest.mark.parametrize(
    "code",
    ["store_busy", "store_closed", "weights_missing", "weights_unavailable", "extra_missing", "key_missing", "model_unavailable",
     "model_busy", "no_chat_model", "no_transcriber"],
)  # fmt: skip
def test_what_may_work_later_or_after_a_setup_is_answered_with_503(code: str) -> None:
    assert STATUS[code] == 503
