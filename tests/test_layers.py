"""Imports point down only: surfaces, config, engine, presets and policies, stores and models, vocabulary."""

import ast
from pathlib import Path

import pytest

import holdfast

ROOT = Path(holdfast.__file__).parent

# From the top down; a module may import its own layer and those below it. Within the engine's layer the order of
# the list holds as well.
LAYERS: list[list[str]] = [
    ["cli", "bench", "designs"],
    ["server"],
    ["mcp"],
    ["importers"],
    ["aio"],
    ["readiness"],
    ["config"],
    ["agent"],
    ["tools"],
    ["engine"],
    ["scoped"],
    ["by_id", "session", "apps"],
    ["assembly"],
    ["services"],
    ["scheduler"],
    ["worker", "housekeeping"],
    ["reader"],
    ["listing"],
    ["pipeline", "erase"],
    ["consolidation", "rebuild", "topics"],
    ["files"],
    ["jobs", "related"],
    ["answers"],
    ["access"],
    ["reranking"],
    ["energy", "thinking"],
    ["write"],
    ["recall", "sections"],
    ["ranking", "repeats"],
    ["context"],
    ["meaning"],
    ["embedding"],
    ["turns", "caches"],
    ["mind"],
    ["presets"],
    ["policies", "prompts"],
    ["stores", "models"],
    ["text", "clock", "ids"],
    ["forks", "processes", "tracing"],
    ["protocols"],
    ["queries", "notes"],
    ["chat"],
    ["types"],
    ["errors"],
]
RANK = {name: depth for depth, names in enumerate(LAYERS) for name in names}
STANDARD_ONLY = ("types", "protocols", "chat", "errors", "clock", "ids")


def _modules() -> list[Path]:
    return [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ("__init__.py", "testing")]


def _imports(path: Path) -> set[str]:
    """Return every absolute import of a file, late and typing ones included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
    return found


def _layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_its_own_layer_and_those_below(path: Path) -> None:
    own = _layer(path)
    for name in _imports(path):
        if not name.startswith("holdfast."):
            continue
        other = name.split(".")[1]
        assert other == own or RANK[other] > RANK[own], f"{own} imports {other}, which stands above or beside it"


@pytest.mark.parametrize("name", STANDARD_ONLY)
def test_the_vocabulary_needs_only_the_standard_library(name: str) -> None:
    outside = {"apsw", "numpy", "onnxruntime", "click", "yaml", "Stemmer", "platformdirs"}
    imported = {module.split(".")[0] for module in _imports(ROOT / f"{name}.py")}
    allowed = {"numpy"} if name == "protocols" else set()  # for type checkers only
    assert not (imported & outside) - allowed


def test_the_environment_is_read_in_one_file() -> None:
    readers = [path.relative_to(ROOT).as_posix() for path in _modules() if "os.environ" in path.read_text("utf-8")]
    assert readers == ["config/environment.py"]


def test_every_module_has_a_layer() -> None:
    assert {_layer(path) for path in _modules()} <= set(RANK)
