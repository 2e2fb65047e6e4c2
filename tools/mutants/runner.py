"""Run tests against one mutant after another, in a copy of the source tree.

Each mutant is tested in a forked process. The parent has already imported the code and the tests from the copy. The child only
replaces the code of the mutated function, so a mutant takes little longer than its tests. If the mutant is not in a function, the
child imports everything again.
"""

import ast
import compileall
import contextlib
import gc
import importlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Literal

import pytest

from tools.mutants.operators import Mutant

_SHARED_FOLDERS = ("src/holdfast_models",)
"""Folders with large files that no mutant changes. The copy links to them."""
_OPTIONS = ("-n", "0", "-x", "-q", "-rfE", "--tb=no", "--assert=plain", "-p", "no:cacheprovider")
FIRST_TESTS = 12
"""Number of tests that run first. Most mutants are killed by one of them, so that the others need not be collected."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)
Verdict = Literal["killed", "survived", "timeout", "untested", "broken"]


@dataclass(frozen=True, slots=True)
class Result:
    """The test result for one mutant."""

    mutant: Mutant
    verdict: Verdict
    tests: int
    covering: int
    seconds: float
    by: str = ""
    """The test that failed."""

    @property
    def is_killed(self) -> bool:
        """True if a test failed or ran longer than the time limit."""
        return self.verdict in {"killed", "timeout"}


def _verdict(code: int | None, output: str) -> Verdict:
    """Return the verdict for the exit code of pytest. The code is None if the tests took too long."""
    if code == pytest.ExitCode.USAGE_ERROR and not _FAILED.search(output) and "while loading conftest" not in output:
        return "broken"  # the tests did not run: they were renamed since they were recorded
    verdicts: dict[int | None, Verdict] = {0: "survived", None: "timeout"}
    return verdicts.get(code, "killed")


def copy_tree(root: Path, target: Path) -> Path:
    """Copy the files that git tracks or would add, and compile them. Return the target."""
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
        if path.suffix == ".py":
            _copy_bytecode(source, path)
    for name in _SHARED_FOLDERS:
        (target / name).symlink_to(root / name, target_is_directory=True)
    for folder in ("src/holdfast", "tests"):
        compileall.compile_dir(target / folder, quiet=2)
    return target


def _copy_bytecode(source: Path, path: Path) -> None:
    """Copy the cached bytecode of a file, so that it need not be compiled again. Python ignores it if the file is newer."""
    cached, target = (Path(importlib.util.cache_from_source(str(each))) for each in (source, path))
    if cached.is_file():
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(cached, target)


def backend_options(root: Path) -> list[str]:
    """Return the options with which tests run on SQLite alone. No mutant is in the code of a store."""
    return ["--places", "sqlite"] if (root / "tests" / "places.py").exists() else []


def import_paths(copy: Path) -> list[str]:
    """Return the folders of a copy that must be on the import path."""
    return [str(copy / "src"), str(copy / "bench" / "src"), str(copy)]


class Runner:
    """Applies mutants to a copy of the source tree, and runs tests on it. The code of the copy is imported into this process."""

    def __init__(
        self, copy: Path, *, time_limit_seconds: float, files: Sequence[str] = (), passing: Collection[str] = ()
    ) -> None:
        """``passing`` are the tests of which all cases are known to pass without a mutant."""
        self.copy = copy
        self.time_limit_seconds = time_limit_seconds
        self._touched = 0
        self._sound = dict.fromkeys(passing, True)
        """Maps each test that failed with a mutant to whether it passes without a mutant."""
        os.chdir(copy)
        os.environ |= {"PYTHONPATH": os.pathsep.join(import_paths(copy)), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.path[:0] = import_paths(copy)
        sys.dont_write_bytecode = True
        for file in ["tests/conftest.py", *files]:
            with contextlib.suppress(Exception, pytest.skip.Exception):  # pytest reports it
                importlib.import_module(file.removesuffix(".py").replace("/", "."))

    def run(self, mutant: Mutant, tests: Sequence[str], *, covering: int) -> Result:
        """Run tests on a mutant until the first one fails. A test that also fails without the mutant does not count."""
        tests = [test for test in tests if self._sound.get(test.partition("[")[0], True)]
        if not tests:
            return Result(mutant, "untested", 0, 0, 0.0)
        started = time.monotonic()
        for part in filter(None, (tests[:FIRST_TESTS], tests[FIRST_TESTS:])):
            with self._applied(mutant):
                code, output = self._pytest(mutant, part)
            verdict = _verdict(code, output)
            if verdict != "survived":
                break
        by = "" if verdict != "killed" else (_FAILED.findall(output) or ["at import"])[0]
        if "::" in by and not self._is_sound(by.partition("[")[0]):
            return self.run(mutant, tests, covering=covering)
        return Result(mutant, verdict, len(tests), covering, time.monotonic() - started, by)

    def _is_sound(self, test: str) -> bool:
        """Return True if a test passes without a mutant."""
        if test not in self._sound:
            code, _ = self._pytest(None, [test])
            self._sound[test] = code != pytest.ExitCode.TESTS_FAILED
        return self._sound[test]

    @contextlib.contextmanager
    def _applied(self, mutant: Mutant) -> Iterator[None]:
        """Apply the mutant to its file inside the ``with`` block. Restore the file afterwards."""
        path = self.copy / mutant.path
        original, times = path.read_bytes(), path.stat()
        path.write_bytes(mutant.apply(original))
        self._touched += 1  # a new modification time: Python must not use bytecode cached in the same second
        os.utime(path, (self._touched, self._touched))
        try:
            yield
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _pytest(self, mutant: Mutant | None, tests: Sequence[str]) -> tuple[int | None, str]:
        """Run pytest in a forked process. Return its exit code (None if it took too long) and the end of its output."""
        log = self.copy / "pytest.log"
        log.write_text("", "utf-8")
        child = os.fork()
        if child == 0:
            _become_pytest(self.copy, mutant, tests, log)
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


def _become_pytest(copy: Path, mutant: Mutant | None, tests: Sequence[str], log: Path) -> None:
    """Run pytest on the copy, then exit. The process leads its own process group, so that its children end with it."""
    code = 1
    try:
        os.setsid()
        chosen = copy / "tests.txt"
        chosen.write_text("\n".join(tests), "utf-8")
        with log.open("w", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        if mutant is not None and not patch_function(copy, mutant):
            for name in [name for name in sys.modules if name.split(".")[0] in {"tests", "holdfast", "holdfast_bench"}]:
                del sys.modules[name]
        code = pytest.main([*_OPTIONS, *backend_options(copy), f"@{chosen}"])
    except BaseException:  # noqa: BLE001  (nothing may return into the parent's code)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code))


def patch_function(copy: Path, mutant: Mutant) -> bool:
    """Replace the code of the mutated function in this process. Returns False if the mutant is not in the body of a function."""
    path = copy / mutant.path
    source = path.read_bytes()
    name = ".".join(path.relative_to(copy / "src").with_suffix("").parts).removesuffix(".__init__")
    if name not in sys.modules:
        return True  # it will be imported from the mutated file
    node = _function_at(ast.parse(source), mutant.line)
    if node is None or body_at(source, mutant.line) is None:
        return False
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    codes = [code for code in _codes(compile(source, str(path), "exec")) if _place(code) == (node.name, first)]
    if len(codes) != 1:
        return False
    new: dict[tuple[str, int], list[CodeType]] = {}
    for code in (codes[0], *_codes(codes[0])):  # a call at import may have created the inner functions, such as those of a route
        new.setdefault(_place(code), []).append(code)
    functions = (thing for thing in gc.get_objects() if type(thing) is FunctionType and thing.__module__ == name)
    old = [(function, new[_place(function.__code__)]) for function in functions if _place(function.__code__) in new]
    if any([code.co_freevars for code in found] != [function.__code__.co_freevars] for function, found in old):
        return False
    for function, found in old:
        function.__code__ = found[0]
    return any(found[0] is codes[0] for _, found in old)


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def body_at(source: str | bytes, line: int) -> range | None:
    """Return the lines of the function body that contains a line. None if the line runs at import."""
    node = _function_at(ast.parse(source), line)
    body = None if node is None else range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    return body if body is not None and line in body else None


def uses_of(source: str | bytes, line: int) -> list[int]:
    """Return the lines that use a module's constant, if the given line is in its assignment."""
    tree = ast.parse(source)
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and _contains(node, line)]
    names = {
        each.id for node in assigned for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    loads = (each for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    return sorted({each.lineno for each in loads if each.id in names})


def _contains(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", 0) <= line <= (getattr(node, "end_lineno", 0) or 0)


def _function_at(node: ast.AST, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the outermost function that contains a line."""
    for child in ast.iter_child_nodes(node):
        if not _contains(child, line):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            return child
        if isinstance(child, ast.ClassDef):
            return _function_at(child, line)
    return None
