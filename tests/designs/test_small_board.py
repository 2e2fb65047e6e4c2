"""The whole engine on a board with 2 GB: it runs within that limit with real weights, and leaves most of the memory free."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.config.folders import models_directory
from holdfast.errors import ModelError
from holdfast.models.local.registry import find_any
from holdfast.models.local.weights import locate

PROGRAM = """
import json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import holdfast
from holdfast.services import services

with holdfast.open(sys.argv[1], preset="rostro", worker="none") as memory:
    for number in range(200):
        memory.remember(f"finding {number}: the {('oven', 'bicycle', 'garden', 'radio')[number % 4]} wants part {number}", topic="house")
    memory.drain()
    session = memory.session()
    times = []
    for number in range(20):
        session.add("user", f"what did we find out about part {number} of the radio?")
        begin = time.perf_counter()
        session.context()
        times.append(time.perf_counter() - begin)
        session.add("assistant", "Let me see.")
    session.end()
    memory.drain()
    known = len(memory.memories(limit=1000))
# Not getrusage: its peak includes the process before exec.
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps({"peak_mb": peak, "context_ms": sorted(times)[10] * 1000, "known": known, "meaning": services(memory).embedding.problem is None}))
"""


@pytest.mark.long
@pytest.mark.weights
@pytest.mark.ledger("R12")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits its address space as Linux does")
def test_months_of_use_need_at_most_a_quarter_of_two_gigabytes_of_memory(tmp_path: Path) -> None:
    try:
        locate(find_any("arctic-embed-s"), models_directory())
    except ModelError as error:
        pytest.skip(f"needs real weights: {error}")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "memory.db")], capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["meaning"], "the embedder must have been at work"
    assert seen["known"] >= 200
    assert seen["peak_mb"] < 512, seen
