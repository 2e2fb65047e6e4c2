"""The ``import`` commands: import memories from other programs."""

from dataclasses import replace
from pathlib import Path

import click

from holdfast.cli.options import Flags, open_memory, with_flags
from holdfast.cli.output import count, emit
from holdfast.cli.progress import Progress


@click.group("import", epilog="Example: holdfast import chroma ~/.reachy/memory --user alex")
def importing() -> None:
    """Import memories from other programs."""


@importing.command("chroma", epilog="Example: holdfast import chroma ~/.reachy/memory --user alex")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--collection", default="memories", show_default=True, metavar="NAME", help="Collection to read.")
@with_flags()
def chroma(flags: Flags, path: Path, *, collection: str) -> None:
    """Import a Chroma collection of the Reachy design.

    PATH is the folder with chroma.sqlite3, which is only read. The default preset is `reachy`. You can run the import again: it
    adds nothing twice. Needs chromadb: pip install 'holdfast[chroma]'
    """
    from holdfast.importers.chroma import import_chroma  # noqa: PLC0415  (heavy: not needed for --help)

    shown = Progress("importing", quiet=flags.json)
    with open_memory(replace(flags, preset=flags.preset or "reachy")) as memory:
        result = import_chroma(
            memory,
            path,
            collection=collection,
            progress=lambda done, total: shown(count(total, "memory"), done, total),
            **flags.scope,
        )
    shown.finish()
    skipped = {
        "already stored": result.known,
        "repeated": result.repeated,
        "expired": result.expired,
        "without text": result.empty,
    }
    why = ", ".join(f"{number:,} {reason}" for reason, number in skipped.items() if number)
    line = f"Imported {count(result.imported, 'memory')} of {result.found:,}" + (f"; skipped: {why}." if why else ".")
    if result.redacted:
        line += f" Secrets were replaced in {count(result.redacted, 'memory')}."
    emit(result, [line], as_json=flags.json)
