"""The ``completion`` command."""

import click


@click.command(epilog="Example: holdfast completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell completion script."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415  (only here)

    root = click.get_current_context().find_root()
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(root.command, {}, "holdfast", "_HOLDFAST_COMPLETE").source())
