"""One of many source messages is erased after later sessions. The store is then the same as if it had never been added."""

import time
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.config.opening import open_engine
from holdfast.testing import FrozenClock
from tests.sampling import Sample

pytestmark = [pytest.mark.long, pytest.mark.ledger("X5", "X7")]

EARLIER = 10
LATER, MESSAGES = 50, 95
SHORT_LATER, SHORT_MESSAGES = 20, 38
"""Sizes without ``--full``."""
TOWNS = "Lyon Porto Quito Lima Rome Turin Cadiz Bergen Delft Ghent".split()
POISON = "My accountant is called Zubrowka, and he lives in Zanzibar."
MAX_SECONDS = 60


def _fill(memory: Engine, clock: FrozenClock, later: int, messages: int, *, poisoned: bool) -> str | None:
    """Store sessions with N messages each, and then later sessions with one message each.

    With ``poisoned``, also store the message ``POISON`` in session s5, and return its id. Otherwise, return None.
    """
    source = None
    for number in range(EARLIER + later):
        talk = memory.session(user="ana", id=f"s{number}")
        for place in range(messages if number < EARLIER else 1):
            if place % 19 == 0:
                talk.add("user", f"My friend number {number}.{place} lives in {TOWNS[(number + place) % len(TOWNS)]}.")
            else:
                talk.add("tool", f"row {number}.{place}")
            if poisoned and (number, place) == (5, 19):
                source = talk.add("user", POISON).id
        talk.end()
        clock.advance(timedelta(hours=1))
        memory.drain()
    return source


def _state(memory: Engine) -> tuple[list[tuple[object, ...]], list[tuple[str, str, str]]]:
    """Return everything that is stored about the user, without ids."""
    memories = [
        (each.kind, each.key, each.text, each.tags, each.topic, each.trust) for each in memory.memories(user="ana", limit=5000)
    ]
    sessions = [session.id for session in memory.sessions(user="ana", limit=1000)]
    messages = [(id, each.role, each.text) for id in sessions for each in memory.session(user="ana", id=id).messages(limit=None)]
    return sorted(memories, key=str), sorted(messages)


@pytest.mark.timeout(600)
def test_after_one_of_many_sources_is_revoked_the_store_is_as_if_it_had_never_been_there(tmp_path: Path, sample: Sample) -> None:
    later, messages = sample.size(LATER, short=SHORT_LATER), sample.size(MESSAGES, short=SHORT_MESSAGES)
    states = {}
    for poisoned in (False, True):
        clock = FrozenClock("2026-03-01T12:00:00")
        memory = open_engine(str(tmp_path / f"{poisoned}.db"), embedder="none", worker="none", clock=clock)
        source = _fill(memory, clock, later, messages, poisoned=poisoned)
        if source is not None:
            assert any("Zubrowka" in each.text for each in memory.memories(user="ana", limit=5000))
            begin = time.monotonic()
            assert memory.erase(source=source).verified
        while memory.drain():
            pass
        states[poisoned] = _state(memory)
        memory.close()
    assert time.monotonic() - begin < MAX_SECONDS
    assert states[True] == states[False]
    assert len(states[False][1]) == EARLIER * messages + later == sample.size(1000, short=400)
    assert [file for file in tmp_path.rglob("*") if file.is_file() and b"Zubrowka" in file.read_bytes()] == []
    assert [file for file in tmp_path.rglob("*") if file.is_file() and b"Bergen" in file.read_bytes()], "a control"
