"""Generate ``docs/project/promises.md``: the promises of Holdfast, and the tests that prove each of them.

A promise is a sentence in ``promises.toml`` with an id such as ``R1``. A test names the promises that it proves with the
mark ``ledger``. Run ``python -m tests.promises`` to write the page.
"""

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.parsing import parse

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "project" / "promises.md"
_MAX_SHOWN = 5
_HEAD = """# Promises

Every promise of Holdfast, with the tests that show it. The first few are named; `python -m pytest -m ledger` runs them all.

This page is generated: run `python -m tests.promises`.
"""


def promises() -> dict[str, dict[str, str]]:
    """Return the content of ``promises.toml``: for each section, its title, and its promises by id."""
    return tomllib.loads((Path(__file__).parent / "promises.toml").read_text("utf-8"))


@cache
def claims() -> dict[str, list[str]]:
    """Return the tests that prove each promise, as ``path::name``. A mark on a module applies to all its tests."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, rows in _marked(parse(path)):
            for row in rows:
                found[row].append(f"{path.relative_to(ROOT / 'tests').as_posix()}::{name}")
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each test, with the ids of the promises that it proves."""
    shared = [row for node in tree.body if isinstance(node, ast.Assign) and _is_pytestmark(node) for row in _rows(node.value)]
    for node in tree.body:
        cases = node.body if isinstance(node, ast.ClassDef) else [node]
        inherited = _decorated(node) if isinstance(node, ast.ClassDef) else []
        for case in cases:
            if isinstance(case, ast.FunctionDef | ast.AsyncFunctionDef) and case.name.startswith("test"):
                rows = [*shared, *inherited, *_decorated(case)]
                yield case.name, list(dict.fromkeys(rows))


def _is_pytestmark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _decorated(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [row for decorator in node.decorator_list for row in _rows(decorator)]


def _rows(node: ast.AST) -> list[str]:
    """Return the arguments of every ``pytest.mark.ledger(...)`` below a node."""
    return [
        str(argument.value)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "ledger"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    ]


def page() -> str:
    """Return the whole page."""
    shown = claims()
    parts = [_HEAD]
    for section in promises().values():
        rows = [f"| {row} | {text} | {_tests(shown.get(row, []))} |" for row, text in section.items() if row != "title"]
        parts.append("\n".join([f"## {section['title']}", "", "| | promise | shown by |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def _tests(names: list[str]) -> str:
    """Return the first few test names, and the number of the remaining ones."""
    if not names:
        return "not shown yet"
    listed = "<br>".join(f"`{name}`" for name in names[:_MAX_SHOWN])
    return listed + (f"<br>and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else "")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
