"""Run tests against one mutant after another, in a copy of the source tree.

Each mutant is tested in a forked process. The parent has imported the third-party packages of the tests already, but nothing of
Holdfast, so a mutant costs about a second plus its tests.
"""

import compileall
import contextlib
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tools.mutants.operators import Mutant

_SHARED_FOLDERS = ("src/holdfast_models",)
"""Folders with large files that no mutant changes. The copy links to them."""
_PRELOADED = ("apsw", "click", "fastapi", "httpx", "numpy", "Stemmer", "uvicorn", "yaml")
_QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""The preloaded packages include pytest plugins, whose asserts are not rewritten."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
Verdict = Literal["killed", "survived", "timeout", "untested", "broken"]


@dataclass(frozen=True, slots=True)
class Result:
    """What the tests made of one mutant."""

    mutant: Mutant
    verdict: Verdict
    tests: int
    covering: int
    seconds: float
    by: str = ""
    """The test that failed."""

    @property
    def is_killed(self) -> bool:
        """True if a test noticed the mutant. One that runs forever is noticed by the time limit."""
        return self.verdict in {"killed", "timeout"}


def copy_tree(root: Path, target: Path) -> Path:
    """Copy the files that git knows or would add, and compile them. Returns the target."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],  # noqa: S607
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, path = root / name, target / name
        if name.startswith(_SHARED_FOLDERS) or not source.is_file():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, path)
    for name in _SHARED_FOLDERS:
        (target / name).symlink_to(root / name, target_is_directory=True)
    for folder in ("src/holdfast", "tests"):
        compileall.compile_dir(target / folder, quiet=2)
    return target


class Runner:
    """Applies mutants to a copy of the source tree, and runs tests on it."""

    def __init__(self, copy: Path, *, time_limit_seconds: float) -> None:
        self.copy = copy
        self.time_limit_seconds = time_limit_seconds
        self._touched = 0
        for name in _PRELOADED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)

    def run(self, mutant: Mutant, tests: Sequence[str], *, covering: int) -> Result:
        """Run tests on a mutant until the first one fails."""
        if not tests:
            return Result(mutant, "untested", 0, 0, 0.0)
        path = self.copy / mutant.path
        original, times = path.read_bytes(), path.stat()
        started = time.monotonic()
        path.write_bytes(mutant.apply(original))
        self._touched += 1  # a time of its own, or Python may take cached bytecode of the same second
        os.utime(path, (self._touched, self._touched))
        try:
            code, output = self._pytest(tests)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        seconds = time.monotonic() - started
        verdicts: dict[int | None, Verdict] = {0: "survived", None: "timeout"}
        verdict = verdicts.get(code, "killed")
        if code == pytest.ExitCode.USAGE_ERROR and not _FAILED.search(output) and "while loading conftest" not in output:
            verdict = "broken"  # the tests did not run: they were renamed since they were recorded
        by = "" if verdict != "killed" else (_FAILED.findall(output) or ["at import"])[0]
        return Result(mutant, verdict, len(tests), covering, seconds, by)

    def _pytest(self, tests: Sequence[str]) -> tuple[int | None, str]:
        """Run pytest in a forked process. Returns its exit code, None if it took too long, and the end of its output."""
        log = self.copy / "pytest.log"
        child = os.fork()
        if child == 0:
            _become_pytest(self.copy, tests, log)
        deadline = time.monotonic() + self.time_limit_seconds
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), log.read_text("utf-8", errors="replace")[-20_000:]
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None, ""
            time.sleep(0.02)


def _become_pytest(copy: Path, tests: Sequence[str], log: Path) -> None:
    """Run pytest on the copy, and end this process. The process leads its own group, so that its children end with it."""
    os.setsid()
    os.chdir(copy)
    chosen = copy / "tests.txt"
    chosen.write_text("\n".join(tests), "utf-8")
    places = [str(copy / "src"), str(copy / "bench" / "src"), str(copy)]
    os.environ |= {"PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path[:0] = places
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.split(".")[0] in {"tools", "tests", "holdfast"}]:
        del sys.modules[name]
    code = 1
    try:
        with log.open("w", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            code = pytest.main(["-n", "0", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *_QUIET, f"@{chosen}"])
    except BaseException:  # noqa: BLE001  (nothing may return into the parent's code)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code))
