"""The manifest of the MCP bundle and the entry for the MCP registry are complete, and their commands and settings exist."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holdfast.cli.app import app
from holdfast.version import __version__

from .support import ROOT, tool


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_mcp", ROOT / "tools" / "build_mcp.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MANIFEST: dict[str, Any] = _tool().manifest()
SERVER: dict[str, Any] = _tool().server_json("org.example/holdfast")


def _check_command(command: str, *options: str) -> None:
    known = app.get_command(app.make_context("holdfast", [], resilient_parsing=True), command)
    assert known is not None
    assert set(options) <= {each for option in known.params for each in option.opts}


def _settings() -> set[str]:
    return set(re.findall(r"HOLDFAST_[A-Z_]+", (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")))


def test_a_host_can_fill_in_every_value_of_the_manifest() -> None:
    config = MANIFEST["server"]["mcp_config"]
    used = {name for text in [*config["args"], *config["env"].values()] for name in re.findall(r"\$\{user_config\.(\w+)\}", text)}
    assert used == set(MANIFEST["user_config"])
    assert all(each["required"] or each["default"] == "" for each in MANIFEST["user_config"].values())
    assert set(config["env"]) <= _settings()
    assert [name for name, each in MANIFEST["user_config"].items() if each.get("sensitive")] == ["key", "chat_key"]
    start = config["args"].index(MANIFEST["server"]["entry_point"])
    _check_command(config["args"][start + 1], config["args"][start + 2])


def test_the_entry_of_a_registry_has_this_version_and_known_commands() -> None:
    (package,) = SERVER["packages"]
    assert (SERVER["version"], package["version"]) == (__version__, __version__)
    assert len(SERVER["description"]) <= 100
    assert {each["name"] for each in package["environmentVariables"]} <= _settings()
    command, *options = package["packageArguments"]
    _check_command(command["value"], *[each["name"] for each in options])
    assert f'{package["identifier"]} = "holdfast.cli:main"' in (ROOT / "pyproject.toml").read_text("utf-8"), (
        "uvx runs this program"
    )


@pytest.mark.long
def test_the_validator_of_the_format_accepts_the_manifest(tmp_path: Path) -> None:
    npm = tool("npm")
    if npm is None:
        pytest.skip("Node is not installed.")
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST), "utf-8")
    command = [npm, "exec", "--yes", "--", "@anthropic-ai/mcpb@2.1.2", "validate", str(tmp_path / "manifest.json")]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=180)
    if re.search(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|network", ran.stderr):
        pytest.skip("The validator cannot be fetched.")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "validation passes" in ran.stdout
