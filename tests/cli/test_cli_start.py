"""Startup of the command line, its list of commands, and its error messages."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from holdfast.cli.app import COMMANDS, LazyGroup, app
from holdfast.version import __version__

from .support import Holdfast

HEAVY = ("numpy", "apsw", "onnxruntime", "yaml", "holdfast.config", "holdfast.engine", "holdfast.stores")

NAMES = (
    "remember recall context list show history forget erase undo sessions jobs models worker backup restore "
    "doctor stats demo users bench completion"
).split()


def _modules(*args: str) -> list[str]:
    """Return the modules that the command line imports in a new process."""
    script = (
        "import sys, atexit\n"
        f"sys.argv = ['holdfast', *{list(args)!r}]\n"
        "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
        "from holdfast.cli import main\n"
        "main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return ran.stderr.split()


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("recall", "--help")])
def test_version_and_help_import_nothing_heavy(args: tuple[str, ...]) -> None:
    loaded = _modules(*args)

    assert "holdfast.cli" in loaded
    assert [name for name in loaded if name.startswith(HEAVY)] == []


def test_the_version_alone_does_not_even_import_click() -> None:
    assert "click" not in _modules("--version")


def test_a_command_rarely_collects_garbage_while_it_starts() -> None:
    program = "import gc, sys; from holdfast.cli import main; sys.argv = ['holdfast', '--version']; main(); print(gc.get_threshold()[0])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(ran.stdout.splitlines()[-1]) >= 20_000


def test_the_executable_prints_its_version(holdfast: Holdfast) -> None:
    assert holdfast.run("--version").stdout.decode().strip() == f"holdfast {__version__}"
    assert holdfast("--version").stdout.strip() == f"holdfast {__version__}"


def test_help_lists_every_command() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout
    listed = {line.split()[0] for line in text.partition("Commands:")[2].splitlines() if line.strip()}

    assert set(NAMES) <= set(COMMANDS)
    assert set(COMMANDS) <= listed


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_opens_its_help_with_its_line_in_the_list(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"], terminal_width=200)

    assert result.exit_code == 0
    assert result.stdout.splitlines()[2].strip() == COMMANDS[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    def commands(command: click.Command | None) -> Iterator[click.Command]:
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            for sub in command.commands.values():
                yield from commands(sub)

    for command in commands(app.get_command(click.Context(app), name)):
        unexplained = [each.name for each in command.params if isinstance(each, click.Option) and not each.help]
        assert unexplained == [], command.name
        assert command.help, command.name


def test_a_wrong_command_line_exits_with_2_and_names_what_was_meant(holdfast: Holdfast) -> None:
    ran = holdfast.run("recal", "tea", exit=2)

    assert ran.stdout == b""
    assert "error: There is no command 'recal'. Did you mean 'recall'?" in ran.stderr.decode()


def test_usage_errors_are_json_too(holdfast: Holdfast) -> None:
    assert holdfast.error("recall", exit=2)["code"] == "usage"
    assert holdfast.error("list", "--limit", "0", exit=2)["code"] == "usage"
    assert holdfast.error("remember", "x", "--meta", "novalue", exit=2)["code"] == "usage"


def test_an_error_is_one_line_on_stderr_with_exit_1(holdfast: Holdfast) -> None:
    result = holdfast("show", "mem_nothing", exit=1)

    assert result.stdout == ""
    assert result.stderr == "error: There is no memory mem_nothing.\n"
    assert holdfast.error("show", "mem_nothing") == {"code": "not_found", "message": "There is no memory mem_nothing."}


def test_the_traceback_is_shown_only_when_asked_for(holdfast: Holdfast) -> None:
    assert "Traceback" not in holdfast("show", "mem_nothing", exit=1).stderr
    assert "Traceback" in holdfast("show", "mem_nothing", "--debug", exit=1).stderr


def test_system_errors_are_printed_without_a_traceback(holdfast: Holdfast, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")

    error = holdfast.error("list", "--store", str(in_the_way / "memory.db"))

    assert error["code"] in {"system", "store"}
    assert str(in_the_way) in error["message"]


class _Broken(LazyGroup):
    """An application whose only command raises an unexpected error."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        def bug() -> None:
            raise KeyError("lost")

        return click.Command(cmd_name, callback=bug)


def test_an_unexpected_error_says_how_to_see_more() -> None:
    result = CliRunner().invoke(_Broken(), ["list"])

    assert result.exit_code == 1
    assert (
        result.stderr
        == "error: Unexpected KeyError: 'lost'. This is a bug. Run the command again with --debug for the traceback.\n"
    )


def test_shared_options_may_stand_before_the_command_and_the_later_one_counts(holdfast: Holdfast) -> None:
    holdfast("--user", "ana", "remember", "prefers tea")

    assert [each["user"] for each in holdfast.json("--user", "ana", "list")] == ["ana"]
    assert [each["text"] for each in holdfast.json("--user", "bob", "list", "--user", "ana")] == ["prefers tea"]
    assert json.loads(holdfast("--json", "list", "--user", "ana").stdout)[0]["text"] == "prefers tea"


@pytest.mark.long
def test_a_closed_pipe_is_not_an_error(holdfast: Holdfast) -> None:
    holdfast("remember", "-", "--user", "ana", input="a long text " * 20_000)

    process = holdfast.start("list", "--json", "--user", "ana")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"[\n"
    process.stdout.close()

    assert process.stderr.read() == b""
    process.wait(timeout=60)
    process.stderr.close()


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_characters_that_the_console_cannot_show_do_not_stop_a_command(holdfast: Holdfast, encoding: str) -> None:
    holdfast("remember", "Le gusta el mate 🧉 en Córdoba, 東京")

    ran = holdfast.run("list", PYTHONIOENCODING=encoding)
    assert b"Le gusta el mate" in ran.stdout
    ran = holdfast.run("list", "--json", PYTHONIOENCODING=encoding)
    assert "Córdoba, 東京".encode() in ran.stdout  # UTF-8 in a pipe, and not escaped
    assert json.loads(ran.stdout.decode())[0]["text"] == "Le gusta el mate 🧉 en Córdoba, 東京"


def test_stored_text_cannot_send_control_codes_to_the_terminal(holdfast: Holdfast) -> None:
    holdfast("remember", "red \x1b[31malert\x9b2J\x07 now")

    shown = holdfast("list").stdout
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "red [31malert2J now" in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(holdfast: Holdfast, shell: str) -> None:
    assert "_HOLDFAST_COMPLETE" in holdfast("completion", shell).stdout


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell's protocol")
def test_completion_knows_the_commands(holdfast: Holdfast) -> None:
    ran = holdfast.run(_HOLDFAST_COMPLETE="bash_complete", COMP_WORDS="holdfast re", COMP_CWORD="1")

    assert set(ran.stdout.decode().split()) == {f"plain,{name}" for name in COMMANDS if name.startswith("re")}
    assert "remember" in COMMANDS


@pytest.mark.parametrize("args", [(), ("users",), ("store",)])
def test_a_bare_command_or_group_prints_its_help_once_and_succeeds(holdfast: Holdfast, args: tuple[str, ...]) -> None:
    ran = holdfast.run(*args)

    assert ran.stderr == b""
    assert ran.stdout.decode().count("Usage: holdfast") == 1
    assert b"Commands:" in ran.stdout


@pytest.mark.parametrize("args", [(), ("recall",), ("users",), ("keys", "create")])
def test_dash_h_is_help_everywhere(holdfast: Holdfast, args: tuple[str, ...]) -> None:
    assert holdfast(*args, "-h").stdout == holdfast(*args, "--help").stdout


@pytest.mark.parametrize(
    ("args", "advice"),
    [
        (("show",), "Example: holdfast show mem_"),
        (("resident", "stop"), "Example: holdfast resident --stop"),
        (("sessions", "ses_1"), " sessions show ses_1"),
        (("jobs", "again"), " jobs` are: list, rerun."),
        (("frobnicate",), "Run `holdfast --help` to list the commands."),
    ],
)
def test_a_usage_error_ends_with_what_to_type_instead(holdfast: Holdfast, args: tuple[str, ...], advice: str) -> None:
    assert advice in holdfast(*args, exit=2).stderr


@pytest.mark.parametrize(
    ("args", "option"),
    [
        (("--user", "ana", "stats"), "--user"),
        (("--shared", "export", "all.jsonl"), "--shared"),
        (("--tenant", "acme", "store", "copy", "a.db", "b.db"), "--tenant"),
    ],
)
def test_an_option_before_the_command_is_refused_where_it_would_be_ignored(
    holdfast: Holdfast, args: tuple[str, ...], option: str
) -> None:
    assert holdfast.error(*args, exit=2)["message"].startswith(f"{option} does not apply to ")
    assert not Path("all.jsonl").exists()


def test_a_store_that_does_not_exist_is_created_with_a_note(holdfast: Holdfast, tmp_path: Path) -> None:
    store = tmp_path / "mistyped.db"
    note = f"There is no store at {store} yet."
    assert note in " ".join(holdfast("list", "--store", str(store), "--user", "ana").stderr.split())
    assert note not in " ".join(holdfast("list", "--store", str(store), "--user", "ana").stderr.split())


def test_the_package_runs_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "holdfast", "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == f"holdfast {__version__}"
