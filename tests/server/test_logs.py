"""The lines of the server's log: their fields, and what they leave out."""

import json
import logging
import sys
from typing import Any

import pytest

from holdfast.server.middleware.logs import LineFormatter, log_config, path_words

WORDS = path_words(["/v1/topics/{topic}", "/v1/users/{user}/export", "/health"])
MEMORY_ID = "mem_01kjmmabcdefghjkmnpqrstvwx"


def record(
    name: str = "holdfast", message: str = "ready", *args: object, error: BaseException | None = None
) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord(name, logging.WARNING, "file.py", 7, message, args, info)
    made.created = 1_767_225_600.25  # 2026-01-01T00:00:00.250Z
    return made


def request(path: str, *, plain: bool = False) -> str:
    line = record("uvicorn.access", "%s %s %s %s %d", "10.0.0.7:5123", "GET", path, "1.1", 200)
    return LineFormatter(plain=plain, words=WORDS).format(line)


def raised(depth: int = 1) -> ValueError:
    def fail(left: int) -> None:
        if left:
            fail(left - 1)
        raise ValueError("the user lives in Zarzalejo")

    try:
        fail(depth)
    except ValueError as error:
        return error
    raise AssertionError


def test_a_line_is_json_with_its_time_level_logger_and_process() -> None:
    line = json.loads(LineFormatter().format(record("holdfast.server", "listening on %d", 8765)))
    assert (line["time"], line["level"], line["logger"]) == ("2026-01-01T00:00:00.250+00:00", "warning", "holdfast.server")
    assert (line["message"], line["process"]) == ("listening on 8765", record().process)
    assert "ñ" in LineFormatter().format(record(message="ñ"))


def test_a_request_is_logged_without_query_port_and_names() -> None:
    line = json.loads(request("/v1/topics/my%20divorce?q=zarzalejo"))
    assert (line["client"], line["method"], line["path"], line["status"]) == ("10.0.0.7", "GET", "/v1/topics/*", 200)
    assert json.loads(request("/v1/users/ana/export"))["path"] == "/v1/users/*/export"
    assert json.loads(request(f"/v1/{MEMORY_ID}"))["path"] == f"/v1/{MEMORY_ID}", "an id of the server tells nothing"
    assert json.loads(request(f"/v1/{MEMORY_ID}x"))["path"] == "/v1/*"
    assert json.loads(request("/health"))["path"] == "/health"
    assert json.loads(request("/"))["path"] == "/"


def test_an_access_record_of_another_form_is_logged_without_its_values() -> None:
    line = LineFormatter().format(record("uvicorn.access", "zarzalejo"))
    assert json.loads(line)["message"] == "request"
    assert "zarzalejo" not in line


def test_an_error_is_logged_with_its_type_and_place_but_without_its_text() -> None:
    line = LineFormatter().format(record(error=raised()))
    fields = json.loads(line)
    assert (fields["error"], "Zarzalejo" in line) == ("ValueError", False)
    assert fields["at"][-1].endswith(" fail")
    assert __file__ in fields["at"][-1]
    assert len(json.loads(LineFormatter().format(record(error=raised(20))))["at"]) == 6, "the last six frames"
    assert "Zarzalejo" in LineFormatter(traces=True).format(record(error=raised())), "with debugging, the traceback is logged"
    assert "error" not in json.loads(LineFormatter().format(record()))


def test_a_terminal_gets_short_lines() -> None:
    plain = LineFormatter(plain=True)
    assert plain.format(record(message="ready")) == "00:00:00.250 warning: ready"
    assert request("/v1/topics/x", plain=True) == "00:00:00.250 GET /v1/topics/* 200"
    with_error = plain.format(record(message="failed", error=raised()))
    assert with_error.startswith("00:00:00.250 warning: failed (ValueError at ")
    assert with_error.endswith(" fail)")


def test_a_log_may_contain_only_these_fixed_parts_of_paths() -> None:
    assert {"v1", "topics", "users", "export", "health"} == WORDS


@pytest.mark.parametrize(("debug", "level"), [(False, "INFO"), (True, "DEBUG")])
def test_the_configuration_logs_to_stderr_with_tracebacks_only_for_debugging(*, debug: bool, level: str) -> None:
    config = log_config(debug=debug, plain=False, words={"b", "a"})
    assert config["formatters"]["lines"] == {"()": LineFormatter, "plain": False, "traces": debug, "words": ["a", "b"]}
    loggers: dict[str, Any] = config["loggers"]
    assert {"uvicorn.access", "uvicorn.error", "holdfast", "holdfast.server"} <= set(loggers)
    assert all(each == {"handlers": ["stderr"], "level": level, "propagate": False} for each in loggers.values())
    assert config["handlers"]["stderr"]["stream"] == "ext://sys.stderr"
    assert config["disable_existing_loggers"] is False
    assert log_config(plain=None)["formatters"]["lines"]["plain"] == sys.stderr.isatty()
