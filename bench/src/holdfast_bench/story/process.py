"""A host in its own process, called over a pipe. The process can be killed at any time."""

import logging
import multiprocessing
import os
import signal
import time
import traceback
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Literal

from holdfast.errors import HoldfastError
from holdfast.testing import FrozenClock
from holdfast_bench.story.hosts import HOSTS, Host, Setup
from holdfast_bench.story.model import StoryModel
from holdfast_bench.story.script import Story, load_story

ModelMode = Literal["none", "scripted"]
_KILL_AFTER_SECONDS: Final = 0.02
"""Seconds between the start of a call and the kill, so that the kill interrupts the call."""
_CALL_TIMEOUT_SECONDS: Final = 300


class HostFailed(HoldfastError):
    """A call to the design raised an error."""

    code = "story_host_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    story: Path
    folder: Path
    model: ModelMode
    embedder: str
    now: datetime
    model_down: bool


class HostProcess:
    """A running host. ``call`` waits for the result; ``kill`` ends the process with SIGKILL."""

    def __init__(
        self, story: Story, folder: Path, *, model: ModelMode, embedder: str, now: datetime, model_down: bool = False
    ) -> None:
        """Start a process and open the store in a folder."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])  # a restart does not import everything again
        self._pipe, theirs = context.Pipe()
        start = _Start(
            story=story.path, folder=folder, model=model, embedder=embedder, now=now, model_down=model_down
        )  # fmt: skip
        self._process = context.Process(target=_serve, args=(start, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._result()

    def call(self, name: str, now: datetime, **arguments: Any) -> Any:
        """Call a step of the host at a given time of the story, and return its result."""
        self._pipe.send((name, now, arguments))
        return self._result()

    def kill_during(self, name: str, now: datetime, **arguments: Any) -> None:
        """Call a step, and kill the process while the step is running."""
        self._pipe.send((name, now, arguments))
        time.sleep(_KILL_AFTER_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill the process. Nothing is flushed or closed."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        self._pipe.close()

    def stop(self) -> None:
        """Close the store and end the process."""
        self._pipe.send(None)
        self._result()
        self._process.join()
        self._pipe.close()

    def _result(self) -> Any:
        if not self._pipe.poll(_CALL_TIMEOUT_SECONDS):
            self.kill()
            raise HostFailed(f"The design did not answer within {_CALL_TIMEOUT_SECONDS} seconds.")
        try:
            problem, value = self._pipe.recv()
        except EOFError:
            raise HostFailed("The process of the design ended by itself.") from None
        if problem:
            raise HostFailed(f"A call to the design failed:\n{problem}")
        return value


def _serve(start: _Start, pipe: Connection) -> None:
    """Open a host, and run the steps that arrive over the pipe until the host is stopped."""
    logging.getLogger("holdfast").setLevel(logging.CRITICAL)  # outages are part of the story
    try:
        steps = _Steps(start)
        pipe.send((None, None))
        while (given := pipe.recv()) is not None:
            name, now, arguments = given
            pipe.send((None, steps.run(name, now, **arguments)))
        steps.host.close()
        pipe.send((None, None))
    except Exception:  # noqa: BLE001  (the edge of the process: the parent raises it)
        pipe.send((traceback.format_exc(), None))


class _Steps:
    """The steps of a story, such as a turn or the end of a session. They are called by name, in the process of the host."""

    def __init__(self, start: _Start) -> None:
        story = load_story(start.story)
        self._clock = FrozenClock(start.now)
        self._model = StoryModel(story, self._clock.now) if start.model == "scripted" else None
        if self._model is not None:
            self._model.down = start.model_down
        self._sessions = {session.number: session for session in story.sessions}
        self._facts = story.facts
        setup = Setup(story=story, folder=start.folder, clock=self._clock, model=self._model, embedder=start.embedder)
        self.host: Host = HOSTS[story.design](setup)

    def run(self, name: str, now: datetime, **arguments: Any) -> Any:
        self._clock.set(now)
        return getattr(self, f"_{name}")(**arguments)

    def _turn(self, session: int, turn: int) -> None:
        self.host.turn(self._sessions[session], self._sessions[session].turns[turn])

    def _end(self, session: int) -> None:
        self.host.end(self._sessions[session])

    def _work(self) -> None:
        self.host.work()

    def _model_down(self, down: bool) -> None:  # noqa: FBT001
        if self._model is not None:
            self._model.down = down

    def _observe(self, facts: list[str]) -> Any:
        return self.host.observe([self._facts[id] for id in facts])
