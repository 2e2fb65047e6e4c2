"""Run the test suites of other frameworks against Holdfast's adapters, each in its own locked environment.

    python -m tests.adapters.harness [--jobs N] [--lock] [FRAMEWORK ...]

Environments and downloads are kept in ``.venv/adapters``. A suite comes from the sdist of its framework, which is
downloaded from the package index, verified by its hash, and never stored in this repository. ``--lock`` updates the
locked packages instead.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.adapters.frameworks import HERE, ROOT, Framework, Suite, frameworks

HOME = ROOT / ".venv" / "adapters"
COMMON = ("hypothesis==6.170.15", "pytest==9.2.0", "pytest-timeout==2.4.0")
"""Packages that our own tests need in every environment."""
PLUGIN = HERE / "pytest_plugin"
_DOCS_TEST = "tests/test_docs.py::test_python_in_the_documents_runs_and_prints_what_they_show"
_EXAMPLES_TEST = "tests/adapters/test_examples.py::test_the_examples_run"


class HarnessError(Exception):
    """The tests of a framework could not be run."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The results of one run of pytest."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)
    """Id of each excluded test, with the entry of ``Suite.excluded`` that excludes it."""
    uses: int = 0
    """Number of times the adapter was created."""

    def counts(self) -> str:
        """Return how many tests passed, failed and were skipped, as text, such as "12 passed, 0 failed"."""
        parts = [f"{len(self.passed)} passed", f"{len(self.failed)} failed"]
        return ", ".join([*parts, f"{len(self.skipped)} skipped"] if self.skipped else parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests of the chosen frameworks, or update their locked packages (``--lock``). Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=f"one of: {', '.join(frameworks())} (default: all)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="frameworks to test at once (default: 2)")
    parser.add_argument("--lock", action="store_true", help="update the locked packages instead of testing")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.frameworks if name not in frameworks()]
    if unknown:
        parser.error(f"unknown framework {unknown[0]!r}")
    chosen = [frameworks()[name] for name in given.frameworks or frameworks()]
    if given.lock:
        for framework in chosen:
            lock(framework)
        return 0
    budget = sum(framework.minutes for framework in chosen)
    say(f"Testing {len(chosen)} adapters. The time budget is {budget:g} minutes, without the setup of new environments.")
    with ThreadPoolExecutor(max(given.jobs, 1)) as pool:
        lines = list(pool.map(check, chosen))
    say("")
    for _, text in lines:
        say(text)
    return 0 if all(passed for passed, _ in lines) else 1


def check(framework: Framework) -> tuple[bool, str]:
    """Run all tests of a framework. Return True if they passed, and the summary to print."""
    say(f"{framework.name}: started")
    began = time.monotonic()
    try:
        set_up(framework)
        archives = [fetch(suite) for suite in framework.suites]
        ready = time.monotonic()
        deadline = ready + 60 * framework.minutes
        suites = [run_suite(framework, suite, path, deadline) for suite, path in zip(framework.suites, archives, strict=True)]
        own = run_own(framework, deadline)
    except HarnessError as error:
        say(f"{framework.name}: failed")
        return False, f"{framework.name:15} FAILED: {error}"
    problems = [each for suite, outcome in zip(framework.suites, suites, strict=True) for each in suite_problems(suite, outcome)]
    problems += own_problems(own)
    say(f"{framework.name}: {'failed' if problems else 'passed'}")
    seconds = f"{time.monotonic() - ready:.0f} s of {60 * framework.minutes:.0f} s, setup {ready - began:.0f} s"
    return not problems, summary(framework, suites, own, problems, seconds)


def summary(framework: Framework, suites: Sequence[Outcome], own: Outcome, problems: Sequence[str], seconds: str) -> str:
    """Return one line with the results of a framework, then its excluded tests and its problems."""
    parts = [
        f"{suite.archive}: {outcome.counts()}, {len(outcome.excluded)} excluded"
        for suite, outcome in zip(framework.suites, suites, strict=True)
    ]
    parts.append(f"our tests: {own.counts()}")
    lines = [f"{framework.name:15} {'FAILED' if problems else 'ok'}; {'; '.join(parts)}; {seconds}"]
    for suite, outcome in zip(framework.suites, suites, strict=True):
        names = sorted(set(outcome.excluded.values()))
        lines += [f"    excluded {name.partition('::')[2]}: {suite.excluded[name]}" for name in names]
    return "\n".join([*lines, *(f"    PROBLEM {each}" for each in problems)])


def suite_problems(suite: Suite, outcome: Outcome) -> list[str]:
    """Return the problems in the results of a suite."""
    problems = [f"failed: {name}" for name in outcome.failed]
    if len(outcome.passed) != suite.passed:
        problems.append(f"{len(outcome.passed)} tests passed; suite.toml expects {suite.passed}")
    if not outcome.uses:
        problems.append("the suite never used the adapter")
    used = set(outcome.excluded.values())
    return problems + [f"the exclusion {name} matches no test" for name in suite.excluded if name not in used]


def own_problems(outcome: Outcome) -> list[str]:
    """Return the problems in a run of Holdfast's own tests. A skipped test is a problem, because its framework is installed."""
    problems = [f"{how}: {name}" for how in ("failed", "skipped") for name in getattr(outcome, how)]
    return problems if outcome.passed else [*problems, "none of our tests ran"]


def set_up(framework: Framework) -> None:
    """Create the environment of a framework, unless it is up to date."""
    place, wanted = HOME / framework.name, hashlib.sha256(framework.lock.read_bytes()).hexdigest()
    stamp = place / ".locked"
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    say(f"{framework.name}: setting up the environment")
    shutil.rmtree(place, ignore_errors=True)
    command([uv(), "venv", "--quiet", "--python", sys.executable, str(place)])
    python = str(python_of(framework))
    command([uv(), "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(framework.lock)])
    stamp.write_text(wanted, "utf-8")


def fetch(suite: Suite, home: Path = HOME) -> Path:
    """Return the verified sdist of a suite, downloading it if it is not in ``home``."""
    folder = home / "archives" / suite.archive.replace("==", "-")
    found = sorted(folder.glob("*.tar.gz"))
    if not found:
        say(f"{suite.archive}: downloading the tests")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as name:
            wanted = Path(name) / "wanted.txt"
            wanted.write_text(f"{suite.archive} --hash=sha256:{suite.sha256}\n", "utf-8")
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
            command([*pip, "--no-binary", ":all:", "--require-hashes", "--dest", str(folder), "-r", str(wanted)])
        found = sorted(folder.glob("*.tar.gz"))
    if len(found) != 1:
        raise HarnessError(f"{suite.archive} has no sdist in the form .tar.gz.")
    if hashlib.sha256(found[0].read_bytes()).hexdigest() != suite.sha256:
        raise HarnessError(f"{found[0]} has the wrong hash. Delete it and try again.")
    return found[0]


def run_suite(framework: Framework, suite: Suite, archive: Path, deadline: float) -> Outcome:
    """Run the tests of a framework with Holdfast's adapter."""
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(archive) as packed:
            packed.extractall(name, filter="data")
        (root,) = Path(name).iterdir()
        for file in suite.added:
            shutil.copy(framework.folder / file, root)
        plugins = ["-p", "holdfast_suite", "-p", "holdfast_swap"]
        arguments = [*plugins, *suite.options, "-p", "no:cacheprovider", "-qqq", *suite.tests]
        path = [ROOT / "src", PLUGIN, framework.folder, root]
        return run_pytest(framework, arguments, cwd=root, path=path, excluded=suite.excluded, deadline=deadline)


def run_own(framework: Framework, deadline: float) -> Outcome:
    """Run Holdfast's tests of an adapter, its example, and the programs on its documentation page."""
    pages = [f"{_DOCS_TEST}[{page}]" for page in framework.pages]
    tests = [f"tests/adapters/{framework.name}", f"{_EXAMPLES_TEST}[{framework.name}]", *pages]
    # Our asynchronous tests need no plugin. The frameworks' deprecations are not ours.
    options = ["-p", "holdfast_suite", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "default::DeprecationWarning"]
    arguments = [*options, *tests]
    return run_pytest(framework, arguments, cwd=ROOT, path=[ROOT / "src", PLUGIN, ROOT], excluded={}, deadline=deadline)


def run_pytest(
    framework: Framework,
    arguments: Sequence[str],
    *,
    cwd: Path,
    path: Sequence[Path],
    excluded: Mapping[str, str],
    deadline: float,
) -> Outcome:
    """Run pytest in the environment of a framework until the deadline, and return its report."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.json"
        environment = {
            **os.environ,
            "HOLDFAST_HOME": str(Path(name) / "home"),
            "HOLDFAST_SUITE_EXCLUDED": json.dumps(dict(excluded)),
            "HOLDFAST_SUITE_REPORT": str(report),
            "PYTHONPATH": os.pathsep.join(map(str, path)),
        }
        left = max(deadline - time.monotonic(), 1)
        try:
            done = subprocess.run(
                [str(python_of(framework)), "-m", "pytest", *arguments],
                cwd=cwd,
                env=environment,
                timeout=left,
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
        except subprocess.TimeoutExpired as error:
            say(_text(error.output))
            raise HarnessError(f"the tests took longer than the budget of {framework.minutes:g} minutes.") from error
        if done.returncode:
            say(f"\n{framework.name}: the output of the tests\n{done.stdout}")
        if not report.exists():
            raise HarnessError(f"pytest ended with exit code {done.returncode} before it could report.")
        outcome = Outcome(**json.loads(report.read_text("utf-8")))
        if done.returncode not in (0, 1):
            outcome.failed.append(f"pytest ended with exit code {done.returncode}")
        return outcome


def lock(framework: Framework) -> None:
    """Update the locked packages of a framework's environment, for all systems and Python versions."""
    say(f"Locking {framework.name} ...")
    with requirements(framework) as wanted:
        extras = [part for extra in framework.extras for part in ("--extra", extra)]
        options = ["--quiet", "--universal", "--generate-hashes", "--no-header", "--upgrade", "--python-version", "3.11"]
        options += ["--no-emit-package", "holdfast-models"]  # from this repository
        command([uv(), "pip", "compile", *options, *extras, "pyproject.toml", str(wanted), "-o", str(framework.lock)])
    text = framework.lock.read_text("utf-8").replace(str(wanted), f"tests/adapters/{framework.name}/suite.toml")
    framework.lock.write_text(text, "utf-8")


@contextmanager
def requirements(framework: Framework) -> Iterator[Path]:
    """Yield the path of a temporary file that lists the packages of a framework's environment, for uv.

    The framework is installed in the version that the test suite belongs to.
    """
    with tempfile.TemporaryDirectory() as name:
        wanted = Path(name) / "requirements.in"
        pinned = [suite.archive for suite in framework.suites]
        wanted.write_text("\n".join([*COMMON, *pinned, *framework.requirements]), "utf-8")
        yield wanted


def python_of(framework: Framework) -> Path:
    """Return the interpreter of a framework's environment."""
    return HOME / framework.name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def uv() -> str:
    """Return the path of uv, which creates the environments."""
    found = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if found is None:
        raise SystemExit("uv is not installed. Run: make test-adapters")
    return found


def _text(output: object) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else str(output or "")


def command(arguments: Sequence[str]) -> None:
    """Run a command. If it fails, raise HarnessError with the end of its output."""
    done: Any = subprocess.run(arguments, cwd=ROOT, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        raise HarnessError(f"{' '.join(arguments[:4])} ... failed:\n{(done.stdout + done.stderr)[-2000:]}")


def say(text: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HarnessError as error:
        sys.exit(f"error: {error}")
