"""Real coding agents with a mock model: one turn is stored, and the first prompt of the next session contains the memory.

The agents are Node packages. They are searched for in ``node_modules`` here and in ``.venv/agents``. ``make agents``
installs them there. An agent that is not installed is skipped.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from .mock_models import MockModels, mock_models
from .support import Agents, wait_until

pytestmark = [pytest.mark.ledger("X36"), pytest.mark.long]
ROOT = Path(__file__).parents[2]
PROJECT = "github.com/acme/shop"
PATHS = {
    "claude-code": "@anthropic-ai/claude-code-*/claude",
    "codex": "@openai/codex-*/vendor/**/codex",
    "gemini": "@google/gemini-cli/bundle/gemini.js",
    "opencode": "opencode-*/bin/opencode",
}


def _program(client: str) -> list[str]:
    """Return the command of an agent, or skip the test."""
    folders = [ROOT / "node_modules", ROOT / ".venv" / "agents" / "node_modules"]
    found = [path for folder in folders for path in sorted(folder.glob(PATHS[client])) if path.is_file()]
    node = shutil.which("node")
    if not found or (client == "gemini" and node is None):
        pytest.skip("needs Node and the coding agents: run `make agents`")
    return [str(node), str(found[0])] if client == "gemini" else [str(found[0])]


def _claude_code(program: list[str], models: MockModels, _home: Path) -> list[str]:
    del models
    return [*program, "-p"]


def _codex(program: list[str], models: MockModels, _home: Path) -> list[str]:
    provider = f'{{name="mock",base_url="{models.url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    options = ["-c", 'model_provider="mock"', "-c", f"model_providers.mock={provider}", "-m", "gpt-5"]
    return [*program, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", *options]


def _gemini(program: list[str], _models: MockModels, home: Path) -> list[str]:
    more = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _add_settings(home / ".gemini" / "settings.json", more)
    return [*program, "-m", "gemini-2.5-flash", "-p"]


def _opencode(program: list[str], models: MockModels, home: Path) -> list[str]:
    options = {"baseURL": f"{models.url}/v1", "apiKey": "x"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "options": options, "models": {"mock": {"name": "mock"}}}
    more = {"provider": {"mock": provider}, "model": "mock/mock", "small_model": "mock/mock", "autoupdate": False}
    _add_settings(home / ".config" / "opencode" / "opencode.json", more)
    return [*program, "run"]


def _add_settings(path: Path, more: dict[str, Any]) -> None:
    settings = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**settings, **more}), "utf-8")


COMMANDS: dict[str, Callable[[list[str], MockModels, Path], list[str]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
}


def _environment(agents: Agents, models: MockModels, home: Path) -> dict[str, str]:
    own = {
        "ANTHROPIC_BASE_URL": models.url,
        "ANTHROPIC_API_KEY": "sk-ant-x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "OPENAI_API_KEY": "sk-x",
        "GEMINI_API_KEY": "x",
        "GOOGLE_GEMINI_BASE_URL": models.url,
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "NO_COLOR": "1",
        "HOME": str(home),
        "PWD": str(agents.repository),  # opencode prefers it to the working directory
        "XDG_CONFIG_HOME": str(home / ".config"),
    }
    kept = {name: value for name, value in agents.environment.items() if not name.startswith(("CLAUDE", "CODEX", "HOLDFAST"))}
    return {**kept, **own}  # the variables of Holdfast come from the file that `install` has written


@pytest.mark.parametrize("client", COMMANDS)
def test_one_turn_is_stored_and_the_next_session_knows_it(agents: Agents, tmp_path: Path, client: str) -> None:
    program, home = _program(client), tmp_path / "someone"
    home.mkdir()
    agents = replace(agents, variables={"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "CODEX_HOME": ""})
    assert agents.run("install", client, "--user", "ana", "--no-weights").returncode == 0
    with mock_models() as models:
        command = COMMANDS[client](program, models, home)

        def turn(prompt: str) -> None:
            done = subprocess.run(
                [*command, prompt],
                cwd=agents.repository,
                env=_environment(agents, models, home),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            assert done.returncode == 0, done.stderr

        turn("I live in Lyon. In this repo we run the tests with make check.")

        def is_stored() -> bool:
            with agents.memory() as memory:
                sessions = memory.sessions(user="ana", app=PROJECT)
                return [message.role for each in sessions for message in memory.session(id=each.id).messages()] == [
                    "user",
                    "assistant",
                ]

        wait_until(is_stored)
        if client in ("claude-code", "gemini"):  # the others have no event for the end of a session
            wait_until(lambda: _learned(agents) == {"I live in Lyon.", "In this repo we run the tests with make check."})
        models.clear()
        turn("How do we run the tests here, with make check or with another command?")
        assert "In this repo we run the tests with make check." in models.seen


def _learned(agents: Agents) -> set[str]:
    with agents.memory() as memory:
        return {each.text for each in memory.memories(user="ana", app=PROJECT)}
