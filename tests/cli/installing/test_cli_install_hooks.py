"""``holdfast install``: hooks of coding agents, existing settings, the dry run, and removal."""

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.installing.clients import CLIENTS
from holdfast.cli.installing.hooks import HOOKS, with_hooks, without_hooks
from holdfast.cli.installing.merge_settings import merged, removed
from tests.cli.support import Holdfast, executable

pytestmark = [pytest.mark.ledger("X36"), pytest.mark.long]
JSON_HOOKS = [name for name, form in HOOKS.items() if form.shape is not None]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Return environment variables that point all settings folders to an empty home."""
    home = tmp_path / "someone"
    home.mkdir()
    windows = {"USERPROFILE": str(home), "APPDATA": str(home / "AppData" / "Roaming")}
    return {"HOME": str(home), "XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", **windows}


def _install(holdfast: Holdfast, place: dict[str, Any], client: str, *more: str, **variables: Any) -> dict[str, Any]:
    done = holdfast.run_inside("install", client, "--no-weights", "--user", "ana", "--json", *more, **place, **variables)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _commands(entry: Any) -> list[str]:
    """Return every ``command`` in a settings file, at any depth."""
    if isinstance(entry, dict):
        own = [entry["command"]] if isinstance(entry.get("command"), str) else []
        return own + [command for value in entry.values() for command in _commands(value)]
    return [command for each in entry for command in _commands(each)] if isinstance(entry, list) else []


def _files(place: dict[str, Any]) -> dict[str, bytes]:
    home = Path(place["HOME"])
    return {
        str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file() and path.suffix != ".bak"
    }


@pytest.mark.parametrize("client", JSON_HOOKS)
def test_each_event_gets_a_hook_with_the_scope_of_the_server(holdfast: Holdfast, place: dict[str, Any], client: str) -> None:
    told = _install(holdfast, place, client)
    hooks = json.loads(Path(told["hooks"]).read_text("utf-8"))["hooks"]
    variables = ["--env-file", str(holdfast.home / "agents.env")]
    for name, event in HOOKS[client].events.items():
        (command,) = _commands(hooks[name])
        words = shlex.split(command)
        assert words == [executable(), "hook", event, "--client", client, "--user", "ana", *variables, "--project"]


@pytest.mark.parametrize("client", HOOKS)
def test_removing_leaves_nothing_behind(holdfast: Holdfast, place: dict[str, Any], client: str) -> None:
    _install(holdfast, place, client)
    assert _files(place)
    assert _install(holdfast, place, client, "--remove")["changed"]
    assert _files(place) == {}
    assert not _install(holdfast, place, client, "--remove")["changed"]


@pytest.mark.parametrize("client", JSON_HOOKS)
def test_hooks_of_other_programs_stay_when_ours_come_and_go(client: str) -> None:
    form = HOOKS[client]
    event = next(iter(form.events))
    other = {"hooks": [{"type": "command", "command": "notify-send holdfast"}]}
    before = {**form.beside, "theme": "dark", "hooks": {event: [other], "Other": [other]}}
    words = {each: ["/bin/holdfast", "hook", each, "--client", client] for each in form.events.values()}
    after = with_hooks(before, form, words)
    assert after["hooks"][event][0] == other
    assert with_hooks(after, form, words) == after
    older = {each: ["/old/holdfast", "hook", each] for each in form.events.values()}
    assert with_hooks(with_hooks(before, form, older), form, words) == after
    assert without_hooks(after) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_entry_is_removed_and_the_rest_of_the_file_stays(client: str) -> None:
    form = CLIENTS[client]
    text = (
        '[other]\na = 1 # mine\n\n[mcp_servers.x]\ncommand = "x"\n'
        if form.is_toml
        else json.dumps({form.under: {"x": {}}, "a": 1}, indent=4)
    )
    after = merged(form, text.encode(), {"command": "holdfast", "args": []})
    assert removed(form, after) == text.encode()


@pytest.mark.parametrize("client", ["claude-code", "codex", "opencode"])
def test_a_dry_run_shows_a_diff_and_changes_nothing(holdfast: Holdfast, place: dict[str, Any], client: str) -> None:
    shown = holdfast.run(
        "install", client, "--no-weights", "--user", "ana", "--dry-run", HOLDFAST_KEY="a secret key", **place
    ).stdout.decode()
    assert "+" in shown
    assert "hook" in shown
    assert "HOLDFAST_KEY" in shown
    assert "a secret key" not in shown
    assert _files(place) == {}
    assert not (holdfast.home / "agents.env").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are Unix's")
def test_the_key_and_the_chat_model_are_carried_over_in_a_private_file(holdfast: Holdfast, place: dict[str, Any]) -> None:
    given: dict[str, Any] = {"HOLDFAST_KEY": "a secret key", "HOLDFAST_CHAT": "openai:gpt-4o-mini", "OPENAI_API_KEY": "sk-abc"}
    told = _install(holdfast, place, "claude-code", **given)
    path = holdfast.home / "agents.env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = path.read_text("utf-8").splitlines()
    assert {f"{name}={value}" for name, value in given.items()} <= set(lines)
    written = Path(told["path"]).read_text("utf-8") + Path(told["hooks"]).read_text("utf-8")
    assert "a secret key" not in written
    assert "sk-abc" not in written


def test_a_chat_model_without_its_key_is_noted(holdfast: Holdfast, place: dict[str, Any]) -> None:
    environment = {name: value for name, value in holdfast.environment.items() if name != "OPENAI_API_KEY"}
    done = subprocess.run(
        [executable(), "install", "cursor", "--no-weights", "--user", "ana"],
        env={**environment, **place, "HOLDFAST_CHAT": "openai:gpt-4o-mini"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "OPENAI_API_KEY is not set" in done.stderr


def test_an_encrypted_store_without_its_key_is_not_installed(holdfast: Holdfast, place: dict[str, Any]) -> None:
    holdfast.home.mkdir(parents=True)
    holdfast.store.write_bytes(os.urandom(4096))
    done = holdfast.run_inside("install", "claude-code", "--no-weights", "--user", "ana", exit=1, **place)
    assert b"HOLDFAST_KEY" in done.stderr
    assert _files(place) == {}


def test_a_hook_file_with_comments_is_left_alone_and_the_server_is_not_installed_either(
    holdfast: Holdfast, place: dict[str, Any]
) -> None:
    path = Path(place["HOME"]) / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{ // mine\n "hooks": {} }', "utf-8")
    done = holdfast.run_inside("install", "claude-code", "--no-weights", "--user", "ana", exit=1, **place)
    assert "SessionStart" in json.loads(done.stdout)["hooks"]
    assert list(_files(place)) == [".claude/settings.json"]


def test_missing_weights_are_named_if_they_cannot_be_downloaded(holdfast: Holdfast, place: dict[str, Any]) -> None:
    offline: dict[str, Any] = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "PIP_NO_INDEX": "1"}
    done = holdfast.run_inside("install", "cursor", "--user", "ana", **place, **offline)
    assert b"arctic-embed-s" in done.stderr
    assert (Path(place["HOME"]) / ".cursor" / "mcp.json").exists()


def test_a_settings_file_with_comments_gets_all_entries_printed_and_a_removal_says_what_to_do(
    holdfast: Holdfast, place: dict[str, Any]
) -> None:
    file = Path(place["HOME"], ".gemini", "settings.json")
    file.parent.mkdir()
    file.write_text('{\n  // my theme\n  "theme": "dark"\n}\n', "utf-8")
    refused = holdfast.run("install", "--no-weights", "gemini", "--user", "ana", exit=1, **place)
    printed = json.loads(refused.stdout)
    assert "holdfast" in printed["mcpServers"]
    assert "hook prompt" in json.dumps(printed["hooks"])
    removal = holdfast.run("install", "gemini", "--remove", exit=1, **place)
    assert b"Remove the entries with holdfast by hand" in removal.stderr
    assert "my theme" in file.read_text("utf-8")
