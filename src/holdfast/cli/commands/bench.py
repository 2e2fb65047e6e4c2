"""The command ``bench``. Its subcommands are in the package holdfast-bench, which is installed separately."""

import click


class _Bench(click.Group):
    """A group whose commands come from holdfast-bench."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the benchmarks."""
        return _installed().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one benchmark."""
        return _installed().get_command(ctx, cmd_name)


def _installed() -> click.Group:
    try:
        from holdfast_bench.command import bench as installed  # noqa: PLC0415  (another distribution, often not installed)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "holdfast_bench":
            raise
        raise click.ClickException("holdfast bench needs the package holdfast-bench: pip install holdfast-bench") from error
    return installed


@click.command(cls=_Bench)
def bench() -> None:
    """Measure speed on this machine, how well it learns, and how well it recalls."""
