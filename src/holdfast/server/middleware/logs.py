"""The server's log: one JSON object per line, or plain text on a terminal.

At the default level, the log contains no texts of users and no memories. An error is logged with its type and location,
and a request with its path but without its query string. Names in a path, such as those of users and topics, are masked, so
that the log does not keep them after an erasure.
"""

import json
import logging
import re
import sys
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

_LOGGERS = ("uvicorn.access", "uvicorn.error", "uvicorn", "holdfast", "holdfast.server")
_ID = re.compile(r"[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}")
_MAX_FRAMES = 6
"""Maximum number of traceback frames in a log line."""


class LineFormatter(logging.Formatter):
    """Formats a log record as one line."""

    def __init__(self, *, plain: bool = False, traces: bool = False, words: Collection[str] = ()) -> None:
        super().__init__()
        self._plain = plain
        self._words = frozenset(words)
        self._traces = traces

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as one line, followed by the traceback of its error if tracebacks are enabled."""
        fields: dict[str, Any] = (
            _request(record, self._words) if record.name == "uvicorn.access" else {"message": record.getMessage()}
        )
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = type(record.exc_info[1]).__name__
            fields["at"] = _frames(record.exc_info[1])
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        whole = {"time": moment, "level": record.levelname.lower(), "logger": record.name, "process": record.process, **fields}
        line = _plain_text(whole) if self._plain else json.dumps(whole, ensure_ascii=False)
        return f"{line}\n{self.formatException(record.exc_info)}" if self._traces and record.exc_info else line


def log_config(*, debug: bool = False, plain: bool | None = None, words: Collection[str] = ()) -> dict[str, Any]:
    """Return the logging configuration. ``debug`` adds debug messages and tracebacks, which can contain users' texts.

    ``plain`` selects readable text instead of JSON. By default, text is used if standard error is a terminal. ``words`` are
    the fixed parts of the server's paths (see :func:`path_words`). Other parts of a path are masked, unless they are ids.
    """
    as_text = sys.stderr.isatty() if plain is None else plain
    level = "DEBUG" if debug else "INFO"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": LineFormatter, "plain": as_text, "traces": debug, "words": sorted(words)}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": {name: {"handlers": ["stderr"], "level": level, "propagate": False} for name in _LOGGERS},
    }


def path_words(paths: Iterable[str]) -> set[str]:
    """Return the fixed parts of the paths of routes. For ``/v1/topics/{topic}``, these are ``v1`` and ``topics``."""
    return {part for path in paths for part in path.split("/") if part and "{" not in part}


def _masked(path: str, words: Collection[str]) -> str:
    """Mask the parts of a path that may be names. The fixed parts of routes, and ids that the server generated, stay readable."""
    return "/".join(part if not part or part in words or _ID.fullmatch(part) else "*" for part in path.split("/"))


def _request(record: logging.LogRecord, words: Collection[str]) -> dict[str, Any]:
    """Return the fields of an access log record. Uvicorn passes client, method, path, HTTP version and status."""
    arguments = record.args if isinstance(record.args, tuple) else ()
    if len(arguments) != 5:
        return {"message": "request"}
    client, method, address, _, status = arguments
    path = _masked(str(address).partition("?")[0], words)
    return {"message": "request", "client": str(client).rpartition(":")[0], "method": method, "path": path, "status": status}


def _frames(error: BaseException) -> list[str]:
    """Return the last frames of an error's traceback. The frame that raised the error comes last."""
    trace, found = error.__traceback__, []
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return found[-_MAX_FRAMES:]


def _plain_text(fields: dict[str, Any]) -> str:
    moment, level = str(fields.pop("time"))[11:23], str(fields.pop("level"))
    fields.pop("logger")
    fields.pop("process")
    message = fields.pop("message")
    if message == "request":
        return f"{moment} {fields['method']} {fields['path']} {fields['status']}"
    tail = f" ({fields['error']} at {fields['at'][-1]})" if fields.get("at") else ""
    return f"{moment} {level}: {message}{tail}"
