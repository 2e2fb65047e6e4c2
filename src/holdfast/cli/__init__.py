"""The command line. ``main`` is what the ``holdfast`` executable runs."""

import sys


def main() -> None:
    """Run the command line; asking for the version alone loads nothing."""
    if sys.argv[1:] == ["--version"]:
        from holdfast.version import __version__  # noqa: PLC0415  (as the rest: imported when it is wanted)

        sys.stdout.write(f"holdfast {__version__}\n")
        return
    from holdfast.cli.app import app  # noqa: PLC0415  (as above)

    app.main()
