"""A full disk: reads work, writes are refused with a typed error, and forgetting and erasing work."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.opening import open_engine
from holdfast.errors import StoreFull
from holdfast.server.api.problem import problem_of
from holdfast.stores.sqlite.disk_space import DiskSpace
from tests.durability.full_disk import CONTROL, NEEDLE

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="needs tmpfs and RLIMIT_FSIZE of Linux"), pytest.mark.long]
REPOSITORY = Path(__file__).parent.parent.parent


def _told(*command: str) -> dict[str, Any]:
    ran = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told


def _check(seen: dict[str, Any]) -> None:
    assert seen["acknowledged"] > 100
    assert (seen["stored"], seen["lost"]) == (seen["acknowledged"], 0)
    assert seen["refused"] == "store_full"
    assert (seen["recalled"], seen["context"]) == (3, True)
    assert (seen["forgotten"], seen["erased"], seen["left"]) == ("done", 40, 0)
    assert seen["receipt"] in ("erased", "pending")
    assert (seen["session"], seen["resumed"], seen["close"]) == ("done", "done", "done")


def _hits(folder: Path, needle: str) -> int:
    return sum(file.read_bytes().count(needle.encode()) for file in folder.rglob("*") if file.is_file())


@pytest.mark.ledger("X27")
@pytest.mark.parametrize("size", ["2m", pytest.param("8m", marks=pytest.mark.long)])
def test_a_full_disk_refuses_writes_and_still_erases(tmp_path: Path, size: str) -> None:
    disk, after = tmp_path / "disk", tmp_path / "after"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size={size} tmpfs {disk}"
    if (
        not shutil.which("unshare")
        or subprocess.run(["unshare", "-rm", "sh", "-c", mount], check=False, capture_output=True).returncode
    ):
        pytest.skip("this user cannot mount a small file system")
    story = f"{mount} && {sys.executable} -m tests.durability.full_disk {disk} && cp -r {disk} {after}"
    _check(_told("unshare", "-rm", "sh", "-c", f"({story})"))
    with open_engine(after / "memory.db", embedder="none", worker="none") as memory:  # there is room here
        memory.drain()
    assert _hits(after, NEEDLE) == 0
    assert _hits(after, CONTROL) > 0


@pytest.mark.long
def test_a_file_size_limit_refuses_writes_and_still_erases(tmp_path: Path) -> None:
    _check(_told(sys.executable, "-m", "tests.durability.full_disk", str(tmp_path), str(1_500_000)))
    with open_engine(tmp_path / "memory.db", embedder="none", worker="none") as memory:
        memory.drain()
    assert _hits(tmp_path, NEEDLE) == 0
    assert _hits(tmp_path, CONTROL) > 0


def test_a_full_disk_is_507_over_http() -> None:
    assert problem_of(StoreFull("The disk is full.")).status == 507


def test_a_disk_with_enough_space_gets_no_reserve_file(tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < 2 << 30:
        pytest.skip("this disk is low itself")
    open_engine(tmp_path / "memory.db", embedder="none", worker="none").close()
    assert not DiskSpace(tmp_path / "memory.db").reserve.exists()
