"""Build the distributions of this repository: Holdfast as sdist and wheel, and the two wheels of holdfast-models.

    python tools/build_dist.py dist

The wheel of Holdfast is built from the sdist, which shows that the sdist is complete. Needs hatchling, but no network.
"""

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def build(folder: Path) -> list[Path]:
    """Build all distributions into a folder. Return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.iterdir())
    hatchling(ROOT, folder, "sdist", HOLDFAST_RELEASE="1")
    (sdist,) = (path for path in set(folder.iterdir()) - before if path.name.endswith(".tar.gz"))
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        (source,) = Path(scratch).iterdir()
        hatchling(source, folder, "wheel")
    hatchling(ROOT / "packages" / "models", folder, "wheel", HOLDFAST_MODELS_WHEEL="full")
    (full,) = (path for path in set(folder.iterdir()) - before if path.name.startswith("holdfast_models-"))
    add_build_number(full)
    hatchling(ROOT / "packages" / "models", folder, "wheel", HOLDFAST_MODELS_WHEEL="empty")
    return sorted(set(folder.iterdir()) - before)


def add_build_number(wheel: Path) -> None:
    """Give a wheel the build number 1.

    The lock file of uv covers all systems, but uv reads the metadata of only one wheel, the one with the highest build number.
    This must be the wheel that requires onnxruntime.
    """
    name, version, rest = wheel.name.split("-", 2)
    numbered, info = wheel.with_name(f"{name}-{version}-1-{rest}"), f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(numbered, "w", zipfile.ZIP_DEFLATED) as target:
        about = source.read(f"{info}/WHEEL").rstrip() + b"\nBuild: 1\n"
        digest = base64.urlsafe_b64encode(hashlib.sha256(about).digest()).rstrip(b"=").decode()
        lines = source.read(f"{info}/RECORD").decode().splitlines()
        changed = [f"{info}/WHEEL,sha256={digest},{len(about)}" if line.startswith(f"{info}/WHEEL,") else line for line in lines]
        new = {f"{info}/WHEEL": about, f"{info}/RECORD": "\n".join([*changed, ""]).encode()}
        for member in source.infolist():
            target.writestr(member, new.get(member.filename, source.read(member)))
    wheel.unlink()


def hatchling(project: Path, folder: Path, target: str, **environment: str) -> None:
    """Build one distribution of a project."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    ran = subprocess.run(command, cwd=project, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"The {target} of {project} could not be built:\n{ran.stdout}{ran.stderr}")


def main() -> None:
    """Build into the folder given on the command line, which must not contain distributions yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    if folder.is_dir() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty. Remove it first, so that no old distribution is published.")
    for path in build(folder):
        sys.stdout.write(f"{path.stat().st_size / 1e6:6.1f} MB  {path.name}\n")


if __name__ == "__main__":
    main()
