"""Shows the progress of long work: a bar on a terminal, one line per step elsewhere."""

import sys

import click

from holdfast.cli.console import say

_WIDTH = 30


def _bar(done: int, total: int) -> str:
    share = min(done / total, 1.0)
    filled = "#" * int(_WIDTH * share)
    return f"[{filled:.<{_WIDTH}}] {share:4.0%}"


class Progress:
    """Shows the progress of several steps in turn, each under its label."""

    def __init__(self, verb: str, *, unit: float = 0, quiet: bool) -> None:
        self._verb = verb
        self._unit = unit
        self._quiet = quiet
        self._bar = sys.stderr.isatty()
        self._shown = ""
        self._label = ""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` items are finished.

        If ``total`` is 0, the total is unknown, and only ``done`` is shown.
        """
        if self._quiet:
            return
        if label != self._label:
            self.finish()
            self._label = label
            if not self._bar:
                size = f" ({total / self._unit:.1f} MB)" if total and self._unit else ""
                say(f"{self._verb} {label}{size} ...")
        if self._bar:
            line = f"\r{self._verb} {label}  {_bar(done, total) if total else f'{done // 100 * 100:,}'}"
            if line != self._shown:  # redraw only when the line changes
                self._shown = line
                click.echo(line, nl=False, err=True)

    def finish(self) -> None:
        """End the line of the progress bar."""
        if self._shown:
            click.echo(err=True)
            self._shown = ""
