"""Names of worker processes, and detection of dead workers on this machine.

A killed worker holds its job until the lease expires. If the process is known to be gone, another worker takes over
immediately. If the detection is wrong, only time is lost, because a job's effect is written only by the worker that
holds the lease.
"""

import os
import socket
import sys
import threading
import uuid

_tokens: dict[int, str] = {}
"""Maps a process id to a random token. The token tells apart two processes with the same id.

For example, the main process of a container has id 1 again after each restart.
"""


def worker_name() -> str:
    """Return the name of this thread as a worker: host, process id, process token, thread id."""
    return f"{socket.gethostname()}:{os.getpid()}:{_token()}:{threading.get_ident()}"


def _token() -> str:
    return _tokens.setdefault(os.getpid(), uuid.uuid4().hex[:8])


def is_gone(worker: str | None) -> bool:
    """Return True if a worker ran on this machine and its process no longer exists.

    Return False for workers on other machines.
    """
    host, _, process = (worker or "").rpartition(":")[0].rpartition(":")[0].rpartition(":")
    token = (worker or "").split(":")[-2:-1]
    if host != socket.gethostname() or not process.isdecimal():
        return False
    if int(process) == os.getpid():
        return token != [_token()]
    return not _is_alive(int(process))


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # not possible with the standard library; the lease expires
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
