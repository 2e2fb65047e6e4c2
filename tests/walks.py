"""Trace real calls and draw which files they enter, for ``docs/project/architecture.md``.

Run ``python -m tests.walks`` to write the drawings into the page. A file is listed at the point where the call first
enters it.
"""

import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import holdfast
from holdfast.testing import FrozenClock, HashEmbedder

PAGE = Path(__file__).parent.parent / "docs" / "project" / "architecture.md"
_PACKAGE = Path(holdfast.__file__).parent
_SECTION = re.compile(r"(?<=<!-- walks -->\n).*(?=<!-- end of walks -->)", re.DOTALL)
_WIDTH = 120


@contextmanager
def tracing(entered: dict[str, None]) -> Iterator[None]:
    """Record every file of the package that a call enters, in the order of first entry."""
    root = f"{_PACKAGE}{Path('/')}"

    def note(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root) and not frame.f_code.co_name.startswith("<"):
            entered.setdefault(Path(name).relative_to(_PACKAGE).as_posix().removesuffix(".py"))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walks() -> dict[str, list[str]]:
    """Return the files that each call enters.

    All calls run twice, and only the second run is recorded, because the first fills caches.
    """
    with tempfile.TemporaryDirectory() as folder:
        clock = FrozenClock("2026-03-01T12:00:00")
        with holdfast.open(Path(folder) / "memory.db", worker="none", embedder=HashEmbedder(), clock=clock) as memory:
            _round(memory)
            return _round(memory)


def _round(memory: holdfast.Engine) -> dict[str, list[str]]:
    ana = memory.for_user("ana")
    talk = ana.session()
    talk.add("user", "I moved to Lyon last month.")
    calls: dict[str, Callable[[], Any]] = {
        "A message is stored: `session.add`": lambda: talk.add("user", "I have a dog called Toby."),
        "A session ends: `session.end`": talk.end,
        "Its memories are extracted: `drain`": memory.drain,
        "A query finds memories: `recall`": lambda: ana.recall("what is my dog called?"),
        "A context block is built: `session.context`": lambda: ana.session().context("Where do I live?"),
        "A user is erased: `erase`": ana.erase,
    }
    return {title: _entered(call) for title, call in calls.items()}


def _entered(call: Callable[[], Any]) -> list[str]:
    entered: dict[str, None] = {}
    with tracing(entered):
        call()
    return [file for file in entered if not file.startswith("testing/")]


def drawing() -> str:
    """Return all walks as text, grouped by package."""
    parts = []
    for title, files in walks().items():
        steps = [_step(package, list(names)) for package, names in groupby(files, key=lambda file: file.rpartition("/")[0])]
        parts.append(f"**{title}** ({len(files)} files)\n\n```text\n{_wrapped(steps)}\n```\n")
    return "\n".join(parts)


def _step(package: str, files: list[str]) -> str:
    names = [file.rpartition("/")[2] for file in files]
    if not package:
        return " > ".join(names)
    return f"{package}/{names[0]}" if len(names) == 1 else f"{package}/({' '.join(names)})"


def _wrapped(steps: list[str]) -> str:
    lines = [""]
    for step in steps:
        piece = f"{' > ' if lines[-1] else ''}{step}"
        if lines[-1] and len(lines[-1]) + len(piece) > _WIDTH:
            lines.append(f"  > {step}")
        else:
            lines[-1] += piece
    return "\n".join(lines)


def page() -> str:
    """Return the text of ``docs/project/architecture.md``, with the drawings of the traced calls updated."""
    return _SECTION.sub(lambda _: f"\n{drawing()}\n", PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
