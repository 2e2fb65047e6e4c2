"""Import a file or folder: find its format, read it, and store its records."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path

from holdfast.background.digest import Digester
from holdfast.errors import InvalidInput
from holdfast.importers.formats import Format, Options, find_format, needs_unpacking
from holdfast.importers.probe import Probe
from holdfast.importers.records import Conversation, Note
from holdfast.importers.run import Import, ImportResult, Progress, Source
from holdfast.importers.unpack import unpacked
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Store
from holdfast.text.clean import clean_name
from holdfast.types import Scope
from holdfast.types.translatable import translatable

MAX_EMBEDDED_AT_ONCE = 1000
"""Maximum number of texts that an import embeds before it returns. The worker embeds the rest later."""


def import_path(
    store: Store,
    preset: Preset,
    clock: Clock,
    digester: Digester,
    path: str | PathLike[str],
    *,
    owner: Mapping[str, str | None],
    default_user: str | None = None,
    format: str | None = None,
    learn: int | None = None,
    dry_run: bool = False,
    collection: str = "memories",
    shared: bool = True,
    progress: Progress | None = None,
    keep_vectors: Callable[[Mapping[str, bytes]], object] | None = None,
) -> ImportResult:
    """Import a file or folder into the scope that ``owner`` names. A zip archive of a folder is unpacked first.

    If neither ``owner`` nor the file names a user, app or agent for a record, the record belongs to ``default_user``. Without
    a default user, all users share the record. But if ``shared`` is False, an error is raised, and nothing is imported.

    Without ``format``, the format is detected. ``collection`` is the name of the collection to read, for formats that have
    collections. :meth:`Import.run` explains ``learn`` and ``dry_run``. If the file contains vectors, ``keep_vectors`` is
    called with the vectors of the imported texts.
    """
    if learn is not None and learn < 0:
        raise InvalidInput(f"learn is {learn}; it must be 0 or more. Nothing was imported.")
    with prepared(Path(path).expanduser(), format) as place:
        chosen = find_format(place, format)
        source = replace(
            _source(store, place, chosen, owner, collection),
            shared=shared,
            default_user=clean_name(default_user, what="default_user"),
        )
        run = Import(store, preset, clock, digester, source)
        result = run.run(learn=learn, dry_run=dry_run, progress=progress)
        if not _has_found(result) and not _is_empty(Probe(place), chosen):
            raise InvalidInput(
                translatable(
                    "import.nothing",
                    "{place} contains nothing in the format {format}: {title}. Nothing was imported.",
                    place=str(place),
                    format=chosen.name,
                    title=chosen.title,
                )
            )
    if keep_vectors is not None and run.vectors:
        keep_vectors(run.vectors)
    return result


def names_all_owners(place: Path, chosen: Format, collection: str) -> bool:
    """Return True if every record of a file names its user, app or agent.

    ``place`` is the file, and ``chosen`` is its format. ``collection`` is the name of the collection to read, for
    formats that have collections.
    """
    if not chosen.names_users:
        return chosen.has_scope
    found = chosen.read(place, Options(tenant="", collection=collection))
    return all(each.user or each.app or each.agent for each in found if isinstance(each, Note | Conversation))


def prepared(path: Path, format: str | None) -> AbstractContextManager[Path]:
    """Return a context manager with the path to read: the path itself, or the unpacked folder of a zip archive."""
    return unpacked(path) if needs_unpacking(path, format) else nullcontext(path)


def _source(store: Store, place: Path, chosen: Format, owner: Mapping[str, str | None], collection: str) -> Source:
    if chosen.has_scope and any(owner.values()):
        raise InvalidInput(
            translatable(
                "import.own_scope",
                "This export names the user, app and agent of each record. Leave them out. Nothing was imported.",
            )
        )
    parts = {part: clean_name(value, what=part) for part, value in owner.items()}
    scope = Scope(tenant=store.tenant, user=parts["user"], app=parts["app"], agent=parts["agent"])
    options = Options(tenant=scope.tenant, collection=collection)
    return Source(name=chosen.name, records=lambda: chosen.read(place, options), scope=scope)


def _has_found(result: ImportResult) -> bool:
    return any(counts.found for counts in (result.memories, result.messages, result.sessions, result.others))


def _is_empty(probe: Probe, chosen: Format) -> bool:
    """Return True if a file in which no records were found is a valid, empty export.

    This is so if the file looks like the chosen format, or if it contains only an empty JSON list.
    """
    return chosen.fits(probe) or probe.text.strip() == "[]"
