"""Parse Python files, and the code in the documentation."""

import ast
import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
_MAX_ATTEMPTS = 5
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A code block of a Markdown page: its language, and its text."""


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file.

    CPython 3.11 keeps one depth counter for all syntax trees of a process. If a garbage collection interrupts ``ast.parse``,
    the counter can be wrong, and ``ast.parse`` raises ``SystemError``. Parsing again succeeds.
    """
    text = path.read_text("utf-8")
    for _ in range(_MAX_ATTEMPTS - 1):
        try:
            return ast.parse(text)
        except SystemError:
            continue
    return ast.parse(text)


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    return [body for name, body in FENCE.findall(page.read_text("utf-8")) if name == language]


def programs(page: Path) -> list[tuple[str, str | None]]:
    """Return the Python programs of a page, each with the output that the page shows for it, or None if it shows no output."""
    found = [*FENCE.findall(page.read_text("utf-8")), ("", "")]
    return [(body, after[1] if after[0] == "output" else None) for (name, body), after in pairwise(found) if name == "python"]


def steps(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page's console blocks, each with the output that the page shows for it."""
    found = [step.partition("\n") for body in blocks(page, "console") for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]]
    return [(command, shown) for command, _, shown in found]


def commands(page: Path) -> list[str]:
    """Return the shell commands of a page, without comments."""
    whole = "\n".join(blocks(page, "sh")).replace("\\\n", " ")
    return [line for each in whole.splitlines() if (line := re.sub(r"\s+#.*", "", each).strip())]


def fits(shown: str, printed: str) -> bool:
    """Return True if printed text matches the shown text. ``...`` in the shown text matches anything."""
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
