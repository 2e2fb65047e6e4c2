"""Adapters use only the public API. If a framework is not installed, the error names the extra to install."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast import adapters
from holdfast.adapters.shared import check_engine, check_items
from tests.adapters.frameworks import ROOT, frameworks
from tests.parsing import parse

pytestmark = pytest.mark.ledger("X14")
FOLDER = Path(adapters.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))
BY_NAME = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
SHARED = {"__init__", "conversations", "files", "folder", "shared"}
"""Modules that several adapters use. They are not adapters themselves."""
ADAPTERS = sorted({path.relative_to(FOLDER).parts[0].removesuffix(".py") for path in MODULES} - SHARED)


@BY_NAME
def test_an_adapter_imports_only_the_public_api(path: Path) -> None:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        inside = [name for name in names if name.startswith("holdfast.")]
        assert all(name.startswith("holdfast.adapters.") for name in inside), f"{path.name} imports {inside}"


@BY_NAME
def test_an_adapter_uses_only_public_names(path: Path) -> None:
    for node in ast.walk(parse(path)):
        if not isinstance(node, ast.Attribute):
            continue
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        private = node.attr.startswith("_") and not node.attr.startswith("__")
        assert own or not private, f"{path.name} line {node.lineno} reaches for {node.attr}"
        if isinstance(node.value, ast.Name) and node.value.id == "holdfast":
            assert node.attr in holdfast.__all__, f"{path.name} line {node.lineno} uses holdfast.{node.attr}"


def _needs_framework(name: str) -> bool:
    """Return True if an adapter imports its framework."""
    own = [path for path in MODULES if path.relative_to(FOLDER).parts[0].removesuffix(".py") == name]
    return any("raise extra_missing(" in path.read_text("utf-8") for path in own)


def test_a_missing_framework_is_an_error_that_names_the_extra() -> None:
    expected = {name: frameworks()[name].extras[0] for name in ADAPTERS if _needs_framework(name)}
    blocked = sorted({module.partition(".")[0] for name in expected for module in frameworks()[name].modules})
    code = f"""if True:
        import importlib, sys, holdfast
        for name in {blocked}: sys.modules[name] = None
        for name in {sorted(expected)}:
            try: importlib.import_module("holdfast.adapters." + name)
            except holdfast.ExtraMissing as error: print(name, str(error).replace("\\n", " "))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    errors = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert set(errors) == set(expected)
    for name, extra in expected.items():
        assert f"pip install 'holdfast-memory[{extra}]'" in errors[name]


def test_the_error_for_a_missing_framework_is_an_import_error() -> None:
    assert issubclass(holdfast.ExtraMissing, ImportError)


def test_an_adapter_takes_an_engine(memory: holdfast.Engine) -> None:
    assert check_engine(memory) is memory
    with pytest.raises(holdfast.InvalidInput, match=r"holdfast\.open\(\)"):
        check_engine(memory.for_user("ana"))


def test_a_memory_without_the_kind_of_items_is_an_error_that_says_how_to_open_it(memory: holdfast.Engine) -> None:
    with pytest.raises(holdfast.InvalidInput, match=r"kinds=\[holdfast\.adapters\.ITEM\]"):
        check_items(memory)


def test_every_adapter_has_a_suite_a_page_and_an_example() -> None:
    for name in ADAPTERS:
        framework = frameworks()[name]
        assert framework.lock.exists()
        assert framework.pages
        assert framework.examples
        assert all(list((ROOT / "docs").glob(f"*/{page}")) for page in framework.pages)
        assert all((ROOT / "examples" / example).exists() for example in framework.examples)


def test_the_documentation_counts_the_tests_of_each_framework() -> None:
    page = (ROOT / "docs" / "adapters.md").read_text("utf-8")
    stated = {title: int(passed) for title, passed in re.findall(r"^\| ([\w' ]+?) \| (\d+) of \d+", page, re.MULTILINE)}
    expected = {each.title: sum(suite.passed for suite in each.suites) for each in frameworks().values() if each.suites}
    assert stated == expected
