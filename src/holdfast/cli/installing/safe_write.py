"""Replace another program's file atomically, and keep a copy of the old file."""

import os
import secrets
import shutil
from datetime import UTC, datetime
from itertools import count
from pathlib import Path


def replace_file(path: Path, content: bytes) -> Path | None:
    """Replace a file's content atomically and keep its permissions. Return the path of the backup, or None if the file is new.

    A symbolic link stays a link: its target is replaced.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    backup = _backed_up(path, target) if target.exists() else None
    fresh = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        with fresh.open("xb") as file:
            if backup is not None:
                shutil.copymode(target, fresh)  # before it has content
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return backup


def _backed_up(path: Path, target: Path) -> Path:
    """Back up a file in the folder of ``path``, under an unused name. Return the path of the backup.

    ``target`` is the file to copy. It differs from ``path`` if ``path`` is a symbolic link.
    """
    now = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    names = (f"{path.name}.{now}{f'-{number}' if number else ''}.bak" for number in count())
    backup = next(free for free in map(path.with_name, names) if not free.exists())
    shutil.copy2(target, backup)
    return backup
