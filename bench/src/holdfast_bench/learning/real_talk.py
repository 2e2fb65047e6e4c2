"""Verdicts on memories that were extracted from real conversations. People read and judged each memory.

The conversations are not part of the package, because their licenses do not allow it. ``labelled/judged.jsonl``
contains the verdict on each memory, with the checksum of its text. These figures are therefore recorded, not measured
in a run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import click

__all__ = ["RealTalk", "judged", "real_talk", "show_real_talk"]

_NAMES: Final = {
    "before": "before the check of single statements",
    "now": "with the check of single statements",
    "fitted": "with one fitted score, other sessions",
    "scored": "the same, other conversations",
    "refitted": "with references checked, same as above",
    "unseen": "2026-11-18, 45 other sessions",
    "signals": "the same version, 53 other sessions",
    "verdicts": "judged by the reader, the same sessions",
    "earlier": "the same version, 58 other sessions",
    "pairs": "without repetitions, trained further",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTalk:
    """The verdicts on the memories that one version of Holdfast extracted.

    Every memory counts once. If a memory was judged in several passes, each verdict counts as a part of it.
    """

    version: str
    memories: int
    shares: Mapping[str, float]
    """Maps each verdict (``useful``, ``junk``, ``broken`` and ``duplicate``) to its share of the memories, from 0 to 1."""
    clear: float
    """Share of the memories, from 0 to 1, that can be understood without their conversation."""

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        shares = {name: round(share, 4) for name, share in self.shares.items()}
        return {"version": self.version, "memories": self.memories, **shares, "clear": round(self.clear, 4)}


def real_talk() -> list[RealTalk]:
    """Return the recorded verdicts, the oldest version first."""
    return [_counted(version, judged(version)) for version in _NAMES]


def judged(version: str) -> list[dict[str, Any]]:
    """Return the recorded verdicts on each memory that this version extracted."""
    return [row for row in _rows() if version in row["kept"]]


def _counted(version: str, rows: list[dict[str, Any]]) -> RealTalk:
    names = ("useful", "junk", "broken", "duplicate")
    shares = {name: _mean([_mean([verdict == name for verdict in row["verdicts"]]) for row in rows]) for name in names}
    clear = _mean([_mean(row["clear"]) for row in rows])
    return RealTalk(version=_NAMES[version], memories=len(rows), shares=shares, clear=clear)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _rows() -> Iterator[dict[str, Any]]:
    text = (files("holdfast_bench") / "labelled" / "judged.jsonl").read_text("utf-8")
    yield from map(json.loads, text.splitlines())


def show_real_talk() -> None:
    """Print the recorded verdicts as a table."""
    click.echo("Memories kept from unseen real conversations, judged by reading (recorded; the text is not in the package):")
    click.echo(f"{'':40} {'memories':>8} {'useful':>7} {'junk':>6} {'broken':>7} {'twice':>6} {'clear alone':>12}")
    for each in real_talk():
        shares = [f"{each.shares[name]:.0%}" for name in ("useful", "junk", "broken", "duplicate")]
        click.echo(
            f"{each.version:40} {each.memories:8} {shares[0]:>7} {shares[1]:>6} {shares[2]:>7} {shares[3]:>6} {each.clear:>12.0%}"
        )
    click.echo("\nMeasured now, on text that was written for this set:")
