"""Downloads model weights, verifies them, and finds them on disk.

A file is stored at ``<directory>/<sha256>/<filename>``, so models that share a file store it once. A downloaded file is
moved there atomically after its size and SHA-256 have been verified. Therefore a partial or wrong download is never
used, and processes that download at the same time do not disturb each other. :func:`locate` checks only sizes. Loading
also checks the hashes of changed files (see ``integrity.py``). :func:`verify` reads and hashes every byte.
"""

import hashlib
import http.client
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Final, TypeAlias
from uuid import uuid4

from holdfast.errors import WeightsCorrupt, WeightsMissing, WeightsUnavailable
from holdfast.models.local import packaged
from holdfast.models.local.registry import Carrier, HubFile, PackagedSpec, Spec, Weight, WheelMember, WheelParts
from holdfast.types.translatable import translatable

__all__ = ["Progress", "Pulled", "damaged", "locate", "path_of", "pull", "verify"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Function called with a label, the number of bytes so far, and the total number of bytes."""

_Chunks: TypeAlias = Generator[bytes, None, None]

_HUB: Final = "https://huggingface.co"
_HUB_TIMEOUT: Final = 30.0
"""Maximum time to wait for the model hub, in seconds."""
_CHUNK: Final = 1 << 18
"""Number of bytes per read."""
_ABANDONED_AFTER: Final = 24 * 3600
"""Number of seconds without a change after which a partial file counts as abandoned."""
_PROGRESS_LINE: Final = re.compile(r"Progress (\d+) of (\d+)")
_PROGRESS_SINCE: Final = (24, 1)
"""First pip release with machine-readable progress output."""
_BROKEN_ARCHIVE: Final = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError)
"""Exceptions that a damaged or wrong archive raises.

``RuntimeError`` means that the archive is encrypted or that its compression is not supported.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """A weights file on disk, and the carrier (wheel or hub) that it came from."""

    filename: str
    path: Path
    carrier: str


def path_of(weight: Weight, directory: Path) -> Path:
    """Return the path of a weights file, whether or not it exists."""
    return packaged.included_path(weight) or directory / weight.sha256 / weight.filename


def locate(spec: Spec, directory: Path) -> dict[str, Path]:
    """Return a dictionary of a model's file names and paths. Raise an error if a file is missing or has the wrong size."""
    if isinstance(spec, PackagedSpec):
        return packaged.locate(spec)
    paths = {weight.filename: path_of(weight, directory) for weight in spec.files}
    for weight in spec.files:
        path = paths[weight.filename]
        if not path.is_file() and packaged.included_path(weight):
            raise WeightsCorrupt(damaged(spec, path))
        if not path.is_file():
            message = translatable(
                "weights.missing",
                "The weights of {name} are not on this machine ({path} is missing). "
                "Download them with `holdfast models pull {name}`.",
                name=spec.name,
                path=str(path),
            )
            raise WeightsMissing(message)
        if path.stat().st_size != weight.size:
            raise WeightsCorrupt(damaged(spec, path))
    return paths


def verify(spec: Spec, directory: Path) -> dict[str, Path]:
    """Return the same paths as :func:`locate`. Raise ``WeightsCorrupt`` if a file has the wrong hash."""
    paths = locate(spec, directory)
    for weight in spec.files:
        if not _is_intact(weight, paths[weight.filename]):
            path = paths[weight.filename]
            raise WeightsCorrupt(packaged.damaged(spec, path) if isinstance(spec, PackagedSpec) else damaged(spec, path))
    return paths


def pull(spec: Spec, directory: Path, *, source: Path | None = None, progress: Progress | None = None) -> tuple[Pulled, ...]:
    """Download the files of a model that are missing or damaged. Return the path of each file and the carrier it came from.

    A carrier is a place that offers a file: a wheel, or a file on a model hub. The carriers in the registry are tried
    in order. If ``source`` is given, files are taken from this folder of files or wheels, and the network is not used.
    Nothing is downloaded for a model that an extra of Holdfast has installed.
    """
    if isinstance(spec, PackagedSpec):
        return tuple(Pulled(filename=name, path=path, carrier="already there") for name, path in packaged.locate(spec).items())
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-", ignore_cleanup_errors=True) as scratch:
            carriers = _Carriers(scratch=Path(scratch), source=source, report=progress or _ignore_progress)
            return tuple(_pull_one(spec, weight, directory, carriers) for weight in spec.files)
    except OSError as error:  # errors of carriers were handled above, so this one comes from the disk
        message = f"The weights of {spec.name} cannot be written to {directory}: {error}"
        raise WeightsUnavailable(message) from error


def _pull_one(spec: Spec, weight: Weight, directory: Path, carriers: "_Carriers") -> Pulled:
    final = path_of(weight, directory)
    if _is_intact(weight, final):
        return Pulled(filename=weight.filename, path=final, carrier="already there")
    if packaged.included_path(weight):
        raise WeightsCorrupt(damaged(spec, final))
    final.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(final.parent)
    refused: list[str] = []
    failed: list[str] = []
    for carrier, chunks in carriers.offers(weight):
        try:
            with closing(chunks):
                _store(weight, chunks, final, carriers.report)
        except WeightsCorrupt as error:
            refused.append(f"{carrier}: {error}")
        except WeightsUnavailable as error:
            failed.append(f"{carrier}: {error}")
        else:
            return Pulled(filename=weight.filename, path=final, carrier=carrier)
    reasons = "; ".join([*refused, *failed]) or f"{carriers.source} contains neither the file nor a wheel with it"
    if refused:
        message = f"{weight.filename} of {spec.name} failed verification and was not stored: {reasons}"
        raise WeightsCorrupt(message)
    raise WeightsUnavailable(_unavailable(spec, weight, reasons))


def _store(weight: Weight, chunks: Iterable[bytes], final: Path, report: Progress) -> None:
    """Write the chunks of a weights file to a temporary file. Move it to ``final`` only if its size and hash are right."""
    part = final.with_name(f".{weight.filename}.{uuid4().hex}.part")
    digest, size = hashlib.sha256(), 0
    try:
        with part.open("xb") as out:
            for chunk in chunks:
                size += len(chunk)
                if size > weight.size:
                    break
                digest.update(chunk)
                out.write(chunk)
                report(weight.filename, size, weight.size)
            if size != weight.size or digest.hexdigest() != weight.sha256:
                message = f"the content does not have the SHA-256 {weight.sha256}"
                raise WeightsCorrupt(message)
            out.flush()
            os.fsync(out.fileno())
        _put_in_place(weight, part, final)
    finally:
        part.unlink(missing_ok=True)


def _put_in_place(weight: Weight, part: Path, final: Path) -> None:
    try:
        part.replace(final)
    except PermissionError:
        # Windows cannot replace a file that another process has open. If that file is intact, keep it.
        if not _is_intact(weight, final):
            raise
    if sys.platform != "win32":
        folder = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_intact(weight: Weight, path: Path) -> bool:
    if not path.is_file() or path.stat().st_size != weight.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weight.sha256


def _remove_abandoned(folder: Path) -> None:
    """Remove partial files that killed processes left behind.

    A file that changed recently is kept, because it may belong to a running process.
    """
    for part in folder.glob(".*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_AFTER:
                part.unlink()


def _ignore_progress(_label: str, _done: int, _total: int) -> None:
    """Ignore progress reports."""


def damaged(spec: Spec, path: Path) -> str:
    """Return the error message for a file whose content does not match the registry."""
    if any(packaged.included_path(weight) for weight in spec.files):
        return translatable(
            "weights.reinstall",
            "{path} is missing or damaged. Reinstall Holdfast's models: pip install --force-reinstall --no-deps holdfast-models",
            path=str(path),
        )
    template = "{path} is damaged. Replace it with `holdfast models pull {name}`."
    return translatable("weights.damaged", template, path=str(path), name=spec.name)


def _unavailable(spec: Spec, weight: Weight, reasons: str) -> str:
    wheels = [str(carrier) for carrier in weight.carriers if not isinstance(carrier, HubFile)]
    return (
        f"{weight.filename} of {spec.name} could not be downloaded ({reasons}). "
        f"With a network connection, run `holdfast models pull {spec.name}`. Without one, copy the file with SHA-256 "
        f"{weight.sha256}, or {' or '.join(wheels) or 'an archive with it'}, into a folder "
        f"and run `holdfast models pull {spec.name} --from FOLDER`."
    )


@dataclass(slots=True, kw_only=True)
class _Carriers:
    """The sources of weights files during one pull. A wheel that contains two files is downloaded only once."""

    scratch: Path
    source: Path | None
    report: Progress
    wheels: dict[str, Path] = field(default_factory=dict)

    def offers(self, weight: Weight) -> Iterator[tuple[str, _Chunks]]:
        """Yield the possible sources of a file, best first. Each source is a pair: its description, and the chunks of the file.

        If the folder ``source`` is set, the sources are files and wheels in this folder. If the folder is not set, the
        sources are the carriers of the file. A carrier is downloaded only when its chunks are read.
        """
        if self.source is not None:
            yield from _in_folder(weight, self.source)
            return
        for carrier in weight.carriers:
            yield str(carrier), self._from_carrier(carrier)

    def _from_carrier(self, carrier: Carrier) -> _Chunks:
        match carrier:
            case HubFile():
                yield from _from_hub(carrier)
            case WheelMember():
                yield from self._from_index(carrier)
            case WheelParts(members=members):
                for member in members:
                    yield from self._from_index(member)
                    self._drop(member)

    def _from_index(self, member: WheelMember) -> _Chunks:
        requirement = f"{member.project}=={member.version}"
        if requirement not in self.wheels:
            self.wheels[requirement] = _download_wheel(member, self.scratch, self.report)
        yield from _from_wheel(self.wheels[requirement], member)

    def _drop(self, part: WheelMember) -> None:
        """Delete the wheel that carried one part of a model file, once that part has been read.

        All wheels together are as large as the model, so this saves disk space.
        """
        self.wheels.pop(f"{part.project}=={part.version}").unlink(missing_ok=True)


def _in_folder(weight: Weight, folder: Path) -> Iterator[tuple[str, _Chunks]]:
    """Yield possible sources of a weights file in a folder: first files, then wheels.

    Each source is a pair: its description, and the chunks of the weights file. The files are those with the expected size or,
    if there are none, those with an expected name.
    """
    whole = [carrier for carrier in weight.carriers if not isinstance(carrier, WheelParts)]
    names = {weight.filename, *(PurePosixPath(carrier.path).name for carrier in whole)}
    try:
        sizes = {path: path.stat().st_size for path in sorted(folder.glob("*")) if path.is_file()}
    except OSError as error:
        raise WeightsUnavailable(f"{folder} cannot be read: {error}") from error
    likely = [path for path, size in sizes.items() if size == weight.size]
    for path in likely or [path for path in sizes if path.name in names]:
        yield str(path), _from_file(path)
    for carrier in weight.carriers:
        if isinstance(carrier, WheelMember):
            for path in _wheels_of(carrier, folder):
                yield str(path), _from_wheel(path, carrier)
        elif isinstance(carrier, WheelParts) and _wheels_of(carrier.members[0], folder):
            yield f"{carrier} in {folder}", _joined(carrier, folder)


def _joined(parts: WheelParts, folder: Path) -> _Chunks:
    for member in parts.members:
        found = _wheels_of(member, folder)
        if not found:
            raise WeightsUnavailable(f"{member} is missing in {folder}")
        yield from _from_wheel(found[0], member)


def _wheels_of(member: WheelMember, folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{member.project.replace('-', '_')}-{member.version}-*.whl"))


def _from_file(path: Path) -> _Chunks:
    try:
        with path.open("rb") as file:
            yield from _chunks(file)
    except OSError as error:
        raise WeightsUnavailable(str(error)) from error


def _from_wheel(path: Path, member: WheelMember) -> _Chunks:
    try:
        with zipfile.ZipFile(path) as wheel, wheel.open(member.path) as file:
            yield from _with_plain_line_ends(_chunks(file)) if member.crlf else _chunks(file)
    except _BROKEN_ARCHIVE as error:
        raise WeightsCorrupt(f"not a valid wheel with this file: {error}") from error
    except OSError as error:
        raise WeightsUnavailable(str(error)) from error


def _from_hub(file: HubFile) -> _Chunks:
    url = f"{_HUB}/{file.repo}/resolve/{file.revision}/{file.path}"
    try:
        with urllib.request.build_opener().open(url, timeout=_HUB_TIMEOUT) as response:
            yield from _chunks(response)
    except (OSError, http.client.HTTPException) as error:
        raise WeightsUnavailable(str(error)) from error


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _with_plain_line_ends(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Convert CR LF to LF, even if a chunk ends between the two."""
    kept = b""
    for chunk in chunks:
        text = kept + chunk
        kept = b"\r" if text.endswith(b"\r") else b""
        yield text.removesuffix(kept).replace(b"\r\n", b"\n")
    yield kept


def _download_wheel(member: WheelMember, scratch: Path, report: Progress) -> Path:
    """Download the wheel that contains ``member`` to the folder ``scratch``, and return its path.

    The wheel is downloaded with pip, which uses the configured index, proxy and cache. ``report`` is called with the
    progress.
    """
    requirement = f"{member.project}=={member.version}"
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--retries=2"]
    platform = [f"--platform={member.platform}"] if member.platform else []
    command = [*_client(), *options, *platform, f"--dest={scratch}", requirement]
    report(requirement, 0, 0)
    last_lines: deque[str] = deque(maxlen=3)
    try:
        client = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise WeightsUnavailable(str(error)) from error
    with client:
        try:
            for line in client.stdout or ():
                if match := _PROGRESS_LINE.match(line):
                    report(requirement, int(match[1]), int(match[2]))
                elif line.strip():
                    last_lines.append(line.strip())
        except BaseException:
            client.kill()  # an interrupted pull must not wait for the rest of the download
            raise
    found = _wheels_of(member, scratch)
    if client.returncode or not found:
        raise WeightsUnavailable(" ".join(last_lines) or f"pip exited with status {client.returncode}")
    return found[0]


def _client() -> list[str]:
    """Return the command that runs ``pip download``: this environment's pip, or else pip through uv."""
    if importlib.util.find_spec("pip"):
        version = tuple(int(part) for part in importlib.metadata.version("pip").split(".")[:2] if part.isdigit())
        raw = ["--progress-bar=raw"] if version >= _PROGRESS_SINCE else []
        return [sys.executable, "-m", "pip", "download", *raw]
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        return [uv, "tool", "run", "pip", "download", "--progress-bar=raw"]
    raise WeightsUnavailable("neither pip nor uv is installed")
