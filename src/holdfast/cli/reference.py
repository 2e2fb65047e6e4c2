"""The reference pages, made from what the program knows of itself: ``python -m holdfast.cli.reference [PAGE]``."""

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click

from holdfast.cli.app import app
from holdfast.config import Settings

_DOCS = Path(__file__).parents[3] / "docs"


def commands_page() -> str:
    """Return ``docs/cli.md``."""
    lines = ["# Commands", "", "Generated from the program's own help; every command also has `--help`.", ""]
    context = click.Context(app, info_name="holdfast")
    lines += [f"```text\n{app.get_help(context)}\n```", ""]
    for name, command, inner in _walk(app, context):
        lines += [f"## {name}", "", f"```text\n{command.get_help(inner)}\n```", ""]
    return "\n".join(lines)


def _walk(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield every command below a group, with the words one types for it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, terminal_width=100)
        yield inner.command_path.removeprefix("holdfast "), command, inner
        if isinstance(command, click.Group):
            yield from _walk(command, inner)


def settings_page() -> str:
    """Return ``docs/settings.md``."""
    lines = [
        "# Settings",
        "",
        "Looked up in the arguments or flags, then in the environment, then in `holdfast.toml` or `holdfast.yaml` (in the working",
        "directory, then in the data directory), then in the default. `HOLDFAST_HOME` names the data directory, `HOLDFAST_MODELS`",
        "the folder of the weights.",
        "",
        "| setting | environment | default | what it is |",
        "|---|---|---|---|",
    ]
    for item in fields(Settings):
        default = "" if item.default is None else f"`{item.default}`"
        lines.append(f"| `{item.name}` | `HOLDFAST_{item.name.upper()}` | {default} | {item.metadata['help']} |")
    return "\n".join([*lines, ""])


PAGES = {"cli.md": commands_page, "settings.md": settings_page}


def main() -> None:
    """Print one page, or write them all."""
    if len(sys.argv) > 1:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        sys.stdout.write(PAGES[sys.argv[1]]())
        return
    for name, page in PAGES.items():
        (_DOCS / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
