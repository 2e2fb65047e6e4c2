"""Check the hash of weights when they are loaded.

Hashing takes a while. After a file has passed the check, its inode, size and modification time are recorded. The file is
hashed again only if one of them changes.
"""

import contextlib
import hashlib
from pathlib import Path
from uuid import uuid4

from holdfast.errors import WeightsCorrupt
from holdfast.models.local import packaged
from holdfast.models.local.registry import PackagedSpec, Spec, Weight
from holdfast.models.local.weights import damaged, locate

_verified: dict[Path, str] = {}
"""Maps each file that passed the check in this process to its stamp: inode, size and modification time.

It is needed for files without a record of the check on disk, such as files in a read-only folder.
"""


def locate_verified(spec: Spec, directory: Path) -> dict[str, Path]:
    """Return the same paths as :func:`weights.locate`. Raise ``WeightsCorrupt`` if a file does not match its hash.

    A small file next to a downloaded file records the last check. The downloaded file is hashed again only if it has
    changed since then. There is no such record for the files of installed packages, so each process hashes them once.
    """
    if isinstance(spec, PackagedSpec):
        return locate_verified_package(spec)
    paths = locate(spec, directory)
    for weight in spec.files:
        path = paths[weight.filename]
        record = path.with_name(f".{path.name}.verified") if packaged.included_path(weight) is None else None
        if not _passes(weight, path, record):
            raise WeightsCorrupt(damaged(spec, path))
    return paths


def locate_verified_package(spec: PackagedSpec) -> dict[str, Path]:
    """Return the paths of weights that an extra of Holdfast installed.

    Raise ``WeightsCorrupt`` if a file does not match its hash. Each process hashes the files once: the result of the check
    is not stored on disk.
    """
    paths = packaged.locate(spec)
    for weight in spec.files:
        if not _passes(weight, paths[weight.filename], None):
            raise WeightsCorrupt(packaged.damaged(spec, paths[weight.filename]))
    return paths


def _passes(weight: Weight, path: Path, record: Path | None) -> bool:
    stamp = _stamp(path)
    if _verified.get(path) == stamp or (record is not None and _recorded(record) == stamp):
        return True
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != weight.sha256:
            return False
    if _stamp(path) == stamp:  # it was not replaced meanwhile
        _verified[path] = stamp
        if record is not None:
            _write(record, stamp)
    return True


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def _recorded(record: Path) -> str | None:
    try:
        return record.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return None


def _write(record: Path, stamp: str) -> None:
    """Write ``stamp`` to the file ``record`` atomically. The file shows that a weights file has passed the check.

    In a read-only folder, no record is written, and the next process hashes the weights file again.
    """
    part = record.with_name(f".{record.name}.{uuid4().hex}.part")
    with contextlib.suppress(OSError):
        try:
            part.write_text(stamp, "ascii")
            part.replace(record)
        finally:
            part.unlink(missing_ok=True)
