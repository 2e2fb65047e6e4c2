"""The import rules: a module imports only from lower layers, folders stay small, and there are no import cycles."""

import ast
import subprocess
from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import holdfast
from tests.parsing import parse

ROOT = Path(holdfast.__file__).parent
REPOSITORY = Path(__file__).parent.parent

# From the top down. A package or root module imports only from rows below its own: those of one row do not import each
# other, except where WITHIN says so.
ROWS: list[set[str]] = [
    {"__main__"},
    {"cli", "designs", "testing", "adapters"},
    {"resident"},
    {"server", "mcp", "aio"},
    {"config", "agent"},
    {"engine", "scoped"},
    {"session", "apps", "by_id", "maintenance", "services"},
    {"importers"},
    {"exporters"},
    {"background"},
    {"consent"},
    {"forgetting"},
    {"recall", "topic_files"},
    {"write", "messages"},
    {"values"},
    {"presets"},
    {"learning", "models", "stores", "access"},
    {"text", "runtime", "prompts"},
    {"protocols", "chat", "filters", "types", "errors", "version"},
]
WITHIN: dict[str, set[str]] = {
    "cli": {"adapters"},
    "text": {"runtime"},
    "protocols": {"filters", "types", "errors"},
    "filters": {"types", "errors"},
    "chat": {"types", "errors"},
    "engine": {"scoped"},
    "session": {"services", "by_id"},
    "by_id": {"services"},
    "maintenance": {"services"},
}
"""Exceptions to the rule that packages and modules in the same row of ``ROWS`` do not import each other."""
DEPTH = {name: depth for depth, names in enumerate(ROWS) for name in names}
STANDARD_ONLY = ("types", "protocols", "filters", "chat", "errors", "version")
MAX_FILES = 20
MAX_ROOT_MODULES = 16


def _modules() -> list[Path]:
    return [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def _imports(path: Path) -> set[str]:
    """Return every absolute import of a file, including imports in functions and under TYPE_CHECKING."""
    found: set[str] = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _top(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _is_allowed(own: str, other: str) -> bool:
    return own == other or DEPTH[other] > DEPTH[own] or other in WITHIN.get(own, set())


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_rows_below_its_own(path: Path) -> None:
    own = _top(path)
    for name in _imports(path):
        if name.startswith("holdfast."):
            other = name.split(".")[1]
            assert other in DEPTH, f"{path} imports from holdfast/__init__.py: {name}"
            assert _is_allowed(own, other), f"{own} imports {name}, which is above it or in the same row"


def test_every_package_and_root_module_has_a_row() -> None:
    assert {_top(path) for path in _modules()} <= set(DEPTH)


def _circle(graph: Mapping[str, Iterable[str]]) -> None:
    """Raise CycleError if there is an import cycle. The message contains the cycle."""
    TopologicalSorter(graph).prepare()


@pytest.mark.long
def test_no_folder_has_an_import_cycle_among_its_members() -> None:
    files = {path: _imports(path) for path in _modules()}
    for folder in {path.parent for path in files}:
        prefix = ".".join(["holdfast", *folder.relative_to(ROOT).parts])
        graph: dict[str, set[str]] = {}
        for path, names in files.items():
            if path.is_relative_to(folder) and path != folder / "__init__.py":
                own = path.relative_to(folder).parts[0].removesuffix(".py")
                others = {name.removeprefix(prefix + ".").split(".")[0] for name in names if name.startswith(prefix + ".")}
                members = {other for other in others if (folder / other).is_dir() or (folder / f"{other}.py").exists()}
                graph.setdefault(own, set()).update(members - {own})
        _circle(graph)


@pytest.mark.parametrize("name", STANDARD_ONLY)
def test_the_lowest_layers_import_only_the_standard_library(name: str) -> None:
    outside = {"apsw", "numpy", "onnxruntime", "click", "yaml", "Stemmer", "platformdirs"}
    paths = [path for path in _modules() if _top(path) == name]
    imported = {module.split(".")[0] for path in paths for module in _imports(path)}
    assert paths
    allowed = {"numpy"} if name == "protocols" else set()  # for type checkers only
    assert not (imported & outside) - allowed


def test_the_environment_is_read_in_one_file() -> None:
    readers = [path.relative_to(ROOT) for path in _modules() if "os.environ" in path.read_text("utf-8")]
    assert len(readers) == 1
    assert readers[0].parts[0] == "config"


def test_no_folder_has_more_than_twenty_files() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.split("\n")
    if not any(tracked):
        pytest.skip("not a git checkout")
    count: dict[str, int] = {}
    for path in filter(None, tracked):
        folder = path.rpartition("/")[0]
        count[folder] = count.get(folder, 0) + 1
    assert {folder: number for folder, number in count.items() if number > MAX_FILES} == {}


def test_the_root_of_the_package_has_few_modules() -> None:
    assert len([path for path in ROOT.glob("*.py") if path.name != "__main__.py"]) <= MAX_ROOT_MODULES
