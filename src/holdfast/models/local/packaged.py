"""Finds the weights that an extra of Holdfast has installed with its package; nothing is imported or fetched."""

import importlib.util
from pathlib import Path

from holdfast.errors import ExtraMissing, WeightsCorrupt
from holdfast.models.local.registry import PackagedSpec, Weight, WheelMember

__all__ = ["damaged", "is_installed", "locate"]


def is_installed(spec: PackagedSpec) -> bool:
    """Tell whether the extra that brings a model is installed."""
    return _folder(spec) is not None


def locate(spec: PackagedSpec) -> dict[str, Path]:
    """Return the path of each of a model's files by name, if all are there and of the right size."""
    folder = _folder(spec)
    if folder is None:
        raise ExtraMissing(f"{spec.name} is not installed: {_install(spec)}")
    paths = {weight.filename: folder / _path(weight) for weight in spec.files}
    for weight in spec.files:
        path = paths[weight.filename]
        if not path.is_file() or path.stat().st_size != weight.size:
            raise WeightsCorrupt(damaged(spec, path))
    return paths


def damaged(spec: PackagedSpec, path: Path) -> str:
    """Say that a file is not the one the model's name stands for, and what to do."""
    carrier = next(carrier for weight in spec.files for carrier in weight.carriers if isinstance(carrier, WheelMember))
    wanted = f"{carrier.project}=={carrier.version}"
    return f"{path} is not the file {spec.name} is known by: pip install --force-reinstall {wanted}"


def _folder(spec: PackagedSpec) -> Path | None:
    """Return the folder that the package's own lies in."""
    found = importlib.util.find_spec(spec.module)
    return None if found is None or found.origin is None else Path(found.origin).parent.parent


def _path(weight: Weight) -> str:
    return next(carrier.path for carrier in weight.carriers if isinstance(carrier, WheelMember))


def _install(spec: PackagedSpec) -> str:
    return f"pip install 'holdfast[{spec.extra}]'"
