"""Run commands in two ways: with the installed executable, or in this process."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from holdfast.cli.app import app
from holdfast.config.opening import open_engine
from holdfast.engine import Engine


@dataclass(frozen=True)
class Holdfast:
    """The command line with a temporary data directory."""

    home: Path
    models: Path
    embedder: str | None = None

    @property
    def settings(self) -> dict[str, str]:
        own = {"HOLDFAST_HOME": str(self.home), "HOLDFAST_MODELS": str(self.models)}
        return own if self.embedder is None else {**own, "HOLDFAST_EMBEDDER": self.embedder}

    @property
    def store(self) -> Path:
        return self.home / "memory.db"

    def __call__(self, *args: str, exit: int = 0, input: str | bytes | None = None) -> Result:
        """Run a command in this process and check its exit code."""
        result = CliRunner(env=self.settings).invoke(app, args, input=input)
        assert result.exit_code == exit, f"{args}: {result.exit_code}\n{result.stdout}\n{result.stderr}\n{result.exception!r}"
        return result

    def json(self, *args: str, input: str | None = None) -> Any:
        """Run a command with --json and return its parsed output."""
        return json.loads(self(*args, "--json", input=input).stdout)

    def error(self, *args: str, exit: int = 1, input: str | None = None) -> dict[str, str]:
        """Run a command that fails and return the error from its JSON output."""
        result = self(*args, "--json", exit=exit, input=input)
        assert result.stdout == ""
        error: dict[str, str] = json.loads(result.stderr.splitlines()[-1])["error"]
        return error

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.settings}

    def run(self, *args: str, exit: int = 0, input: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        """Run the installed executable and check its exit code."""
        environment = {**self.environment, **environment}
        ran = subprocess.run([executable(), *args], input=input, capture_output=True, env=environment, timeout=60, check=False)
        assert ran.returncode == exit, f"{args}: {ran.returncode}\n{ran.stdout!r}\n{ran.stderr!r}"
        return ran

    def run_inside(self, *args: str, exit: int = 0, input: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        """Do the same as :meth:`run`, but in this process. This saves the second that starting the executable takes."""
        done = CliRunner(env={**self.settings, **environment}).invoke(app, args, input=input)
        assert done.exit_code == exit, f"{args}: {done.exit_code}\n{done.stdout}\n{done.stderr}\n{done.exception!r}"
        return subprocess.CompletedProcess(args, done.exit_code, done.stdout_bytes, done.stderr_bytes)

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """Start the installed executable without waiting for it."""
        return subprocess.Popen([executable(), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)

    @contextmanager
    def memory(self) -> Iterator[Engine]:
        """Open the same store through the Python API."""
        with open_engine(self.store, embedder="none", worker="none") as memory:
            yield memory

    def talk(self, *texts: str, user: str = "ana", end: bool = True) -> str:
        """Store a session with these messages through the Python API. Return its id."""
        with self.memory() as memory:
            talk = memory.session(user=user)
            for text in texts:
                talk.add("user", text)
            if end:
                talk.end()
            return talk.id


def executable() -> str:
    """Return the path of the ``holdfast`` command installed next to this Python."""
    found = shutil.which("holdfast", path=str(Path(sys.executable).parent))
    assert found, "holdfast is not installed next to this Python"
    return found
