"""Regular expressions that are compiled when they are first used."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import cast

import pytest

from holdfast.runtime.regex import compile_all, regex

TEXT = "Ana lives in Lima since 2021, Bruno in Quito since 2024"
YEAR = r"(?P<year>\d{4})"


@pytest.mark.parametrize("method", ["finditer", "findall", "fullmatch", "match", "search", "split"])
def test_a_lazy_pattern_returns_the_same_as_a_compiled_pattern_on_every_use(method: str) -> None:
    ours, compiled = regex(YEAR), re.compile(YEAR)
    for _ in range(2):
        found, expected = getattr(ours, method)(TEXT), getattr(compiled, method)(TEXT)
        assert _plain(found) == _plain(expected)


def test_a_lazy_pattern_replaces_like_a_compiled_pattern() -> None:
    ours = regex("ANA|bruno", re.IGNORECASE)
    assert ours.sub("someone", TEXT) == TEXT.replace("Ana", "someone").replace("Bruno", "someone")
    assert ours.subn("someone", TEXT)[1] == 2
    assert (ours.pattern, ours.flags & re.IGNORECASE) == ("ANA|bruno", re.IGNORECASE)


@pytest.mark.parametrize("attribute", [name for name in dir(re.Pattern) if not name.startswith("_") and name != "scanner"])
def test_only_the_first_use_compiles(attribute: str) -> None:
    ours = regex(YEAR)
    assert getattr(ours, attribute) is not None
    assert attribute in vars(ours)


def test_an_invalid_pattern_is_reported_when_it_is_first_used() -> None:
    unbalanced = regex("(")
    with pytest.raises(re.error):
        unbalanced.search(TEXT)


def test_a_server_can_compile_all_of_them_before_they_are_used() -> None:
    ours = regex(YEAR)
    assert "search" not in vars(ours)
    compile_all()
    assert "search" in vars(ours)


COUNT = """
import gc, pkgutil
from importlib import import_module

import holdfast.engine
from holdfast.runtime.regex import _Regex

def expressions():
    return [thing for thing in gc.get_objects() if type(thing) is _Regex]

compiled = sum("search" in vars(expression) for expression in expressions())
for package in ("text", "learning", "recall", "importers", "topic_files", "consent"):
    for module in pkgutil.walk_packages(import_module(f"holdfast.{package}").__path__, f"holdfast.{package}."):
        import_module(module.name)
for expression in expressions():
    assert expression.pattern == expression._source
print(compiled, len(expressions()))
"""


def test_importing_the_engine_compiles_few_of_the_expressions_and_all_of_them_are_valid() -> None:
    ran = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    compiled, every = map(int, ran.stdout.split())
    assert compiled < 10
    assert every > 300


def _plain(found: object) -> object:
    if found is None or isinstance(found, list):
        return found
    if isinstance(found, re.Match):
        return found.span(), found.groupdict()
    return [_plain(match) for match in cast("Iterator[re.Match[str]]", found)]
