"""The ``holdfast hook`` command: pass an event of a coding agent to the resident process, and print its answer.

A hook must never stop its client, so it always exits with 0. It prints nothing if the resident process is not ready in
time. If no resident process is running, the hook starts one, which then handles the event.
"""

import json
import sys
import time
from typing import Any, Final

from holdfast.config import environment
from holdfast.resident.arguments import Arguments, parse
from holdfast.resident.endpoint import connect, endpoint_for
from holdfast.resident.launch import connect_or_start, start

EVENTS: Final = ("session-start", "prompt", "reply", "stop", "session-end")
_WAIT_SECONDS: Final = {"session-start": 2.0, "prompt": 1.0}
"""Maximum seconds to wait for a resident process that is starting. Events that are not listed do not wait."""
_ANSWER_SECONDS: Final = 2.0
"""Maximum seconds to wait for an answer of a running process."""
_MAX_INPUT_BYTES: Final = 32 * 1024 * 1024


def main(words: list[str]) -> bool:
    """Run a hook and return True. Run nothing and return False if the arguments are invalid or name no known event.

    If the result is False, the caller passes the arguments to the complete command line, which explains errors.
    """
    arguments = parse(words)
    if arguments is None or len(arguments.positional) != 1 or arguments.positional[0] not in EVENTS:
        return False
    run(arguments)
    return True


def run(arguments: Arguments) -> None:
    """Read an event from standard input, send it to the resident process, and print the answer."""
    try:
        payload = json.loads(sys.stdin.buffer.read(_MAX_INPUT_BYTES) or b"{}")
        if "env-file" in arguments.values:
            environment.load_file(arguments.values["env-file"])
        environment.resolve_paths()
        answer = exchange(arguments, payload if isinstance(payload, dict) else {})
        output = answer.get("output") if answer else None
        if isinstance(output, str) and output:
            sys.stdout.buffer.write(output.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()
    except Exception as error:  # noqa: BLE001  (the edge: a hook must not stop its client)
        sys.stderr.write(f"holdfast hook: {type(error).__name__}\n")


def exchange(arguments: Arguments, payload: dict[str, Any]) -> dict[str, Any] | None:
    """Send an event to the resident process and return the answer. Return None if there is no answer in time.

    ``payload`` is the data that the coding agent sent to the hook. If no resident process is running, start one. For the
    events ``session-start`` and ``prompt``, wait until the new process listens, then send the event to it. For other events,
    do not wait.

    If there is no answer, the event is not lost: the running process or a new process handles it later.
    """
    event = arguments.positional[0]
    request = {
        "op": "hook",
        "event": event,
        "client": arguments.values.get("client", "claude-code"),
        "payload": payload,
        "scope": arguments.scope,
    }
    options = arguments.options
    endpoint = endpoint_for(options)
    wait = float(arguments.values.get("wait", _WAIT_SECONDS.get(event, 0.0)))
    until = time.monotonic() + wait + _ANSWER_SECONDS
    wire = connect(endpoint, timeout=_ANSWER_SECONDS)
    if wire is None and event in ("session-start", "prompt") and wait > 0:
        wire = connect_or_start(options, endpoint, wait=wait, timeout=_ANSWER_SECONDS)
        until = time.monotonic() + wait
    if wire is None:
        start(options, endpoint, request=request)
        return None
    wire.connection.settimeout(max(until - time.monotonic(), 0.05))
    wire.send(request)
    try:
        answer = wire.receive()
    except TimeoutError:  # the process carries the request out anyway
        return None
    except OSError:
        answer = None
    finally:
        wire.close()
    if answer is None:  # the process ended before it answered
        start(options, endpoint, request=request)
    return answer
