"""A test helper with a store and the folder that mirrors the store's topics."""

import os
from dataclasses import replace
from pathlib import Path

from holdfast import Engine
from holdfast.presets.base import TopicRules
from holdfast.presets.default import DEFAULT
from holdfast.services import services
from holdfast.topic_files import SyncReport, TopicFiles
from holdfast.types import Author, Kind, Memory, Put, Scope
from holdfast.write import Writer

PRESET = replace(
    DEFAULT,
    kinds=(*DEFAULT.kinds, Kind(name="recent", meaning="The topic of a conversation", keyed="many")),
    topics=TopicRules(kind="fact", recent_kind="recent"),
)
ANA = Scope(user="ana")
RICE, BROTH, NUTS = "Prefers bomba rice for paella", "Uses homemade chicken broth, never stock cubes", "Allergic to tree nuts"


class Workspace:
    """A store and its folder, with shortcuts for edits on both sides."""

    def __init__(self, memory: Engine, topics: Path) -> None:
        self.memory = memory
        self.topics = topics
        self.files = self.mirror()

    def mirror(self) -> TopicFiles:
        return TopicFiles(services(self.memory).store, PRESET, services(self.memory).clock, self.topics, ANA, settle_seconds=0.0)

    def keep(self, text: str, topic: str = "cooking") -> Memory:
        return self.memory.remember(text, user="ana", kind="fact", topic=topic)

    def note(self, text: str, topic: str = "cooking", **more: str) -> Memory:
        return self.memory.remember(text, user="ana", kind="recent", key=f"{topic}:{text}", topic=topic, **more)  # type: ignore[arg-type]

    def read(self, name: str = "cooking.md") -> str:
        return (self.topics / name).read_text("utf-8")

    def save(self, text: str, name: str = "cooking.md") -> None:
        """Write a file as an editor would, with a modification time that differs from the previous one."""
        self.save_bytes(text.encode(), name)

    def save_bytes(self, data: bytes, name: str = "cooking.md") -> None:
        """Write any bytes to a file, as :meth:`save` does with text."""
        path = self.topics / name
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.write_bytes(data)
        os.utime(path, ns=(before + 10**9, max(before + 10**9, path.stat().st_mtime_ns)))

    def edit(self, old: str, new: str, name: str = "cooking.md") -> SyncReport:
        text = self.read(name)
        assert old in text
        self.save(text.replace(old, new), name)
        return self.files.sync()

    def known(self, topic: str | None = "cooking") -> list[str]:
        found = self.memory.memories(user="ana", kinds=["fact"], topic=topic, limit=1000)
        return sorted(memory.text for memory in found)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.topics.iterdir())

    def fill(self, count: int, topic: str = "cooking") -> list[Memory]:
        words = "rice bread soup fish beans pasta salad cheese eggs fruit".split()
        return [self.keep(f"Line {n}: {words[n % 10]} number {n * 7919} on {words[n // 10 % 10]}", topic) for n in range(count)]


def revise(workspace: Workspace, text: str, new: str) -> Memory:
    (memory,) = [m for m in workspace.memory.memories(user="ana") if m.text == text]
    return workspace.memory.revise(memory.id, new)


def relabel(workspace: Workspace, texts: dict[str, str]) -> None:
    """Move the memories on the page "cooking" to new topics, as a split does. ``texts`` maps a memory's text to its topic."""
    with services(workspace.memory).store.write() as tx:
        writer = Writer(tx=tx, preset=PRESET, author=Author(actor="split"), now=services(workspace.memory).clock.now())
        for memory in workspace.memory.memories(user="ana", topic="cooking", limit=100):
            put = Put(id=memory.id, scope=ANA, kind="fact", text=memory.text, topic=texts[memory.text])
            writer.apply([put])
