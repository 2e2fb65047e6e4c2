"""The ``import`` command: import conversations, memories and documents of other programs."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.options import Flags, convert_store, open_memory, with_flags, with_user, yes_option
from holdfast.cli.output import count, emit
from holdfast.cli.progress import Progress
from holdfast.errors import InvalidInput
from holdfast.runtime.private_folders import private_folder
from holdfast.types.translatable import without

if TYPE_CHECKING:
    from holdfast.importers.formats import Format
    from holdfast.importers.records import FileWarning, SkippedFile
    from holdfast.importers.run import ImportCounts, ImportResult

FORMATS = (
    "holdfast", "chatgpt", "claude", "claude-code", "mem0", "mcp-memory", "letta", "rumi", "rostro", "lobug", "apps", "chroma", "pdf",
    "pasted", "markdown", "text",
)  # fmt: skip
"""Names of the formats. They are repeated here, because ``--help`` must not import the readers."""
_SKIPPED = {"known": "already stored", "repeated": "repeated", "expired": "expired", "empty": "without text"}

_MAX_FILE_LINES = 20
"""Maximum number of skipped files, and of files with warnings, that are listed."""


def _format_and_path(_context: click.Context, _option: click.Parameter, words: tuple[str, ...]) -> tuple[str | None, Path]:
    """Parse the arguments ``PATH`` or ``FORMAT PATH``. Return the format and the path. Without ``FORMAT``, the format is None."""
    match words:
        case (path,):
            return None, Path(path)
        case (format, path) if format in FORMATS:
            return format, Path(path)
    raise click.UsageError(
        f"{len(words)} arguments are given. Give one PATH. To import several files, put them into a folder and give the folder."
    )


@click.command("import", epilog="Example: holdfast import conversations.json --user ana")
@click.argument("words", nargs=-1, required=True, metavar="[FORMAT] PATH", callback=_format_and_path)
@click.option("--format", type=click.Choice(FORMATS), help="Format of PATH. Default: recognized by its content.")
@click.option(
    "--learn", type=click.IntRange(min=0), metavar="N", help="Learn only from the N newest conversations. Default: all."
)
@click.option("--dry-run", is_flag=True, help="Only check and count; store nothing.")
@yes_option
@click.option(
    "--collection", default="memories", show_default=True, metavar="NAME", help="Collection of a Chroma or Qdrant folder."
)
@with_flags()
def importing(
    flags: Flags,
    words: tuple[str | None, Path],
    *,
    format: str | None,
    learn: int | None,
    dry_run: bool,
    yes: bool,
    collection: str,
) -> None:
    """Import conversations, memories and documents of other programs.

    PATH is a file or folder of another program, or an export of Holdfast; `-` reads pasted text from standard input. FORMAT
    names the format, if it is not recognized. PATH is only read. The whole file is checked first: if it is damaged, nothing
    is stored. If an import was interrupted, run it again: it adds nothing twice.

    If PATH is also the --store, the store is converted, and the old file is kept under another name. Background work
    learns from the imported conversations afterwards; `holdfast worker` or `serve` does it.
    """
    from holdfast.importers.formats import find_format  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.importers.start import names_all_owners, prepared  # noqa: PLC0415  (as above)

    first, path = words
    if first and format and first != format:
        raise click.UsageError(f"Two formats are given: {first} and {format}. Give one.")
    format = format or first
    if not dry_run and _is_store(flags, path):
        convert_store(flags, yes=yes)
        return
    shown = Progress("importing", quiet=flags.json)
    with _file(path) as given, prepared(given, format) as file:
        found = find_format(file, format)
        flags = replace(flags, preset=flags.preset or found.preset)
        chosen = flags.user
        if not names_all_owners(file, found, collection):
            flags = _with_owner(flags, found)
        scope = {**flags.scope, "user": chosen, "default_user": flags.user} if found.names_users else flags.scope
        with open_memory(flags) as memory:
            result = memory.import_from(
                file,
                format=format,
                learn=learn,
                dry_run=dry_run,
                collection=collection,
                progress=lambda done, total: shown(count(total, "record"), done, total),
                **scope,
            )
    shown.finish()
    emit(result, _lines(result), as_json=flags.json)


def _with_owner(flags: Flags, found: "Format") -> Flags:
    """Return the flags, with the default user added if neither a user nor ``--shared`` is given.

    ``found`` is the format of the imported file. There is one exception: the file is the store of a design, and the target
    store has the preset of that design. Then no user is added, because the memories of the design belong to no user.
    """
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)

    settings = load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    is_own_design = found.design is not None and found.design == settings.preset
    return flags if is_own_design else with_user(flags)


def _is_store(flags: Flags, path: Path) -> bool:
    """Return True if the file to import is the store itself."""
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.stores import is_database, store_path  # noqa: PLC0415  (as above)

    settings = load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    return path.is_file() and not is_database(settings) and path.resolve() == store_path(settings).resolve()


@contextmanager
def _file(path: Path) -> Iterator[Path]:
    """Yield the path of the file to import. Standard input is written to a temporary file, because an import reads its file twice.

    Errors name the temporary file without its folder.
    """
    if str(path) != "-":
        yield path
        return
    with private_folder() as folder:
        pasted = folder / "pasted.txt"
        pasted.write_bytes(sys.stdin.buffer.read())
        try:
            yield pasted
        except InvalidInput as error:
            raise InvalidInput(without(str(error), f"{folder}{os.sep}")) from error


def _lines(result: "ImportResult") -> list[str]:
    parts = (
        ("memory", result.memories),
        ("message", result.messages),
        ("session", result.sessions),
        ("other record", result.others),
    )
    verb = "Found" if result.dry_run else "Imported"
    lines = [_line(verb, noun, counts) for noun, counts in parts if counts.found]
    lines += _file_lines(f"Skipped {count(len(result.skipped), 'template')}:", result.skipped)
    wrong = f"In {count(len(result.warnings), 'file')}, properties at the top are not valid YAML. Only they are left out"
    lines += _file_lines(f"{wrong}; correct them and import again:", result.warnings)
    if not lines:
        return [f"{verb} nothing: the {result.format} file is empty."]
    if result.learning:
        lines.append(f"Queued for learning: {count(result.learning, 'session')}.")
    return [f"Format: {result.format}.", *lines, *(["Nothing was stored."] if result.dry_run else [])]


def _file_lines(title: str, files: Sequence["SkippedFile | FileWarning"]) -> list[str]:
    """Return the title and a line for each file, up to a limit. Return an empty list if there are no files."""
    shown = [f"  {each.file}: {each.detail}" for each in files[:_MAX_FILE_LINES]]
    more = len(files) - len(shown)
    rest = [f"  and {count(more, 'more file')}; --json lists all"] if more else []
    return [title, *shown, *rest] if files else []


def _line(verb: str, noun: str, counts: "ImportCounts") -> str:
    names = {"updated": "to update", **_SKIPPED} if verb == "Found" else _SKIPPED
    skipped = [f"{number:,} {why}" for name, why in names.items() if (number := getattr(counts, name))]
    rest = f"; {'of these' if verb == 'Found' else 'skipped'}: {', '.join(skipped)}" if skipped else ""
    if verb == "Found":
        return f"Found {count(counts.found, noun)}{rest}."
    secrets = f" Secrets were replaced in {count(counts.redacted, noun)}." if counts.redacted else ""
    updated = f", updated {counts.updated:,}" if counts.updated else ""
    return f"Imported {count(counts.imported, noun)} of {counts.found:,}{updated}{rest}.{secrets}"
