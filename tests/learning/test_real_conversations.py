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
    s0192 s0274 s0302 s0316 s0463 s0037 s0181 s0174 s0052 s0132 s0243 s0100 s0310 s0323 s0093 s0306 s0434 s0237 s0377
    s0217 s0171 s0120 s0353 s0228 s0133 s0108 s0040 s0420 s0109 s0057 s0090 s0307 s0397 s0025 s0019 s0342 s0015 s0387
    s0438 s0210
""".split()
LOCOMO = """
    conv-48/S16/0 conv-49/S20/1 conv-26/S11/1 conv-48/S28/0 conv-48/S11/1 conv-48/S9/1 conv-49/S10/0 conv-26/S6/0
    conv-50/S8/1 conv-50/S20/1 conv-41/S28/0 conv-41/S17/0 conv-43/S16/1 conv-50/S22/1 conv-26/S5/1
""".split()
"""Sessions of LoCoMo, and which speaker is the user: the one of the first message (0) or the other one (1)."""
BEAM = """
    beam-7/B2 beam-8/B1 beam-8/B3
""".split()

USEFUL = 0.8
"""Measured on 2026-11-19: the mean of two judges is .852 of 243 memories."""


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
@pytest.mark.ledger("X23")
@pytest.mark.timeout(600)
def test_most_memories_of_real_conversations_are_judged_useful(conversations: Path, tmp_path: Path) -> None:
    verdicts = {(row["session"], row["sum"]): row["verdicts"] for row in judged("pairs")}
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
    assert {row["session"] for row in judged("pairs")} <= {*LONGMEMEVAL, *LOCOMO, *BEAM}
    assert {frozenset(row) for row in judged("pairs")} == {
        frozenset({"round", "source", "session", "sum", "kept", "verdicts", "clear"})  # no text
    }


def test_the_documented_shares_are_those_of_the_verdicts() -> None:
    now = real_talk()[-1]
    shares = [f"{now.shares[name]:.0%}".replace("%", " %") for name in ("useful", "junk", "broken", "duplicate")]
    figures = " | ".join([str(now.memories), *shares, f"{now.clear:.0%}".replace("%", " %")])
    assert f"| {figures} |" in (ROOT / "docs" / "learning.md").read_text("utf-8")
