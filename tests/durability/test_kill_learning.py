"""kill -9 at each step of digestion, roll-up, base document, compaction and splitting.

The result is the same as without kills.
"""

import re
import shutil
from collections import Counter
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from holdfast.engine import Engine
from holdfast.learning.capture_kinds import CONCLUSIONS, TYPED_FACTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.learning.summaries.roll_up import RollUp
from holdfast.presets.base import BaseDocument, MemoryCap, Paragraph, Preset, TopicRules
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine
from holdfast.types import Kind
from tests.sampling import Sample

from .support import USER, KillableStore, KillPoint, KillSwitch, log_to_file, posix_only, start, tiny_source

pytestmark = [posix_only, pytest.mark.long]

_KINDS = (
    Kind(name="fact", meaning="f"),
    Kind(name="conclusion", meaning="c"),
    Kind(name="summary", meaning="s"),
    Kind(name="profile", meaning="p", keyed="one", pinned=True),
)
_LOOSE = ReconcileRules(supersede=False, same_distance=None)
PRESETS = {
    "cascade": Preset(
        name="cascade", kinds=_KINDS, default_kind="fact", extractor=TYPED_FACTS, reconcile_rules=_LOOSE,
        roll_up=RollUp(threshold=6, keep=2), base=BaseDocument(when=RollUp(threshold=1, keep=0), kind="profile"),
    ),
    "cap": Preset(
        name="cap", kinds=_KINDS, default_kind="fact", extractor=Paragraph(kind="fact"), reconcile_rules=_LOOSE,
        cap=MemoryCap(kind="fact", max_memories=3),
    ),
    "pages": Preset(
        name="pages", kinds=_KINDS, default_kind="conclusion", extractor=CONCLUSIONS, reconcile_rules=_LOOSE,
        topics=TopicRules(kind="conclusion", max_lines=10),
    ),
}  # fmt: skip
POINTS = ("before commit", "after commit", "file:log sync", "before statement", "embedding")
TIMES = (1, 2, 4, 7, 12, 20, 33)


def _open(folder: Path, name: str, kill_switch: KillSwitch, *, later: timedelta = timedelta(0)) -> Engine:
    kill_switch.install()
    store = KillableStore(folder / "memory.db")
    store.kill_switch = kill_switch
    clock = FrozenClock("2026-03-01")
    clock.advance(later)
    return build_engine(store, preset=PRESETS[name], embedder=tiny_source(kill_switch), clock=clock, worker="none")


def prepare(folder: Path, name: str) -> None:
    """Add and end sessions whose digestion takes every step that the test kills. Nothing is digested yet."""
    with _open(folder, name, KillSwitch()) as memory:
        for number in range(5):
            talk = memory.session(user=USER, id=f"s{number}")
            for turn, thing in enumerate(("bread with flour", "rice with saffron")):
                talk.add(
                    "user", f"I own {number + 2} jars of {thing} from Oslo{number}{turn}. We decided to buy batch {number}{turn}."
                )
                talk.add("assistant", "Noted.")
            talk.end()
        if name == "pages":
            for number in range(9):
                memory.remember(f"{'bread' if number % 2 else 'rice'} note {number}", user=USER, topic="cooking")


def work_until_killed(folder: Path, name: str, kill_point: KillPoint, pipe: Connection) -> None:
    """Do all queued work, unless the process is killed first."""
    log_to_file(folder)
    with _open(folder, name, KillSwitch(kill_point)) as memory:
        memory.drain()
    pipe.send("done")


def state(folder: Path, name: str) -> tuple[Counter[tuple[object, ...]], int]:
    """Finish the remaining work. Return all memories and the number of messages."""
    with _open(folder, name, KillSwitch(), later=timedelta(hours=1)) as memory:
        memory.drain()
        assert [job for job in memory.jobs(limit=1000) if job.state != "done"] == []
        known = services(memory).store.memories(MemoryFilter(statuses=None))
        messages = len(services(memory).store.messages(MessageFilter()))
    # Sessions can be digested in another order after a kill. The base document, the title of a page, and the choice of
    # memories that are merged at the cap depend on the order.
    if name == "cap":
        live = [memory for memory in known if memory.status == "live"]
        said = [(memory.kind, thing, memory.status, False) for memory in live for thing in _THINGS.findall(memory.text)]
        return Counter([*said, *(("live", "", "live", False) for _ in live)]), messages
    return Counter((m.kind, "" if m.kind == "profile" else m.text, m.status, bool(m.topic)) for m in known), messages


_THINGS = re.compile(r"Oslo\d\d|batch \d\d")
"""Matches the content of the messages of :func:`prepare`. Each message has its own number."""


def _pages(folder: Path) -> int:
    with _open(folder, "pages", KillSwitch(), later=timedelta(hours=1)) as memory:
        return len(memory.topics.list(user=USER))


@pytest.mark.ledger("X6")
@pytest.mark.parametrize("name", PRESETS)
def test_a_kill_at_any_step_of_learning_does_not_change_the_result(tmp_path: Path, sample: Sample, name: str) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    prepare(ready, name)
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(ready, undisturbed)
    expected = state(undisturbed, name)
    known = list(expected[0])
    assert {  # every step must have an effect, or the kills would prove nothing
        "cascade": {"fact", "summary", "profile"} <= {kind for kind, *_ in known},
        "cap": expected[0]["live", "", "live", False] == 3 and len(known) == 21,
        "pages": any(topic for *_, topic in known) and _pages(undisturbed) > 1,
    }[name]
    killed = 0
    for offset, point in enumerate(POINTS, list(PRESETS).index(name)):
        for nth in sample.of(TIMES, start=offset):
            trial = tmp_path / "trial"
            shutil.copytree(ready, trial)
            child, pipe = start(
                work_until_killed, trial, name, KillPoint(point, nth * (20 if point == "before statement" else 1))
            )
            child.join(60)
            pipe.close()
            survived = child.exitcode == 0
            killed += not survived
            assert state(trial, name) == expected, f"killed at {point} number {nth}"
            shutil.rmtree(trial)
            if survived:
                break
    assert killed >= sample.size(12, short=4)
