"""A store with data of every type, for exports."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from holdfast import Engine, Kind
from holdfast.config.opening import open_engine
from holdfast.presets import find_preset
from holdfast.testing import FrozenClock, HashEmbedder

ITEM = Kind(name="item", meaning="An item of an application", keyed="one", plain=True)
DEFAULT = find_preset("default")
PRESET = replace(DEFAULT, kinds=(*DEFAULT.kinds, ITEM))


def fill(memory: Engine) -> None:
    """Store sessions, messages, memories in every state, apps, profiles and jobs, for several users."""
    memory.apps.install("kitchen", name="Kitchen helper", shares_with=["garden"], metadata={"version": 2})
    memory.set_user("ana", timezone="Europe/Madrid", language="es")
    memory.set_user("zoe", timezone="Asia/Tokyo")
    _talks(memory)
    _memories(memory)
    memory.drain()
    with memory.session(user="bob", app="kitchen", id="late") as talk:  # its digest stays queued
        talk.add("user", "I moved to Oslo last week.")
    memory.session(user="ana", id="open one").add("user", "Still talking", action="IGNORE")


@cache
def filled_store() -> bytes:
    """Return the bytes of a SQLite store that ``fill`` has filled. Filling takes seconds, so it is done once."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        clock = FrozenClock("2026-03-01T12:00:00")
        memory = open_engine(path=file, preset=PRESET, worker="none", embedder=HashEmbedder(), clock=clock)
        fill(memory)
        memory.close()
        return file.read_bytes()


def _talks(memory: Engine) -> None:
    for user in ("ana", "bob"):
        with memory.session(user=user, id=f"talk of {user}") as talk:
            talk.add("assistant", "Where do you live?", id="q1")
            talk.add(
                "user",
                f"I live in Lyon. My dog is called Rex of {user}.",
                id="a1",
                payload={"z": [1, None], "a": {"ü": "\ud800"}},
            )
            for number in range(45 if user == "ana" else 2):  # 45 are enough for a summary
                talk.add("user", f"On day {number} I planted {number + 3} tulips in the garden.", at=f"2025-0{number % 9 + 1}-11")
            talk.add("tool", "", payload={"call": "weather"})
            talk.add("user", "a slip of the tongue")
            talk.pop()
        memory.drain()
    with memory.session(user="ana", id="talk of ana") as talk:
        talk.add("user", "I moved to Porto. I don't live in Lyon any more.", speaker="Ana María")

    for user, app in (("ana", None), ("ana", "kitchen"), ("bob", None), ("zoe", None)):  # an id is unique within a scope only
        with memory.session(user=user, app=app, id="main") as talk:
            talk.add("user", f"I am {user}, and my city is Lyon.", id="a1")


def _memories(memory: Engine) -> None:
    ana = memory.for_user("ana")
    tea = ana.remember("prefers tea", key="drink", tags=["Hot Drink", "té"], metadata={"a": {"b": [1.5, None, True]}})
    ana.revise(tea.id, "prefers green tea", importance=9, reason="she said so")
    ana.forget(ana.remember("prefers coffee", topic="breakfast").id)
    ana.remember("sits upstairs today", kind="context", key="place")
    ana.remember("sits in the garden today", kind="context", key="place")
    ana.remember("a note", namespace=("docs", "2026"), index=["rivers", "bridges"], created_at="2024-05-01T10:00:00Z")
    ana.remember("never found", index=False, pinned=True, expires_at="2027-01-01")
    for value in ("first", "second", "password: hunter2hunter2"):
        memory.remember(value, kind="item", key=" /a ", user="ana", app="kitchen", namespace=("files",))
    memory.remember("the office is in Madrid")
    memory.remember("likes short answers", agent="helper")


def counted(lines: list[dict[str, Any]]) -> dict[str, int]:
    """Count the lines of an export in the way that an erasure receipt counts rows."""
    memories = [line for line in lines if line["type"] == "memory"]
    of_type = {name: sum(line["type"] == name for line in lines) for name in ("message", "session", "job")}
    revisions = sum(1 + len(line.get("earlier", ())) for line in memories)
    counts = {"memories": len(memories), "revisions": revisions, "messages": of_type["message"]}
    return counts | {"sessions": of_type["session"], "jobs": of_type["job"]}
