"""The default user is chosen once and used by every command, and each command prints the user's name."""

import json
import os
import pty
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.environment import login_name

from .support import Holdfast, executable

pytestmark = [pytest.mark.ledger("X34"), pytest.mark.long]


def _answer(holdfast: Holdfast, answer: str, *args: str) -> str:
    """Run a command on a terminal, type an answer, and return the terminal's output."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [executable(), *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**holdfast.environment, "HOLDFAST_EMBEDDER": "none"},
    ) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the process has closed the terminal
                break
            if not part:
                break
            shown += part
        assert process.wait(timeout=60) == 0, shown
    os.close(ours)
    return shown.decode()


def test_without_a_terminal_the_login_name_is_used_and_named(holdfast: Holdfast) -> None:
    ran = holdfast("remember", "prefers tea")
    assert f"note: Memory of {login_name()}, your login name." in ran.stderr
    (memory,) = holdfast.json("list", "--user", login_name())
    assert (memory["text"], memory["user"]) == ("prefers tea", login_name())
    assert holdfast.json("list", "--shared") == []
    assert not (holdfast.home / "holdfast.toml").exists()


def test_on_a_terminal_the_user_is_asked_for_once(holdfast: Holdfast) -> None:
    shown = _answer(holdfast, "ana", "remember", "prefers", "tea")
    assert f"[{login_name()}]" in shown
    assert tomllib.loads((holdfast.home / "holdfast.toml").read_text("utf-8")) == {"user": "ana"}
    again = _answer(holdfast, "", "recall", "tea")
    assert "Whose memory" not in again
    assert "Memory of ana." in again
    assert "prefers tea" in again


@pytest.mark.parametrize(
    "command", [("recall", "tea"), ("context", "tea"), ("list",), ("topics", "list"), ("forget", "--key", "drink"), ("chat",)]
)
def test_every_command_uses_the_chosen_user_and_says_so(holdfast: Holdfast, command: tuple[str, ...]) -> None:
    holdfast("users", "default", "ana")
    holdfast("remember", "prefers tea", "--key", "drink", "--topic", "drinks", "--user", "ana")
    ran = holdfast(*command)
    assert ran.stderr.splitlines()[0] == "Memory of ana."
    assert "tea" in ran.stdout or "drinks" in ran.stdout or "Forgot 1 memory." in ran.stdout or command == ("chat",)


@pytest.mark.parametrize("given", [("topics", "list", "--user", "ana"), ("topics", "--user", "ana", "list")], ids=" ".join)
def test_a_group_of_commands_names_no_other_user_than_its_command(holdfast: Holdfast, given: tuple[str, ...]) -> None:
    holdfast("remember", "prefers tea", "--user", "ana", "--topic", "drinks")
    ran = holdfast(*given)
    assert "drinks" in ran.stdout
    assert ran.stderr == ""
    assert holdfast("topics", "list").stderr.count("Memory of") == 1


def test_shared_memory_is_an_explicit_choice(holdfast: Holdfast) -> None:
    holdfast("remember", "the wifi is upstairs", "--shared")
    holdfast("remember", "prefers tea", "--user", "ana")
    (shared,) = holdfast.json("list", "--shared")
    assert (shared["text"], shared["user"]) == ("the wifi is upstairs", None)
    assert "not both" in holdfast.error("list", "--shared", "--user", "ana", exit=2)["message"]


def test_imported_data_belongs_to_the_default_user(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("users", "default", "ana")
    notes = tmp_path / "notes.md"
    notes.write_text("# Tea\n\n- prefers green tea\n", "utf-8")
    holdfast("import", str(notes))
    assert {each["user"] for each in holdfast.json("list", "--user", "ana")} == {"ana"}


def test_an_installed_assistant_gets_the_default_user(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("users", "default", "ana")
    own: dict[str, Any] = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    chosen = holdfast.run("install", "claude-code", "--print", **own)
    args = json.loads(chosen.stdout)["mcpServers"]["holdfast"]["args"]
    assert args[args.index("--user") + 1] == "ana"
    shared = holdfast.run("install", "claude-code", "--print", "--shared", **own)
    assert json.loads(shared.stdout)["mcpServers"]["holdfast"]["args"].count("--shared") == 1


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "holdfast.toml",
            'preset = "rumi"\n\n[memory]\nuser = "x"\n',
            {"preset": "rumi", "user": "ana", "memory": {"user": "x"}},
        ),
        ("holdfast.toml", 'user = "eve"  # me\n', {"user": "ana"}),
    ],
    ids=["table", "replaced"],
)
def test_the_rest_of_the_settings_file_stays(holdfast: Holdfast, name: str, before: str, after: dict[str, object]) -> None:
    holdfast.home.mkdir()
    (holdfast.home / name).write_text(before, "utf-8")
    from holdfast.config.saving import with_setting  # noqa: PLC0415  (the design table is no valid setting)

    assert tomllib.loads(with_setting(before, "user", "ana", assign=" = ")) == after


def test_a_saved_user_counts_next_to_a_project_s_settings(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("users", "default", "Ana María")
    project = tmp_path / "project.toml"
    project.write_text('preset = "default"\n', "utf-8")
    assert holdfast.json("users", "default", "--settings", str(project)) == {"user": "Ana María", "chosen": True, "path": None}
    assert (holdfast.home / "holdfast.toml").stat().st_mode & 0o077 == 0
