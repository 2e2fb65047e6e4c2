"""Random edits of files and memories: nothing is lost, and both sides end in sync."""

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.testing import FrozenClock
from holdfast.topic_files.markdown import page_line, parse_page
from holdfast.types import Memory
from tests.topic_files.support import PRESET, Workspace

WORDS = "rice bread soup fish beans pasta salad cheese eggs fruit wine tea coffee cake oven pan knife spoon market garden".split()


class Chance:
    """Makes random edits. Records the affected memories and the texts that must survive."""

    def __init__(self, workspace: Workspace, seed: int) -> None:
        self.workspace = workspace
        self.choice = random.Random(seed)
        self.count = 0
        self.touched: set[str] = set()
        self.wanted: set[str] = set()

    def text(self) -> str:
        self.count += 1
        return f"{self.count} {' '.join(self.choice.sample(WORDS, 6))}"

    def live(self) -> list[Memory]:
        return self.workspace.memory.memories(user="ana", kinds=["fact"], limit=1000)

    def in_memory(self) -> None:
        what = self.choice.choice(["learn", "revise", "forget", "relabel"])
        live = [memory for memory in self.live() if memory.id not in self.touched and memory.text not in self.wanted]
        if what == "learn" or not live:
            self.wanted.add(self.workspace.keep(self.text(), self.choice.choice(["one", "two", "four"])).text)
            return
        memory = self.choice.choice(live)
        self.touched.add(memory.id)
        if what == "revise":
            self.wanted.add(self.workspace.memory.revise(memory.id, f"{memory.text} again").text)
        elif what == "forget":
            self.workspace.memory.forget(memory.id)
        else:
            self.workspace.memory.revise(memory.id, topic=self.choice.choice(["one", "five"]))

    def by_hand(self) -> None:
        pages = sorted(self.workspace.topics.glob("*.md"))
        if not pages:
            return
        page = self.choice.choice(pages)
        rows = page.read_text("utf-8").splitlines()
        lines = [place for place, row in enumerate(rows) if row.startswith("- ") and not row.startswith("- Typed")]
        what = self.choice.choice(["add", "edit", "delete", "move", "shuffle", "heading"])
        if what == "add":
            rows.append(f"- Typed {self.text()}")
            self.wanted.add(rows[-1].removeprefix("- "))
        elif what == "shuffle":
            rows[2:] = self.choice.sample(rows[2:], len(rows[2:]))
        elif what == "heading":
            rows.insert(self.choice.randint(1, len(rows)), "## Part")
        elif lines:
            self.change_line(what, rows, self.choice.choice(lines), self.choice.choice(pages))
        self.workspace.save("\n".join(rows) + "\n", page.name)

    def change_line(self, what: str, rows: list[str], place: int, other: Path) -> None:
        text = parse_page(f"# X\n{rows[place]}\n").lines[0].text
        self.touched |= {memory.id for memory in self.live() if memory.text == text}
        row = rows.pop(place)
        if what == "edit":
            rows.insert(place, f"- Typed {text}")
            self.wanted.add(f"Typed {text}")
        elif what == "move":
            rows.insert(len(rows), row)
        elif len(rows) % 2:
            self.workspace.save(other.read_text("utf-8"), other.name)  # saved again, and nothing in it changed


@pytest.mark.long
@pytest.mark.ledger("X10")
@pytest.mark.parametrize("seed", range(6))
def test_random_edits_lose_nothing_and_both_sides_end_in_sync(
    open_memory: Callable[..., Engine], folder: Path, clock: FrozenClock, seed: int
) -> None:
    workspace = Workspace(open_memory(preset=PRESET, embedder=None), folder / "topics")
    chance = Chance(workspace, seed)
    for topic in ("one", "two", "three"):
        for _ in range(6):
            workspace.keep(chance.text(), topic)
    workspace.files.sync()
    for _ in range(8):
        clock.advance(timedelta(hours=chance.choice.choice([0, 1, 24])))
        before = {memory.id for memory in chance.live()}
        chance.touched, chance.wanted = set(), set()
        for _ in range(3):
            chance.choice.choice([chance.in_memory, chance.by_hand])()
        for question in workspace.files.sync().questions:
            chance.choice.choice([workspace.files.confirm, workspace.files.refuse])(question.id)
        live = chance.live()
        assert chance.wanted <= {memory.text for memory in live}
        assert before - chance.touched <= {memory.id for memory in live}
        lines = [line.text for page in workspace.topics.glob("*.md") for line in parse_page(page.read_text("utf-8")).lines]
        assert sorted(lines) == sorted(page_line(memory).text for memory in live)
        again = workspace.mirror().sync()
        assert (again.read_in, again.written, again.questions) == (0, 0, ())
