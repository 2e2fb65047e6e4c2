"""Each quick start works in a new environment within ten minutes, by doing what its page says.

The environment contains what the page's ``pip install`` line installs, and nothing else. The home folder is empty. The
line of one page runs with pip. The lines of the other pages run with uv if it is installed, which takes a tenth of the time.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.parsing import commands, fits, programs, steps

from .support import ROOT, plain_environment, tool

STARTS = ROOT / "docs" / "start"
MAX_SECONDS = 600.0
PORT = 8397
WITH_PIP = "robot"
"""The quick start whose ``pip install`` line runs with pip instead of uv."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.ledger("X1", "X38"),
]


class Beginner:
    """A person with a clone of the repository, a new virtual environment and an empty home folder.

    ``uv`` is the path of the program uv, which then replaces pip. None means that pip is used.
    """

    def __init__(self, folder: Path, clone: Path, uv: str | None) -> None:
        self.started = time.monotonic()
        self.clone, self.home, self.work = clone, folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self._uv = uv
        venv.create(folder / "venv", with_pip=uv is None)
        self._programs = folder / "venv" / "bin"

    @property
    def environment(self) -> dict[str, str]:
        paths = f"{self._programs}:/usr/bin:/bin"
        return plain_environment(HOME=str(self.home), PATH=paths, VIRTUAL_ENV=str(self._programs.parent), PYTHONUTF8="1")

    def install(self, command: str) -> None:
        """Run the page's ``pip install`` line in the clone. Skip the test if no package index can be reached."""
        assert command.startswith("pip install "), command
        environment = plain_environment(
            PATH=self.environment["PATH"],
            VIRTUAL_ENV=self.environment["VIRTUAL_ENV"],
            PIP_COMPILE="0",  # programs compile what they import; pip would compile every module
        )
        ran = self._run(command if self._uv is None else f"{shlex.quote(self._uv)} {command}", self.clone, environment)
        if ran.returncode != 0 and not self._reaches_an_index:
            pytest.skip("no package index can be reached")
        assert ran.returncode == 0, f"{command}\n{ran.stderr[-3000:]}"

    @property
    def _reaches_an_index(self) -> bool:
        """True if pip can fetch a small package."""
        probe = f"{shlex.quote(sys.executable)} -m pip download --quiet --no-deps --dest probe annotated-types"
        return self._run(probe, self.work, plain_environment()).returncode == 0

    def run(self, command: str) -> str:
        """Run a command, and return its output."""
        ran = self._run(command, self.work, self.environment)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def program(self, body: str) -> str:
        """Run a Python program from a file, and return its output."""
        (self.work / "program.py").write_text(body, "utf-8")
        return self.run("python program.py")

    @contextmanager
    def server(self) -> Iterator[str]:
        """Run ``holdfast serve``, and yield its address."""
        command = [str(self._programs / "holdfast"), "serve", "--port", str(PORT)]
        environment = self.environment | {"HOLDFAST_ALLOWED_HOSTS": "memory.example"}
        with subprocess.Popen(
            command, cwd=self.work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            try:
                _wait_for(f"http://127.0.0.1:{PORT}/health")
                yield f"http://127.0.0.1:{PORT}"
            finally:
                process.terminate()
                process.communicate(timeout=30)

    def _run(self, command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=MAX_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )


def _wait_for(url: str) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            httpx.get(url, timeout=5)
        except httpx.TransportError:
            assert time.monotonic() < until, f"{url} does not answer"
            time.sleep(0.3)
        else:
            return


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the files that a clone of the repository has, without the environments and caches of this folder."""
    if not (ROOT / ".git").exists() or not Path("/bin/sh").exists():
        pytest.skip("needs a clone of the repository, and a shell")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout
    folder = tmp_path_factory.mktemp("clone") / "holdfast"
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture
def beginner(request: pytest.FixtureRequest, clone: Path, tmp_path: Path) -> Iterator[Beginner]:
    yield Beginner(tmp_path, clone, None if WITH_PIP in request.node.name else tool("uv"))
    shutil.rmtree(tmp_path / "venv")


def _follow(page: Path, beginner: Beginner) -> list[str]:
    """Install as the page says, and run its programs and commands. Return its other shell commands."""
    install, *others = commands(page)
    beginner.install(install)
    for body, shown in programs(page):
        printed = beginner.program(body)
        assert shown is not None, "a program of a quick start shows its output"
        assert fits(shown, printed), printed
    for command, shown in steps(page):
        printed = beginner.run(command)
        assert fits(shown, printed), f"{command}\n{printed}"
    return others


@pytest.mark.parametrize("name", ["voice-assistant", "chat-app", "robot"])
def test_a_quick_start_in_python_works_in_a_new_environment(beginner: Beginner, name: str) -> None:
    assert _follow(STARTS / f"{name}.md", beginner) == []
    assert time.monotonic() - beginner.started < MAX_SECONDS


def test_the_quick_start_of_coding_agents_works_in_a_new_environment(beginner: Beginner) -> None:
    dry, install = _follow(STARTS / "coding-agent.md", beginner)
    assert "+" in beginner.run(dry)
    assert not list(beginner.home.glob(".claude*"))
    beginner.run(install)
    assert "holdfast" in (beginner.home / ".claude" / "settings.json").read_text("utf-8")
    beginner.run(f"{install} --remove")
    left = [path.read_text("utf-8") for path in beginner.home.rglob("*.json") if ".claude" in str(path)]
    assert not [text for text in left if "holdfast" in text]
    assert time.monotonic() - beginner.started < MAX_SECONDS


def test_the_quick_start_of_a_team_works_in_a_new_environment(beginner: Beginner) -> None:
    keys_then_server = _follow(STARTS / "team-server.md", beginner)
    admin, ana, serve, remember, recall = keys_then_server
    beginner.run(admin)
    key = re.search(r"hf_\S+", beginner.run(ana))
    assert key is not None
    assert shlex.split(serve)[1:] == ["holdfast", "serve"]
    with beginner.server() as url:
        asked = [each.replace("https://memory.example", url) + " -H 'Host: memory.example'" for each in (remember, recall)]
        beginner.run(f"KEY={key[0]}; {asked[0]}")
        hits = json.loads(beginner.run(f"KEY={key[0]}; {asked[1]}"))["hits"]
    assert hits[0]["text"] == "prefers tea"
    assert time.monotonic() - beginner.started < MAX_SECONDS


def test_every_quick_start_is_tested() -> None:
    tested = {"voice-assistant", "chat-app", "robot", "coding-agent", "team-server"}
    assert {page.stem for page in STARTS.glob("*.md")} == tested
