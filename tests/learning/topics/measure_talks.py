"""Measure how well topics are found and named without a chat model, on the conversations in ``talks.toml``.

Run with ``python -m tests.learning.topics.measure_talks``.
"""

import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import holdfast
from holdfast import Engine
from holdfast.services import services
from holdfast.text.clean import fold

TALKS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "talks.toml").read_text("utf-8"))
_MIN_PREFIX = 4


def sensible(name: str, names: list[str]) -> bool:
    """Return True if a topic's name is one that a person might choose.

    ``names`` are the words that people would choose. Each word of the name must have the same beginning as one of them.
    """
    wanted = [fold(word)[:_MIN_PREFIX] for word in names]
    return bool(name) and all(any(fold(word).startswith(prefix) for prefix in wanted) for word in name.split("-"))


def _memory(folder: str) -> Engine:
    return holdfast.open(Path(folder) / "memory.db", preset="rostro", worker="none", settings={"chat": None})


def found_topic(engine: Engine, messages: list[str]) -> str | None:
    """Run a conversation, and return the topic that is detected by its end."""
    session = engine.session()
    for text in messages:
        session.add("user", text)
        engine.drain()
        record = services(engine).store.session(session.id, session.scope)
        if record is not None and record.metadata.get("topic"):
            return str(record.metadata["topic"])
    return None


def with_pages(engine: Engine, language: str) -> None:
    """Store the topic pages that ``talks.toml`` has in a language."""
    for topic, lines in TALKS["pages"][language].items():
        for line in lines:
            engine.remember(line, topic=topic)
    engine.drain()


def new_topics(messages: list[str]) -> list[str]:
    """Run a conversation in an empty memory, and return the resulting topics."""
    with tempfile.TemporaryDirectory() as folder, _memory(folder) as engine:
        with engine.session() as session:
            for text in messages:
                session.add("user", text)
                session.add("assistant", "OK.")
        engine.drain()
        return sorted({memory.topic for memory in engine.memories() if memory.topic})


class _Tally:
    """Counts, for each metric, all conversations and those with the right topic."""

    def __init__(self, *, show: bool) -> None:
        self.right: Counter[str] = Counter()
        self.total: Counter[str] = Counter()
        self._show = show

    def count(self, name: str, talk: dict[str, Any], found: object, *, ok: bool) -> None:
        """Count one conversation for the metric ``name``. If it is wrong and ``show`` is set, print the ``found`` topics."""
        self.total[name] += 1
        self.right[name] += ok
        if self._show and not ok:
            print(f"{name}: {talk['messages'][0]!r} -> {found}")  # noqa: T201


def _talks(kind: str, split: str, language: str | None = None) -> list[dict[str, Any]]:
    return [talk for talk in TALKS[kind] if talk["split"] == split and language in (None, talk["language"])]


def measure(split: str, *, show: bool = False) -> dict[str, tuple[int, int]]:
    """Run all conversations of a split. For each metric, return the number of right ones and the number of all."""
    tally = _Tally(show=show)
    for language in ("en", "es"):
        with tempfile.TemporaryDirectory() as folder, _memory(folder) as engine:
            with_pages(engine, language)
            for talk in _talks("known", split, language):
                found = found_topic(engine, talk["messages"])
                tally.count("found", talk, found, ok=found == talk["topic"])
            for talk in _talks("small", split, language):
                found = found_topic(engine, talk["messages"])
                tally.count("small", talk, found, ok=found is None)
    for talk in _talks("small", split):
        made = new_topics(talk["messages"])
        tally.count("small-new", talk, made, ok=not made)
    for talk in _talks("new", split):
        made = new_topics(talk["messages"])
        tally.count("named", talk, made, ok=len(made) == 1 and sensible(made[0], talk["names"]))
    return {name: (tally.right[name], total) for name, total in tally.total.items()}


if __name__ == "__main__":
    for part in sys.argv[1:] or ("tune", "held", "check"):
        print(part, measure(part, show=part == "tune"))  # noqa: T201
