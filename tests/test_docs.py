"""The documentation is correct: its code runs, its commands print the shown output, its links resolve."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.frameworks import frameworks, skip_without
from tests.parsing import ROOT, blocks, fits, programs, steps

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def _environment(home: Path) -> dict[str, str]:
    """Return environment variables with a data directory and the usual folder for weights."""
    return {
        **os.environ,
        "HOLDFAST_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUTF8": "1",
    }


def _programs_by_page() -> list[Any]:
    """Return the pages that contain Python programs, as test parameters.

    All pages except the README are marked ``long``, because each program loads an embedder.
    """
    return [
        pytest.param(page, id=page.name, marks=() if page.name == "README.md" else pytest.mark.long) for page in _with("python")
    ]


_PARENT = """
import gc, json, os, sys, tempfile
import holdfast.config.opening
with tempfile.TemporaryDirectory() as folder, holdfast.config.opening.open_engine(folder + "/memory.db", worker="none") as memory:
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Lyon.")
    memory.drain()
    memory.recall("Where do I live?", user="ana")
gc.collect()
gc.freeze()  # so that the garbage collector of a forked process copies no pages
for line in sys.stdin:
    body, folder = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(folder)
    os.environ["HOLDFAST_HOME"] = os.path.join(folder, "home")
    for number, name in ((0, os.devnull), (1, "printed"), (2, "errors")):
        os.dup2(os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600), number)
    program = {"__name__": "__main__"}
    sys.modules["__main__"].__dict__.update(program)
    exec(compile(body, "<program>", "exec"), program)
    sys.exit()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, Path], int]]:
    """Yield a function that runs a program in a process of its own with an empty data directory, and returns its exit status.

    The process is forked from one that has imported Holdfast and used it once, which loads the embedder and compiles regular
    expressions. In a new process this takes a second, which is longer than most programs.
    """
    command, environment = [sys.executable, "-c", _PARENT], _environment(tmp_path_factory.mktemp("parent"))
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        given, returned = parent.stdin, parent.stdout

        def run_one(body: str, folder: Path) -> int:
            print(json.dumps([body, str(folder)]), file=given, flush=True)
            return int(returned.readline())

        yield run_one
        given.close()


@pytest.mark.long
@pytest.mark.parametrize("page", _programs_by_page())
def test_python_in_the_documents_runs_and_prints_what_they_show(
    page: Path, run: Callable[[str, Path], int], tmp_path: Path
) -> None:
    for framework in frameworks().values():
        if page.parent.name in {"adapters", "cookbook"} and page.name in framework.pages:
            skip_without(framework)
    for number, (body, shown) in enumerate(programs(page)):
        folder = tmp_path / str(number)
        folder.mkdir()
        status = run(body, folder)
        assert status == 0, f"{body}\n{(folder / 'errors').read_text('utf-8')}"
        printed = (folder / "printed").read_text("utf-8")
        assert shown is None or fits(shown, printed), f"{body}\n{printed}"


@pytest.mark.long
@pytest.mark.ledger("X1")
@pytest.mark.parametrize("page", _with("console"), ids=lambda page: page.name)
def test_commands_in_the_documents_print_what_they_show(page: Path, tmp_path: Path) -> None:
    environment = _environment(tmp_path / "home")
    for command, shown in steps(page):
        done = subprocess.run(
            shlex.split(command), env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert fits(shown, done.stdout), f"{command}\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_has_an_existing_target(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


GENERATED = ("api.md", "cli.md", "settings.md", "bench.md")


@cache
def _generated() -> str:
    """Return the generated pages, one after another. One new process makes all of them, since starting it takes a second."""
    command = [sys.executable, "-m", "holdfast.cli.reference", *GENERATED]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


@pytest.mark.parametrize("page", GENERATED)
def test_generated_pages_are_up_to_date(page: str) -> None:
    assert (ROOT / "docs" / "reference" / page).read_text("utf-8") in _generated(), "run: python -m holdfast.cli.reference"
