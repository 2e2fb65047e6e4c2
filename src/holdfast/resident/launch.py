"""Start the resident process in the background, and connect to it."""

import json
import os
import sys
import time
from typing import Any

from holdfast.resident.endpoint import Endpoint, EndpointUnsafe, StoreOptions, connect, prepare_folder
from holdfast.resident.wire import Wire

_POLL_SECONDS = 0.02


def start(options: StoreOptions, endpoint: Endpoint, *, request: dict[str, Any] | None = None) -> bool:
    """Start the resident process without waiting for it. Return False if that is not possible.

    The new process carries out the ``request``. If another resident process is already running, the new process passes the
    request to it and ends. The request goes through a pipe, so it is not written to disk.
    """
    import subprocess  # noqa: PLC0415  (slow to import, and only needed if nothing is running)

    try:
        prepare_folder(endpoint)
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast.resident", *options.arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=endpoint.folder,
            **_detached(),
        )
        assert process.stdin is not None
        with process.stdin as pipe:
            if request is not None:
                pipe.write(json.dumps(request).encode("ascii") + b"\n")
    except (OSError, EndpointUnsafe):
        return False
    process.returncode = 0  # it outlives this program: do not warn about it
    return True


def _detached() -> dict[str, Any]:
    """Return the arguments for starting a detached process, which keeps running when this process is stopped."""
    if os.name == "nt":
        return {"creationflags": 0x00000008 | 0x00000200 | 0x08000000}  # detached, new process group, no window
    return {"start_new_session": True}


def connect_or_start(options: StoreOptions, endpoint: Endpoint, *, wait: float, timeout: float) -> Wire | None:
    """Connect to the resident process. If none is running, start one and wait until it listens.

    Return None if no process can be started, or if the new process does not listen within ``wait`` seconds. ``timeout`` is
    the time limit of the connection, in seconds.
    """
    wire = connect(endpoint, timeout=timeout)
    if wire is not None or not start(options, endpoint):
        return wire
    until = time.monotonic() + wait
    while time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
        wire = connect(endpoint, timeout=timeout)
        if wire is not None:
            return wire
    return None
