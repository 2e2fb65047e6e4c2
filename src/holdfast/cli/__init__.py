"""The command line. ``main`` is the entry point of the ``holdfast`` executable."""

import sys


def main() -> None:
    """Run the command line. ``holdfast --version`` is answered without importing any other module."""
    if sys.argv[1:] == ["--version"]:
        from holdfast.version import __version__  # noqa: PLC0415  (keeps --version fast)

        sys.stdout.write(f"holdfast {__version__}\n")
        return
    from holdfast.cli.app import app  # noqa: PLC0415  (keeps --version fast)

    app.main()
