"""Who does background work: a name for this process, and whether another of this machine is gone.

A worker that was killed holds its job until the lease ends. Where it can be told that it is gone, nobody needs to
wait that long. A wrong guess costs nothing but time: a job's effect belongs to whoever holds its lease.
"""

import os
import socket
import sys
import threading
import uuid

_lives: dict[int, str] = {}
"""A word for this process's life, by its number: after a restart in a container, another may have the same number."""


def worker_name() -> str:
    """Return this thread's name as a worker: host, process, its life, thread."""
    return f"{socket.gethostname()}:{os.getpid()}:{_life()}:{threading.get_ident()}"


def _life() -> str:
    return _lives.setdefault(os.getpid(), uuid.uuid4().hex[:8])


def is_gone(worker: str | None) -> bool:
    """Tell whether a worker lived on this machine and is no more; of others, nothing can be told."""
    host, _, rest = (worker or "").rpartition(":")[0].rpartition(":")[0].rpartition(":")
    life = (worker or "").split(":")[-2:-1]
    if host != socket.gethostname() or not rest.isdecimal():
        return False
    if int(rest) == os.getpid():
        return life != [_life()]
    return not _is_alive(int(rest))


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # asking there takes more than the standard library; the lease ends soon enough
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
