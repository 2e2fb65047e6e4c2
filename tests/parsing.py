"""Parse Python files. Only one thread parses at a time."""

import ast
from pathlib import Path

_MAX_ATTEMPTS = 5


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
