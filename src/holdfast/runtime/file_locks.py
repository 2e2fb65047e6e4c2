"""Lock a file. The operating system releases the lock even if the process is killed."""

import os
from pathlib import Path
from typing import IO


def lock_file(path: str | Path) -> IO[bytes] | None:
    """Lock a file and return it. Return None if another process holds the lock. A missing file is created.

    The lock is released when the returned file is closed or the process ends.
    """
    file = open(path, "ab")  # noqa: PTH123, SIM115
    try:
        if os.name == "nt":
            import msvcrt  # noqa: PLC0415  (Windows only)

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl  # noqa: PLC0415  (not on Windows)

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
