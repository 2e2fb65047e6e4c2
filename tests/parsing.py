"""Parse Python files in a thread of its own.

Playwright runs on greenlets, under which CPython 3.11 miscounts the recursion depth: ``ast.parse`` in the same thread then
raises ``SystemError``.
"""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ast.parse, path.read_text("utf-8")).result()
