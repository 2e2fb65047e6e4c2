"""Plays a story: turns, restarts, kills and outages, in the order of the story's time.

Kills are real. The process that holds the store gets SIGKILL, and a new process opens the store. A call that was
interrupted is repeated, as a host repeats a message that was not acknowledged. At the end of each scored day, the
process is restarted, and the questions are asked on a copy of the store.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from holdfast_bench.story.hosts import HOSTS, Observation
from holdfast_bench.story.process import HostProcess, ModelMode
from holdfast_bench.story.script import Session, Story
from holdfast_bench.story.words import leaks

BETWEEN_TURNS: Final = timedelta(seconds=20)
IDLE: Final = timedelta(minutes=8)
"""Pause before a session ends, in the story's time. It is longer than the seven idle minutes after which Rostro ends a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The data from which a day of the story is scored.

    ``observation`` has the texts that the design stores and those it shows for each question. ``kills`` and ``restarts`` count
    from the start of the story.
    """

    day: int
    observation: Observation
    leaked: Mapping[str, str]
    """Maps the id of each secret that was found in the store's files to the name of the file."""
    kills: int
    restarts: int


def play(
    story: Story,
    folder: Path,
    *,
    model: ModelMode = "none",
    embedder: str = "none",
    last_day: int | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> list[Day]:
    """Play a story in an empty folder, and return the scored days up to ``last_day``."""
    player = _Player(story, folder, model=model, embedder=embedder)
    found = []
    end = last_day or story.days[-1]
    try:
        for day in range(1, end + 1):
            player.play_day(day)
            progress(f"{story.name}, model {model}", day, end)
            if day in story.days or day == end:
                found.append(player.score(day))
    finally:
        player.close()
    return found


class _Player:
    def __init__(self, story: Story, folder: Path, *, model: ModelMode, embedder: str) -> None:
        self._story = story
        self._folder = folder / "store"
        self._copy = folder / "copy"
        self._folder.mkdir(parents=True)
        self._mode: ModelMode = model
        self._embedder = embedder
        self._model_down = False
        self._kills = 0
        self._restarts = 0
        self._now = min(story.sessions[0].at, story.day_end(1)) - timedelta(hours=1)
        self._host: HostProcess | None = None

    def play_day(self, day: int) -> None:
        """Play the sessions of a day, then run the nightly background work."""
        for session in self._story.sessions:
            if session.day == day:
                self._play(session)
        self._now = max(self._now, self._story.day_end(day))
        self._running().call("work", self._now)

    def score(self, day: int) -> Day:
        """Scan the files for secrets, restart the host on a copy of the store, and ask about all facts stated so far."""
        leaked = {**self._scan(day), **self._stopped_scan(day)}
        shutil.copytree(self._folder, self._copy)
        try:
            observer = self._start(self._copy)
            observation = observer.call("observe", self._now, facts=list(stated(self._story, day)))
            observer.kill()
        finally:
            shutil.rmtree(self._copy)
        return Day(day=day, observation=observation, leaked=leaked, kills=self._kills, restarts=self._restarts)

    def close(self) -> None:
        """Stop the host, if one is running."""
        if self._host is not None:
            with suppress(OSError):
                self._host.kill()
            self._host = None

    def _play(self, session: Session) -> None:
        self._now = max(self._now, session.at)
        during = False
        for event in session.events_before:
            match event:
                case "restart":
                    self._stop()
                case "kill":
                    self._kill()
                case "kill_during":
                    during = True
                case _:
                    self._model_down = event == "model_down"
                    self._running().call("model_down", self._now, down=self._model_down)
        steps: list[tuple[str, dict[str, int]]] = [
            ("turn", {"session": session.number, "turn": number}) for number in range(len(session.turns))
        ]
        steps.append(("end", {"session": session.number}))
        killed = (len(steps) - 1 if HOSTS[self._story.design].kills_at_end else len(session.turns) // 2) if during else None
        for number, (name, arguments) in enumerate(steps):
            self._now += IDLE if name == "end" else BETWEEN_TURNS
            if number == killed:
                self._running().kill_during(name, self._now, **arguments)
                self._host = None
                self._kills += 1
            self._running().call(name, self._now, **arguments)

    def _running(self) -> HostProcess:
        if self._host is None:
            self._host = self._start(self._folder)
        return self._host

    def _start(self, folder: Path) -> HostProcess:
        return HostProcess(
            self._story, folder, model=self._mode, embedder=self._embedder, now=self._now, model_down=self._model_down
        )

    def _kill(self) -> None:
        self._running().kill()
        self._host = None
        self._kills += 1

    def _stop(self) -> None:
        self._running().stop()
        self._host = None
        self._restarts += 1

    def _stopped_scan(self, day: int) -> dict[str, str]:
        self._stop()
        return self._scan(day)

    def _scan(self, day: int) -> dict[str, str]:
        """Return the secrets of the past days that are found in the store's files, each with the name of the file."""
        refused = {id for session in self._story.sessions if session.day <= day for turn in session.turns for id in turn.refused}
        files = [file for file in sorted(self._folder.rglob("*")) if file.is_file()]
        found = {}
        for id in sorted(refused):
            place = next((file for file in files if leaks(file, self._story.secrets[id].find)), None)
            if place is not None:
                found[id] = place.relative_to(self._folder).as_posix()
        return found


def stated(story: Story, day: int) -> Iterator[str]:
    """Yield the ids of the facts stated up to a day, in the order of the story file."""
    told = {id for session in story.sessions if session.day <= day for turn in session.turns for id in turn.facts}
    return (id for id in story.facts if id in told)


def ended(story: Story, day: int) -> set[str]:
    """Return the ids of the facts that are no longer true at the end of a day. A fact that is stated again is true again."""
    over: dict[str, datetime] = {}
    for session in story.sessions:
        for turn in session.turns:
            if session.day <= day:
                over.update(dict.fromkeys(turn.ends, session.at))
                for id in turn.facts:
                    if id not in turn.ends:
                        over.pop(id, None)
    return set(over)
