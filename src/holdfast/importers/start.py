"""Import a file or folder: find its format, read it, and store its records."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from holdfast.background.digest import Digester
from holdfast.errors import InvalidInput
from holdfast.importers.formats import Options, find_format
from holdfast.importers.run import Import, ImportResult, Progress, Source
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Store
from holdfast.text.clean import clean_name
from holdfast.types import Scope

MAX_EMBEDDED_AT_ONCE = 1000
"""Maximum number of texts that an import embeds before it returns. The worker embeds what a larger import leaves."""


def import_path(
    store: Store,
    preset: Preset,
    clock: Clock,
    digester: Digester,
    path: str | PathLike[str],
    *,
    owner: Mapping[str, str | None],
    format: str | None = None,
    learn: int | None = None,
    dry_run: bool = False,
    collection: str = "memories",
    progress: Progress | None = None,
    keep_vectors: Callable[[Mapping[str, bytes]], object] | None = None,
) -> ImportResult:
    """Import a file or folder into the scope that ``owner`` names.

    If the file contains vectors, ``keep_vectors`` is called with the vectors of the imported texts.
    """
    if learn is not None and learn < 0:
        raise InvalidInput(f"learn is {learn}; it must be 0 or more. Nothing was imported.")
    place = Path(path).expanduser()
    chosen = find_format(place, format)
    if chosen.has_scope and any(owner.values()):
        raise InvalidInput("This export names the user, app and agent of each record. Leave them out. Nothing was imported.")
    parts = {part: clean_name(value, what=part) for part, value in owner.items()}
    scope = Scope(tenant=store.tenant, user=parts["user"], app=parts["app"], agent=parts["agent"])
    options = Options(tenant=scope.tenant, collection=collection)
    source = Source(name=chosen.name, records=lambda: chosen.read(place, options), scope=scope)
    run = Import(store, preset, clock, digester, source)
    result = run.run(learn=learn, dry_run=dry_run, progress=progress)
    if keep_vectors is not None and run.vectors:
        keep_vectors(run.vectors)
    return result
