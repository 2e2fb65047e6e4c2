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
    s0010 s0257 s0354 s0050 s0021 s0378 s0264 s0003 s0277 s0054 s0296 s0364 s0059 s0180 s0255 s0240 s0335 s0263 s0113 s0194 s0413
    s0061 s0445 s0300 s0366 s0145 s0117 s0149 s0455 s0396 s0256 s0285 s0098 s0252 s0275 s0178
""".split()
LOCOMO = {
    "conv-44/S6": 0,
    "conv-48/S24": 1,
    "conv-50/S10": 1,
    "conv-48/S12": 0,
    "conv-43/S24": 1,
    "conv-49/S6": 0,
    "conv-44/S15": 1,
    "conv-41/S9": 1,
    "conv-48/S13": 1,
}
"""Sessions of LoCoMo, and which speaker is the user: the one of the first message (0) or the other one (1)."""

USEFUL = 0.59
"""Measured on 2026-11-18: 90 of 150 memories in the first pass, 89.5 as the mean of the passes. The promise X23 (four of five) is therefore not shown."""


def _sessions(folder: Path) -> Iterator[tuple[str, str, DatedSession]]:
    """Yield the id of each session, the speaker who is the user, and the session."""
    (pool,) = load(folder / "longmemeval.json").conversations
    yield from ((session.id, "user", session) for session in pool.sessions if session.id in LONGMEMEVAL)
    for conversation in load(folder / "locomo.json").conversations:
        for session in conversation.sessions:
            if (name := f"{conversation.id}/{session.id}") in LOCOMO:
                speakers = list(dict.fromkeys(turn.speaker for turn in session.turns))
                yield name, speakers[LOCOMO[name]], session


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
    verdicts = {(row["session"], row["sum"]): row["verdicts"] for row in judged("unseen")}
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
    assert {row["session"] for row in judged("unseen")} <= {*LONGMEMEVAL, *LOCOMO}
    assert {frozenset(row) for row in judged("unseen")} == {
        frozenset({"round", "source", "session", "sum", "kept", "verdicts", "clear"})  # no text
    }


def test_the_documented_shares_are_those_of_the_verdicts() -> None:
    now = real_talk()[-1]
    shares = [f"{now.shares[name]:.0%}".replace("%", " %") for name in ("useful", "junk", "broken", "duplicate")]
    figures = " | ".join([str(now.memories), *shares, f"{now.clear:.0%}".replace("%", " %")])
    assert f"| {figures} |" in (ROOT / "docs" / "learning.md").read_text("utf-8")
