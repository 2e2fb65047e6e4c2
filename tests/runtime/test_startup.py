"""The cache of compiled regular expressions that the processes of the tests use."""

import importlib.util
import re
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

_MODULE = Path(__file__).parents[1] / "startup" / "sitecustomize.py"
_PATTERN = r"(?P<name>[\w'-]+) (?:lives|works) in (?P<town>\w+)"

Compile = Callable[[str, int], "re.Pattern[str]"]


def _executed(spec: ModuleSpec | None) -> ModuleType:
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def uncached() -> Compile:
    """Python's own function that compiles a pattern."""
    found: Compile = _executed(importlib.util.find_spec("re._compiler")).compile
    return found


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compile:
    """A function that compiles a pattern, with a cache in ``tmp_path``."""
    compiler = pytest.importorskip("re._compiler", reason="this Python compiles patterns in another way")
    monkeypatch.setattr(compiler, "compile", compiler.compile)  # restored after the test
    _executed(importlib.util.spec_from_file_location("startup", _MODULE))._install(str(tmp_path))
    found: Compile = compiler.compile
    return found


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("flags", [0, int(re.IGNORECASE | re.MULTILINE)])
def test_a_pattern_from_the_cache_is_equal_to_a_compiled_pattern(
    cached: Compile, uncached: Compile, tmp_path: Path, flags: int
) -> None:
    for _ in range(2):
        found = cached(_PATTERN, flags)
        assert found == uncached(_PATTERN, flags)
        assert dict(found.groupindex) == {"name": 1, "town": 2}
        assert len(_files(tmp_path)) == 1
    match = found.search("Ana lives in Lima")
    assert match is not None
    assert (match.groupdict(), match.lastgroup) == ({"name": "Ana", "town": "Lima"}, "town")


@pytest.mark.parametrize("damaged", [b"", b"not a pattern", b"\xe9\x01\x00\x00\x00"])
def test_a_damaged_file_of_the_cache_is_replaced(cached: Compile, uncached: Compile, tmp_path: Path, damaged: bytes) -> None:
    cached(_PATTERN, 0)
    (file,) = _files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damaged)
    assert cached(_PATTERN, 0) == uncached(_PATTERN, 0)
    assert file.read_bytes() == whole


def test_a_file_of_another_pattern_with_the_same_checksum_is_not_used(cached: Compile, uncached: Compile, tmp_path: Path) -> None:
    cached(_PATTERN.replace("lives|works", "walks|talks"), 0)
    (other,) = _files(tmp_path)
    cached(_PATTERN, 0)
    (file,) = set(_files(tmp_path)) - {other}
    other.replace(file)
    assert cached(_PATTERN, 0) == uncached(_PATTERN, 0)


def test_an_invalid_pattern_is_an_error(cached: Compile) -> None:
    with pytest.raises(re.error):
        cached("(" * 30, 0)
