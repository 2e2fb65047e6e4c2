"""``holdfast install`` writes the right file in the right format, and changes nothing else in the file."""

import json
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.installing.clients import CLIENTS, InstallTarget
from holdfast.cli.installing.merge_settings import Unmergeable, merged
from holdfast.config.folders import HomeFolders
from tests.cli.support import Holdfast, executable

JSON_CLIENTS = [name for name, client in CLIENTS.items() if not client.is_toml]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Return environment variables that point all settings folders to an empty home."""
    home = tmp_path / "someone"
    home.mkdir()
    windows = {"USERPROFILE": str(home), "APPDATA": str(home / "AppData" / "Roaming")}
    return {"HOME": str(home), "XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", **windows}


def _told(done: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _listed(client: str, path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    settings = tomllib.loads(text) if CLIENTS[client].is_toml else json.loads(text)
    found: dict[str, Any] = settings[CLIENTS[client].under]
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_an_assistant_is_given_the_memory_by_one_command(holdfast: Holdfast, place: dict[str, Any], client: str) -> None:
    told = _told(holdfast.run_inside("install", "--no-weights", client, "--user", "Ana María", "--json", **place))
    path = Path(told["path"])
    assert path.is_relative_to(place["HOME"])
    entry = _listed(client, path)["holdfast"]
    command = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    variables = ["--env-file", str(holdfast.home / "agents.env")]
    project = [] if client == "claude-desktop" else ["--project"]
    assert command == [executable(), "mcp", "--user", "Ana María", *variables, *project]
    folders = {name: holdfast.settings[name] for name in ("HOLDFAST_HOME", "HOLDFAST_MODELS")}
    assert entry.get("env", entry.get("environment")) == folders
    assert (told["changed"], told["backup"]) == (True, None)


@pytest.mark.parametrize("client", CLIENTS)
def test_installing_again_changes_nothing(holdfast: Holdfast, place: dict[str, Any], client: str) -> None:
    path = Path(_told(holdfast.run_inside("install", "--no-weights", client, "--json", **place))["path"])
    before = path.stat()
    told = _told(holdfast.run_inside("install", "--no-weights", client, "--json", **place))
    assert (told["changed"], told["backup"]) == (False, None)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert list(path.parent.glob("*.bak")) == []


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS)
def test_a_dry_run_prints_the_changes_and_writes_nothing(holdfast: Holdfast, place: dict[str, Any], client: str) -> None:
    printed = holdfast.run_inside("install", "--no-weights", client, "--user", "ana", "--print", **place)
    assert list(Path(place["HOME"]).rglob("*")) == []
    told = _told(holdfast.run_inside("install", "--no-weights", "--no-hooks", client, "--user", "ana", "--json", **place))
    assert Path(told["path"]).read_text("utf-8") == printed.stdout.decode().replace("\r\n", "\n")
    assert told["path"] in printed.stderr.decode()


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_everything_else_in_a_file_stays(client: str) -> None:
    form = CLIENTS[client]
    before = {"theme": "oscuro ñ", "n": 1.5e-7, form.under: {"other": {"command": "x", "args": []}}, "last": [1, {"a": None}]}
    after = json.loads(merged(form, json.dumps(before, indent=4).encode(), {"command": "holdfast"}))
    assert after[form.under].pop("holdfast") == {"command": "holdfast"}
    assert (after, list(after)) == (before, list(before))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"holdfast": {\n\t\t\t"b": 2\n\t\t}\n\t}\n}\n'),
        (
            '{\r\n    "a": 1\r\n}',
            '{\r\n    "a": 1,\r\n    "mcpServers": {\r\n        "holdfast": {\r\n            "b": 2\r\n        }\r\n    }\r\n}',
        ),
        ('\ufeff{"a": "ñ"}', '\ufeff{\n  "a": "ñ",\n  "mcpServers": {\n    "holdfast": {\n      "b": 2\n    }\n  }\n}'),
    ],
    ids=["tabs", "windows", "mark"],
)
def test_a_settings_file_keeps_its_indentation_line_ends_and_byte_order_mark(text: str, wanted: str) -> None:
    assert merged(CLIENTS["cursor"], text.encode(), {"b": 2}).decode() == wanted


def test_settings_that_a_person_added_to_the_entry_stay() -> None:
    before = {"mcpServers": {"holdfast": {"command": "old", "args": ["x"], "disabled": True, "env": {"MINE": "1"}}}}
    after = json.loads(
        merged(CLIENTS["cursor"], json.dumps(before).encode(), {"command": "new", "args": [], "env": {"OURS": "2"}})
    )
    assert after["mcpServers"]["holdfast"] == {
        "command": "new",
        "args": [],
        "disabled": True,
        "env": {"MINE": "1", "OURS": "2"},
    }


@pytest.mark.parametrize(
    "text",
    [
        '{\n  // my servers\n  "mcpServers": {}\n}',
        '{"mcpServers": {},}',
        '{"a": 1, "a": 2}',
        '{"mcpServers": []}',
        "[]",
        "not settings",
        "\x00",
    ],
)
def test_a_file_that_would_lose_content_is_unchanged_and_the_entry_is_printed(
    holdfast: Holdfast, place: dict[str, Any], text: str
) -> None:
    path = Path(place["HOME"]) / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    done = holdfast.run_inside("install", "--no-weights", "cursor", exit=1, **place)
    assert json.loads(done.stdout)["mcpServers"]["holdfast"]["command"] == executable()
    assert str(path) in done.stderr.decode()
    assert path.read_text("utf-8") == text
    assert [each.name for each in path.parent.iterdir()] == ["mcp.json"]


def test_an_existing_settings_file_with_comments_is_used_instead_of_a_new_one(holdfast: Holdfast, place: dict[str, Any]) -> None:
    path = Path(place["HOME"]) / ".config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text("{ /* mine */ }", "utf-8")
    assert b"opencode.jsonc" in holdfast.run_inside("install", "--no-weights", "opencode", exit=1, **place).stderr
    assert [each.name for each in path.parent.iterdir()] == ["opencode.jsonc"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are Unix's")
def test_the_old_file_is_kept_next_to_it_and_permissions_and_links_stay(
    holdfast: Holdfast, place: dict[str, Any], tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text('{"secret": true}', "utf-8")
    real.chmod(0o600)
    path = Path(place["HOME"]) / ".claude.json"
    path.symlink_to(real)
    told = _told(holdfast.run_inside("install", "--no-weights", "claude-code", "--json", **place))
    assert Path(told["backup"]).read_text("utf-8") == '{"secret": true}'
    assert Path(told["backup"]).parent == path.parent
    assert path.is_symlink()
    assert json.loads(real.read_text("utf-8"))["secret"] is True
    assert stat.S_IMODE(real.stat().st_mode) == stat.S_IMODE(Path(told["backup"]).stat().st_mode) == 0o600
    assert sorted(each.name for each in real.parent.iterdir()) == ["claude.json"]


CODEX = """# my settings
model = "gpt-5"  # the big one

[mcp_servers.docs]
command = "docs"
note = '''
[mcp_servers.holdfast]
'''

[mcp_servers.holdfast]
command = "old"
startup_timeout_sec = 20

[mcp_servers.holdfast.env]
MINE = "1"

# what I trust
[projects."/home/ana"]
trust_level = "trusted"
"""


def test_toml_keeps_its_comments_and_everything_else() -> None:
    text = CODEX.replace("note = '''\n[mcp_servers.holdfast]\n'''\n", "")
    after = merged(CLIENTS["codex"], text.encode(), {"command": "new", "args": ["mcp"]}).decode()
    settings = tomllib.loads(after)
    assert settings["mcp_servers"]["holdfast"] == {
        "command": "new",
        "startup_timeout_sec": 20,
        "env": {"MINE": "1"},
        "args": ["mcp"],
    }
    assert settings["mcp_servers"]["docs"] == {"command": "docs"}
    assert settings["projects"] == {"/home/ana": {"trust_level": "trusted"}}
    for comment in ("# my settings", "# the big one", "# what I trust"):
        assert comment in after
    assert merged(CLIENTS["codex"], after.encode(), {"command": "new", "args": ["mcp"]}).decode() == after


@pytest.mark.parametrize(
    "text",
    [
        CODEX,
        'mcp_servers = { docs = { command = "x" } }\n',
        '[mcp_servers.holdfast]\ncommand = "x"  # by hand\n',
        '[mcp_servers.holdfast]\n# by hand\ncommand = "x"\n',
        "[broken",
    ],
    ids=["inside a text", "inline", "comment after", "comment before", "broken"],
)
def test_toml_that_would_lose_content_is_refused(text: str) -> None:
    with pytest.raises(Unmergeable):
        merged(CLIENTS["codex"], text.encode(), {"command": "new"})


def test_toml_takes_any_path_and_name() -> None:
    entry = {"command": 'C:\\Users\\Ana "M"\\holdfast.exe', "args": ["--user", "José\n\x7f"], "env": {"A B": "ñ"}}
    written = merged(CLIENTS["codex"], b"", entry).decode()
    assert tomllib.loads(written) == {"mcp_servers": {"holdfast": entry}}


def test_a_project_has_its_own_file(holdfast: Holdfast, place: dict[str, Any], tmp_path: Path) -> None:
    folders = HomeFolders(home=tmp_path, settings=tmp_path / "s", xdg=tmp_path / "x")
    project = tmp_path / "project"
    paths = {name: client.path(folders, InstallTarget.PROJECT, project) for name, client in CLIENTS.items() if client.of_project}
    assert {name: path.relative_to(project).as_posix() for name, path in paths.items()} == {
        "claude-code": ".mcp.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".vscode/mcp.json",
        "codex": ".codex/config.toml",
        "gemini": ".gemini/settings.json",
        "opencode": "opencode.json",
    }
    assert (
        b"--scope user"
        in holdfast.run_inside("install", "--no-weights", "claude-desktop", "--scope", "project", exit=1, **place).stderr
    )


def test_each_system_has_its_place_for_settings(tmp_path: Path) -> None:
    mac = HomeFolders(home=tmp_path, settings=tmp_path / "Library" / "Application Support", xdg=tmp_path / ".config")
    found = {
        name: client.path(mac, InstallTarget.USER, tmp_path).relative_to(tmp_path).as_posix() for name, client in CLIENTS.items()
    }
    assert found == {
        "claude-code": ".claude.json",
        "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
        "cursor": ".cursor/mcp.json",
        "vscode": "Library/Application Support/Code/User/mcp.json",
        "codex": ".codex/config.toml",
        "gemini": ".gemini/settings.json",
        "opencode": ".config/opencode/opencode.json",
    }


def test_environment_variables_of_the_assistants_choose_the_settings_folder(
    holdfast: Holdfast, place: dict[str, Any], tmp_path: Path
) -> None:
    place |= {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    assert _told(holdfast.run_inside("install", "--no-weights", "claude-code", "--json", **place))["path"] == str(
        tmp_path / "c" / ".claude.json"
    )
    assert _told(holdfast.run_inside("install", "--no-weights", "codex", "--json", **place))["path"] == str(
        tmp_path / "x" / "config.toml"
    )


def test_the_server_is_started_with_the_given_flags(holdfast: Holdfast, place: dict[str, Any]) -> None:
    flags = ["--user", "ana", "--app", "kitchen", "--agent", "chef", "--preset", "reachy", "--store", "mine.db"]
    path = Path(_told(holdfast.run_inside("install", "--no-weights", "cursor", *flags, "--json", **place))["path"])
    given = _listed("cursor", path)["holdfast"]["args"]
    variables = ["--env-file", str(holdfast.home / "agents.env")]
    assert given == ["mcp", *flags[:6], "--preset", "reachy", "--store", str(Path.cwd() / "mine.db"), *variables]
