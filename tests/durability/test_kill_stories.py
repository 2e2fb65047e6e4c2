"""kill -9 during each preset's scenario. A scenario that is resumed after a kill has the same result as without the kill."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import pytest

from holdfast.engine import Engine
from holdfast.presets import PRESETS
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine
from tests.sampling import Sample

from .support import KillableStore, KillPoint, KillSwitch, log_to_file, posix_only, start, tiny_source

pytestmark = [posix_only, pytest.mark.long]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a scenario. Running it a second time must change nothing, because a killed step is repeated."""

    does: Literal["say", "end", "work", "wait", "context", "remember"]
    text: str = ""
    session: str = "talk"
    role: str = "user"
    app: str | None = None
    minutes: int = 0


def _talk(*said: str, session: str = "talk", app: str | None = None, close: Literal["end", "wait", ""] = "end") -> list[Step]:
    """Return the steps of a session in which every message gets a reply."""
    steps: list[Step] = []
    for text in said:
        steps += [
            Step("say", text, session=session, app=app),
            Step("context", session=session, app=app),
            Step("say", "I see.", session=session, app=app, role="assistant"),
        ]
    if close == "end":
        steps.append(Step("end", session=session, app=app))
    elif close == "wait":
        steps.append(Step("wait", minutes=8))
    return [*steps, Step("work")]


_PAELLA = (
    "I decided that bomba rice is the one for my paella.",
    "I found out that homemade chicken broth makes the paella better.",
    "I have decided to never put chorizo into a paella again.",
)
STORIES: dict[str, list[Step]] = {
    "default": [
        *_talk("My name is Ana and I work at NASA.", "I live in Portland.", session="first"),
        *_talk("I moved to Seattle last week.", "My sister Rosa is a nurse.", session="second"),
        Step("remember", "prefers tea"),
        Step("work"),
    ],
    "rostro": [
        *_talk(*_PAELLA, session="first", close="wait"),
        *_talk("How much broth does the paella rice need?", "I decided that the paella gets saffron.", session="next", close="wait"),
    ],
    "lobug": [step for number in range(16) for step in _talk(f"On day {number} I met Rosa{number} in Oslo.", session="log", close="")],
    "apps": [
        step
        for number in range(12)
        for step in _talk(f"I set the lamp of room {number} to {number + 10} percent.", session=f"s{number}", app="lights")
    ],
    "reachy": [
        Step("remember", "User prefers to be called Alex"),
        *_talk("Look at the red ball.", "Now at the door."),
        Step("wait", minutes=60 * 24),
        Step("work"),
    ],
    "rumi": [
        *_talk("Me llamo Lucas y vivo en Buenos Aires.", "Trabajo en una startup de fintech.", session="uno"),
        Step("remember", "editor: Neovim"),
        *_talk("Tengo un gato llamado Michi.", session="dos"),
    ],
}  # fmt: skip
_A_STEP = timedelta(seconds=10)
_POINTS = [
    KillPoint(point, nth)
    for point, times in (
        ("before commit", (3, 11, 26)),
        ("after commit", (5, 17)),
        ("before statement", (60, 300)),
        ("embedding", (2,)),
    )
    for nth in times
]


def _open(folder: Path, name: str, kill_switch: KillSwitch, clock: FrozenClock) -> Engine:
    folder.mkdir(exist_ok=True)
    kill_switch.install()
    store = KillableStore(folder / "memory.db")
    store.kill_switch = kill_switch
    return build_engine(store, preset=PRESETS[name], embedder=tiny_source(kill_switch), clock=clock, worker="none")


def _perform(memory: Engine, clock: FrozenClock, number: int, step: Step) -> None:
    talk = memory.session(id=step.session, app=step.app, shared=step.app is None)
    match step.does:
        case "say":
            talk.add(step.role, step.text, id=f"step {number}")
        case "end":
            talk.end()
        case "context":
            talk.context()
        case "remember":
            memory.remember(step.text)
        case "work":
            memory.drain()
        case "wait":
            clock.advance(timedelta(minutes=step.minutes))


def run_story(folder: Path, name: str, kill_point: KillPoint | None, pipe: Connection) -> None:
    """Continue a scenario from the first unfinished step. Runs in a child process, which the test may kill."""
    folder.mkdir(exist_ok=True)
    log_to_file(folder)
    continue_story(folder, name, kill_point)
    pipe.send("done")


def continue_story(folder: Path, name: str, kill_point: KillPoint | None = None) -> None:
    """Run the remaining steps of a scenario, and record how many are finished."""
    told = folder.with_suffix(".steps")
    done = int(told.read_text()) if told.exists() else 0
    clock = FrozenClock("2026-03-01T09:00:00")
    clock.advance(timedelta(minutes=sum(step.minutes for step in STORIES[name][:done])) + _A_STEP * done)
    with _open(folder, name, KillSwitch(kill_point), clock) as memory:
        for number, step in enumerate(STORIES[name][done:], done):
            _perform(memory, clock, number, step)
            clock.advance(_A_STEP)
            told.write_text(str(number + 1))


def _end(folder: Path, name: str) -> object:
    """Finish all work. Return all memories, all messages, and the lines of a context block."""
    clock = FrozenClock("2026-03-01T09:00:00")
    clock.advance(timedelta(days=2 if name == "reachy" else 0, hours=6))
    app = "lights" if name == "apps" else None
    with _open(folder, name, KillSwitch(), clock) as memory:
        memory.drain()
        assert [job for job in memory.jobs(limit=1000) if job.state != "done"] == []
        known = services(memory).store.memories(MemoryFilter(statuses=None))
        told = Counter((m.kind, m.key if m.kind != "recent" else "", m.text, m.topic, m.status) for m in known)
        said = [message.text for message in services(memory).store.messages(MessageFilter())]
        prompt = memory.session(id="new", app=app, shared=app is None).context("what do you know of me?").text.splitlines()
        return told, said, sorted(line for line in prompt if "memory id=" not in line)


@pytest.mark.ledger("U9", "X6")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", STORIES)
def test_a_kill_during_a_scenario_does_not_change_its_result(tmp_path: Path, sample: Sample, name: str) -> None:
    whole, pipe = start(run_story, tmp_path / "whole", name, None)
    whole.join(120)
    assert whole.exitcode == 0
    expected = _end(tmp_path / "whole", name)
    killed = 0
    for kill_point in sample.of(_POINTS, start=list(STORIES).index(name)):
        folder = tmp_path / f"{kill_point.point} {kill_point.nth}"
        first, pipe = start(run_story, folder, name, kill_point)
        first.join(120)
        killed += first.exitcode != 0
        second, pipe = start(run_story, folder, name, None)
        second.join(120)
        pipe.close()
        assert second.exitcode == 0
        assert _end(folder, name) == expected, f"killed at {kill_point}"
    assert killed >= sample.size(4, short=1), "the kills must fall into the story"
