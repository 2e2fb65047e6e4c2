"""The command line. ``main`` is the entry point of the ``holdfast`` executable."""

import gc
import sys

_MAX_NEW_OBJECTS = 50_000
"""Number of new objects after which Python collects garbage.

With Python's default of 700, it collected garbage 300 times while a server started, which took a tenth of the CPU time.
"""


def main() -> None:
    """Run the command line.

    For a fast start, ``hook`` and ``mcp`` run without importing click, unless they have options that only click can
    parse, such as --help.
    """
    gc.set_threshold(_MAX_NEW_OBJECTS)
    words = sys.argv[1:]
    if words == ["--version"]:
        from holdfast.version import __version__  # noqa: PLC0415  (keeps --version fast)

        sys.stdout.write(f"holdfast {__version__}\n")
        return
    if _runs_without_click(words):
        return
    from holdfast.cli.app import app  # noqa: PLC0415  (keeps the commands above fast)

    app.main()


def _runs_without_click(words: list[str]) -> bool:
    """Run ``hook`` or ``mcp`` without click. Return False if only click can parse the command line."""
    if words[:1] == ["hook"]:
        from holdfast.resident import hook  # noqa: PLC0415  (only for this command)

        return hook.main(words[1:])
    if words[:1] == ["mcp"]:
        from holdfast.resident import relay  # noqa: PLC0415  (only for this command)

        return relay.main(words[1:])
    return False
