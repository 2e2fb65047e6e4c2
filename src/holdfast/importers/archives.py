"""Find and open files by name. They may be in a folder, in a zip archive, or given directly."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from holdfast.errors import InvalidInput
from holdfast.types.translatable import translatable


def names_in(path: Path) -> list[str]:
    """Return the names of the files in a zip archive or directly in a folder. For another file, return its own name."""
    if path.is_dir():
        return sorted(each.name for each in path.iterdir() if each.is_file())
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return sorted(name for name in archive.namelist() if not name.endswith("/"))
    return [path.name]


def find_files(path: Path, fits: Callable[[str], bool]) -> list[str]:
    """Return the names of the files in an archive or folder for which ``fits(name)`` is true. ``fits`` gets names without folders."""
    return [name for name in names_in(path) if fits(PurePosixPath(name).name)]


def json_files_under(path: Path, folder: str) -> list[str]:
    """Return the names of the JSON files in the subfolder ``folder`` of ``path``, which is an archive or a folder."""
    if path.is_dir():
        return sorted(each.relative_to(path).as_posix() for each in (path / folder).glob("*.json") if each.is_file())
    return [name for name in names_in(path) if name.endswith(".json") and PurePosixPath(name).parent.name == folder]


@contextmanager
def opened(path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a file that :func:`names_in` has listed."""
    if path.is_dir():
        with (path / name).open("rb") as file:
            yield file
    elif path.name == name and not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            yield file
    else:
        try:
            with zipfile.ZipFile(path) as archive, archive.open(name) as file:
                yield file
        except (zipfile.BadZipFile, RuntimeError, KeyError) as error:  # a password raises RuntimeError
            raise InvalidInput(
                translatable(
                    "import.unreadable",
                    "{file}: {part} cannot be read: {error}. Nothing was imported.",
                    file=str(path),
                    part=name,
                    error=str(error),
                )
            ) from error
