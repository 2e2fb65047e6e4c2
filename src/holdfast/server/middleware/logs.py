"""The server's log: one line of JSON for each thing worth telling, or plain words on a terminal.

Nothing that a user said or that is remembered stands in it at the default level: of an error it has the sort and the
place, and of a request the path without its query.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

_QUIET = ("uvicorn.access", "uvicorn.error", "uvicorn", "holdfast", "holdfast.server")
_PLACES = 6


class LineFormatter(logging.Formatter):
    """Writes a record as one line."""

    def __init__(self, *, plain: bool = False, traces: bool = False) -> None:
        super().__init__()
        self._plain = plain
        self._traces = traces

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        told: dict[str, Any] = _request(record) if record.name == "uvicorn.access" else {"message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            told["error"] = type(record.exc_info[1]).__name__
            told["at"] = _places(record.exc_info[1])
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        whole = {"time": moment, "level": record.levelname.lower(), "logger": record.name, "process": record.process, **told}
        line = _words(whole) if self._plain else json.dumps(whole, ensure_ascii=False)
        return f"{line}\n{self.formatException(record.exc_info)}" if self._traces and record.exc_info else line


def log_config(*, debug: bool = False, plain: bool | None = None) -> dict[str, Any]:
    """Return the configuration of logging; ``debug`` shows all there is, tracebacks with their words among it."""
    words = sys.stderr.isatty() if plain is None else plain
    level = "DEBUG" if debug else "INFO"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": LineFormatter, "plain": words, "traces": debug}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": {name: {"handlers": ["stderr"], "level": level, "propagate": False} for name in _QUIET},
    }


def _request(record: logging.LogRecord) -> dict[str, Any]:
    """Return what a request's record tells; uvicorn gives client, method, address, version and status."""
    arguments = record.args if isinstance(record.args, tuple) else ()
    if len(arguments) != 5:
        return {"message": "request"}
    client, method, address, _, status = arguments
    path = str(address).partition("?")[0]
    return {"message": "request", "client": str(client).rpartition(":")[0], "method": method, "path": path, "status": status}


def _places(error: BaseException) -> list[str]:
    """Return where an error came by, the innermost last."""
    trace, found = error.__traceback__, []
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return found[-_PLACES:]


def _words(told: dict[str, Any]) -> str:
    moment, level = str(told.pop("time"))[11:23], str(told.pop("level"))
    told.pop("logger")
    told.pop("process")
    message = told.pop("message")
    if message == "request":
        return f"{moment} {told['method']} {told['path']} {told['status']}"
    tail = f" ({told['error']} at {told['at'][-1]})" if told.get("at") else ""
    return f"{moment} {level}: {message}{tail}"
