"""Generate the pages of ``docs/reference/`` from the code: ``python -m holdfast.cli.reference [PAGE ...]``."""

import sys
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from holdfast.cli.api_reference import api_page
from holdfast.cli.app import app
from holdfast.config.loading import variables
from holdfast.config.settings import Settings
from holdfast.presets.settings import DESIGNS

_DOCS = Path(__file__).parents[3] / "docs" / "reference"
_BENCH = "bench"
"""Name of the command that has its own reference page, because its options are defined in the package holdfast-bench."""


def commands_page() -> str:
    """Return the text of ``docs/reference/cli.md``."""
    lines = ["# Commands", "", "Generated from the commands' help texts, which `--help` prints too.", ""]
    context = click.Context(app, info_name="holdfast")
    lines += [f"```text\n{app.get_help(context)}\n```", ""]
    for name, command, inner in _walk(app, context, but=_BENCH):
        lines += [f"## {name}", "", f"```text\n{command.get_help(inner)}\n```", ""]
    return "\n".join(lines)


def bench_page() -> str:
    """Return the text of ``docs/reference/bench.md``. The package holdfast-bench must be installed."""
    context = click.Context(app, info_name="holdfast")
    group = app.get_command(context, _BENCH)
    assert isinstance(group, click.Group)
    inner = click.Context(group, info_name=_BENCH, parent=context, terminal_width=100)
    lines = [
        "# Benchmarks",
        "",
        "The commands of the package `holdfast-bench`. Install it in a clone of the repository: `pip install ./bench`.",
        "",
    ]
    lines += [f"```text\n{group.get_help(inner)}\n```", ""]
    for name, command, below in _walk(group, inner):
        lines += [f"## {name}", "", f"```text\n{command.get_help(below)}\n```", ""]
    return "\n".join(lines)


def _walk(group: click.Group, context: click.Context, but: str = "") -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield every command of a group and its subgroups, each with the command's full name and click context.

    ``but`` names a command to skip.
    """
    for name in group.list_commands(context):
        if name == but:
            continue
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, terminal_width=100)
        yield inner.command_path.removeprefix("holdfast "), command, inner
        if isinstance(command, click.Group):
            yield from _walk(command, inner)


def settings_page() -> str:
    """Return the text of ``docs/reference/settings.md``."""
    lines = [
        "# Settings",
        "",
        "Each setting is looked up in this order: arguments or flags, the environment, `holdfast.toml` or `holdfast.yaml` (in the",
        "working directory, then in the data directory), the default. `HOLDFAST_HOME` sets the data directory, `HOLDFAST_MODELS`",
        "the folder with model weights.",
        "",
        "| setting | environment | default | description |",
        "|---|---|---|---|",
    ]
    named = variables()
    for item in fields(Settings):
        variable = f"`{named[item.name]}`" if item.name in named else ""
        lines.append(f"| `{item.name}` | {variable} | {_default(item)} | {item.metadata['help']} |")
    return "\n".join([*lines, "", *_design_lines()])


def _default(item: "Field[Any]") -> str:
    return "" if item.default is None else f"`{item.default}`"


_DESIGNS = """\
## Settings of the designs

A preset that follows a design takes that design's settings under their original names, in a table named `memory`:

```yaml
preset: rostro
memory:
  session_timeout_minutes: 5
  topics_dir: ~/rostro/topics
```

You can use the design's own YAML file unchanged: `holdfast --preset rostro --settings config.yaml list`, or
`holdfast.open(preset="rostro", settings="config.yaml")`. In Python, `settings` may also be such a table or an object of
`holdfast.presets.settings`. Other tables of the file are ignored. A design's settings bring their own paths,
relative to the working directory; the `store` setting overrides them.
"""


def _design_lines() -> Iterator[str]:
    """Yield the lines of the section that describes the settings of each design."""
    yield _DESIGNS
    for name, kind in DESIGNS.items():
        yield from (f"### {name}: `{kind.__name__}`", "", "| setting | default | description |", "|---|---|---|")
        yield from (f"| `{item.name}` | {_default(item)} | {item.metadata['help']} |" for item in fields(kind))
        yield ""


PAGES = {"api.md": api_page, "cli.md": commands_page, "settings.md": settings_page, "bench.md": bench_page}


def main() -> None:
    """Print the pages named on the command line, or write all pages."""
    if len(sys.argv) > 1:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        sys.stdout.writelines(PAGES[name]() for name in sys.argv[1:])
        return
    for name, page in PAGES.items():
        (_DOCS / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
