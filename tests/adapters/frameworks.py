"""The frameworks that have an adapter, read from ``tests/adapters/*/suite.toml``."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tests of a framework that run with Holdfast's adapter instead of the framework's own class."""

    archive: str
    """The distribution with the tests, as ``name==version``. Its sdist is downloaded from the package index."""
    sha256: str
    """Hash of the sdist."""
    tests: Sequence[str]
    """Test files and folders, relative to the root of the sdist."""
    passed: int
    """Number of tests that must pass. A smaller number means that tests were not collected."""
    options: Sequence[str] = ()
    """Additional arguments for pytest."""
    added: Sequence[str] = ()
    """Files of this repository that are copied into the root of the sdist. Needed if the suite has only base classes of tests."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Tests that do not run, as ``file::name`` or ``file::class::name``, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """One framework, with its environment and its tests."""

    name: str
    """Name of the folder, such as ``openai_agents``."""
    title: str
    """Name that people know, such as ``OpenAI Agents``."""
    modules: Sequence[str]
    """Modules that the tests import. If one is not installed, ``make test`` skips the tests."""
    extras: Sequence[str] = ()
    """Extras of Holdfast that the environment has."""
    requirements: Sequence[str] = ()
    """Additional packages for the environment, such as the pytest plugins of the suite."""
    pages: Sequence[str] = ()
    """Pages in ``docs/adapters`` and ``docs/cookbook`` whose programs run in this environment."""
    examples: Sequence[str] = ()
    """Programs in ``examples`` that run in this environment."""
    minutes: float
    """Time budget of all tests of the framework, in minutes, without the setup of the environment."""
    suites: Sequence[Suite] = ()

    @property
    def folder(self) -> Path:
        """The folder with the framework's tests."""
        return HERE / self.name

    @property
    def lock(self) -> Path:
        """The file with the locked packages of the environment."""
        return self.folder / "requirements.txt"


@cache
def frameworks() -> dict[str, Framework]:
    """Return all frameworks by name."""
    return {path.parent.name: _read(path) for path in sorted(HERE.glob("*/suite.toml"))}


def skip_without(framework: Framework) -> None:
    """Skip the running test if the framework is not installed."""
    for module in framework.modules:
        pytest.importorskip(module, reason=f"{framework.title} is not installed: make test-adapters runs its tests")


def _read(path: Path) -> Framework:
    given = tomllib.loads(path.read_text("utf-8"))
    suites = [Suite(**each) for each in given.pop("suites", [])]
    return Framework(name=path.parent.name, suites=suites, **given)
