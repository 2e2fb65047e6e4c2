"""Run hooks and MCP servers with a temporary data directory, as coding agents do."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast import Engine
from holdfast.config.opening import open_engine


@dataclass(frozen=True)
class Agents:
    """The command line for coding agents, with a data directory and a repository."""

    home: Path
    repository: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "HOLDFAST_HOME": str(self.home),
            "HOLDFAST_MODELS": str(self.home / "no-weights"),
            "HOLDFAST_EMBEDDER": "none",
            "HOLDFAST_READER": "none",
            "HOLDFAST_RESIDENT_IDLE_MINUTES": "0.5",
        }
        return {**os.environ, **own, **self.variables}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "holdfast.cli", *words]

    def run(self, *words: str, input: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            input=input,
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=cwd or self.repository,
            timeout=60,
            check=False,
        )

    def hook(self, event: str, payload: dict[str, Any], *more: str, client: str = "claude-code") -> Any:
        """Run a hook for the user Ana. Return its parsed output, or None if it printed nothing."""
        words = ["hook", event, "--client", client, "--user", "ana", "--project", *more]
        done = self.run(*words, input=json.dumps({"cwd": str(self.repository), **payload}))
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout) if done.stdout else None

    def warm(self) -> None:
        """Start the resident process and wait until it answers."""
        self.hook("session-start", {"session_id": "warm"}, "--wait", "30")
        wait_until(lambda: "running, process" in self.run("resident").stdout)

    def stop(self) -> None:
        """Stop the resident process and wait until it has ended."""
        self.run("resident", "--stop")
        wait_until(lambda: self.run("resident").stdout.startswith("not running"))

    @contextmanager
    def memory(self) -> Iterator[Engine]:
        """Open the same store in this process."""
        with open_engine(self.home / "memory.db", embedder="none", worker="none", settings={"reader": "none"}) as memory:
            yield memory


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds, or fail."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)


def transcript_line(uuid: str, role: str, text: str, **more: Any) -> str:
    """Return a line in the format of a Claude Code transcript."""
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    line = {
        "parentUuid": None,
        "isSidechain": False,
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": uuid,
        "timestamp": "2026-11-16T10:00:00.000Z",
        "sessionId": "s1",
        "cwd": "/x",
        "version": "2.1.325",
        **more,
    }
    return json.dumps(line) + "\n"
