"""The ``bench`` command. Its subcommands come from the package holdfast-bench, which is installed separately."""

import shlex
import sys
from pathlib import Path

import click


class _Bench(click.Group):
    """A click group whose subcommands come from the package holdfast-bench."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the benchmarks."""
        return _installed().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one benchmark by its name."""
        return _installed().get_command(ctx, cmd_name)


def _installed() -> click.Group:
    try:
        from holdfast_bench.command import bench as installed  # noqa: PLC0415  (a separate package, often not installed)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "holdfast_bench":
            raise
        how = _how_to_install(Path(__file__).parents[4] / "bench")
        raise click.ClickException(f"The benchmarks are not installed, and not on PyPI yet. {how}") from error
    return installed


def _how_to_install(folder: Path) -> str:
    """Return a sentence that says how to install the benchmarks.

    ``folder`` is where the benchmarks are in a clone of the repository. If they are there, the sentence has the complete command.
    """
    if (folder / "pyproject.toml").is_file():
        return f"Install them from this clone: {shlex.quote(sys.executable)} -m pip install {shlex.quote(str(folder))}"
    return "Install them in a clone of the repository: pip install ./bench"


@click.command(cls=_Bench, epilog="Example: holdfast bench speed")
def bench() -> None:
    """Measure speed, learning and recall on this machine.

    The benchmarks are in a separate package. Install it in a clone of the repository: pip install ./bench
    """
