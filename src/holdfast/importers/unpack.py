"""Unpack a zip archive of a folder, such as an Obsidian vault, for the time of an import."""

import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import InvalidInput, NotFound
from holdfast.runtime.private_folders import private_folder
from holdfast.types.translatable import translatable

MAX_UNPACKED_BYTES = 1 << 30
"""Maximum total size of the unpacked files of an archive, in bytes."""


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """Context manager: unpack an archive into a temporary folder, and yield the folder. Files keep their dates.

    If the archive contains only one folder or one file, the path of that folder or file is yielded. Errors name the archive,
    not the temporary folder.
    """
    with private_folder() as folder:
        try:
            _extract(archive, folder)
            yield _inner(folder)
        except (InvalidInput, NotFound) as error:
            said = str(error).replace(str(_inner(folder)), str(archive)).replace(str(folder), str(archive))
            raise type(error)(said) from error


def _extract(archive: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as packed:
            if sum(each.file_size for each in packed.infolist()) > MAX_UNPACKED_BYTES:
                raise InvalidInput(
                    translatable(
                        "import.large",
                        "{archive} is larger than 1 GB when unpacked. Nothing was imported. Unpack it first.",
                        archive=str(archive),
                    )
                )
            for each in packed.infolist():
                if each.filename.startswith("__MACOSX/"):
                    continue
                target = packed.extract(each, folder)
                _set_date(target, each)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as error:  # a password raises RuntimeError
        raise InvalidInput(
            translatable(
                "import.packed",
                "{archive} cannot be unpacked: {error}. Nothing was imported.",
                archive=str(archive),
                error=str(error),
            )
        ) from error


def _set_date(target: str, each: zipfile.ZipInfo) -> None:
    try:
        at = time.mktime((*each.date_time, 0, 0, -1))
        os.utime(target, (at, at))
    except (OverflowError, ValueError):  # an archive can contain any date
        pass


def _inner(folder: Path) -> Path:
    inside = sorted(folder.iterdir())
    return inside[0] if len(inside) == 1 and not inside[0].name.startswith(".") else folder
