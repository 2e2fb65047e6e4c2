"""Memories that the engine extracts from public conversations, compared with recorded verdicts on them.

The texts are not in this repository, because their licenses do not allow it: run with ``--conversations FOLDER``. The
verdicts are in ``holdfast_bench/labelled/judged.jsonl``, with the checksum of each memory. The sessions were drawn by a
hash of their ids, without sessions that are known to have been judged before.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.testing import FrozenClock
from holdfast_bench.learning.real_talk import judged, real_talk
from holdfast_bench.recall.datasets import DatedSession, load

ROOT = Path(__file__).parent.parent.parent
LONGMEMEVAL = """
    s0308 s0459 s0020 s0287 s0332 s0247 s0419 s0374 s0125 s0430 s0375 s0249 s0262 s0094 s0448 s0185 s0338 s0106 s0016 s0066
    s0326 s0221 s0351 s0107 s0248 s0350 s0032 s0242 s0251 s0428 s0468 s0177 s0230 s0384 s0259 s0382
""".split()
LOCOMO = """
    conv-43/S21/1 conv-44/S5/0 conv-44/S23/1 conv-44/S2/0 conv-41/S25/1 conv-50/S6/0 conv-43/S22/0 conv-43/S25/1
    conv-44/S21/1 conv-48/S27/0 conv-48/S14/1 conv-48/S29/0 conv-49/S24/0 conv-41/S17/1
""".split()
"""Sessions of LoCoMo, and which speaker is the user: the one of the first message (0) or the other one (1)."""
BEAM = """
    beam-1/B2 beam-3/B1 beam-6/B2
""".split()

USEFUL = 0.7
"""Measured on 2026-11-18: the mean of two judges is .709 of 237 memories. The promise X23 (four of five) is therefore not shown."""


def _sessions(folder: Path) -> Iterator[tuple[str, str, DatedSession]]:
    """Yield the id of each session, the speaker who is the user, and the session."""
    (pool,) = load(folder / "longmemeval.json").conversations
    yield from ((session.id, "user", session) for session in pool.sessions if session.id in LONGMEMEVAL)
    for conversation in load(folder / "locomo.json").conversations:
        for session in conversation.sessions:
            for number, speaker in enumerate(dict.fromkeys(turn.speaker for turn in session.turns)):
                if (name := f"{conversation.id}/{session.id}/{number}") in LOCOMO:
                    yield name, speaker, session
    for conversation in load(folder / "beam.json").conversations:
        for session in conversation.sessions:
            if (name := f"{conversation.id}/{session.id}") in BEAM:
                yield name, "user", session


def _kept(folder: Path, user: str, session: DatedSession) -> list[str]:
    """Return the memories that the engine extracts from a session on the day of the session."""
    clock = FrozenClock(session.at.replace(tzinfo=None).isoformat())
    with holdfast.open(folder, worker="none", chat="none", clock=clock) as memory:
        with memory.session(user="ana") as talk:
            for turn in session.turns:
                talk.add("user" if turn.speaker == user else "assistant", turn.text)
        memory.drain()
        return [found.text for found in memory.memories(user="ana", limit=1000)]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_most_memories_of_real_conversations_are_judged_useful(conversations: Path, tmp_path: Path) -> None:
    verdicts = {(row["session"], row["sum"]): row["verdicts"] for row in judged("verdicts")}
    sums = [
        (name, hashlib.sha256(text.encode()).hexdigest()[:8])
        for number, (name, user, session) in enumerate(_sessions(conversations))
        for text in _kept(tmp_path / str(number), user, session)
    ]
    known = [verdicts[each] for each in sums if each in verdicts]
    useful = sum(each.count("useful") / len(each) for each in known)
    assert len(known) >= 0.9 * len(sums), f"{len(sums) - len(known)} of {len(sums)} memories have no verdict: judge them"
    assert useful >= USEFUL * len(known), f"{useful} of {len(known)} memories are useful"


def test_the_verdicts_name_only_sessions_that_the_test_plays() -> None:
    assert {row["session"] for row in judged("verdicts")} <= {*LONGMEMEVAL, *LOCOMO, *BEAM}
    assert {frozenset(row) for row in judged("verdicts")} == {
        frozenset({"round", "source", "session", "sum", "kept", "verdicts", "clear"})  # no text
    }


def test_the_documented_shares_are_those_of_the_verdicts() -> None:
    now = real_talk()[-1]
    shares = [f"{now.shares[name]:.0%}".replace("%", " %") for name in ("useful", "junk", "broken", "duplicate")]
    figures = " | ".join([str(now.memories), *shares, f"{now.clear:.0%}".replace("%", " %")])
    assert f"| {figures} |" in (ROOT / "docs" / "learning.md").read_text("utf-8")
