"""Builds one of the two wheels of holdfast-models: the full wheel with the weights, or an empty wheel.

A release has both wheels. The tags of the full wheel name the systems for which ONNX Runtime has wheels; pip installs the full
wheel there, and the empty wheel on all other systems. An environment marker on the requirement could not do this, because it
cannot distinguish musl from glibc. The variable ``HOLDFAST_MODELS_WHEEL`` (``full`` or ``empty``) chooses the wheel to build.
If it is not set, the wheel for the current system is built.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import sys_tags

PLATFORMS = (
    "macosx_13_0_arm64",
    "macosx_13_0_x86_64",
    "manylinux_2_27_aarch64",
    "manylinux_2_27_x86_64",
    "win_amd64",
    "win_arm64",
)
"""The systems for which onnxruntime has wheels. For newer versions of macOS and glibc, pip accepts these tags too."""
MACHINES = ("AMD64", "ARM64", "aarch64", "arm64", "x86_64")
INTEL_MAC = "sys_platform != 'darwin' or platform_machine == 'arm64' or python_version < '3.14'"
"""Environment marker that excludes Intel Macs with Python 3.14 or newer.

The last onnxruntime for Macs with an Intel processor, 1.23, has wheels up to Python 3.13.
"""
RUNTIME = f"onnxruntime>=1.19; ({' or '.join(f'platform_machine == {name!r}' for name in MACHINES)}) and ({INTEL_MAC})"
"""Requirement of onnxruntime, with environment markers.

The list of machines matters only for lock files, because they use the metadata of this wheel for all systems.
"""
WEIGHTS = Path(__file__).resolve().parents[2] / "src" / "holdfast_models"


def is_full() -> bool:
    """Return True if the wheel to build contains the weights."""
    chosen = os.environ.get("HOLDFAST_MODELS_WHEEL", "")
    if chosen not in ("", "full", "empty"):
        message = f"HOLDFAST_MODELS_WHEEL is full or empty, not {chosen!r}"
        raise ValueError(message)
    return chosen == "full" or (not chosen and not {tag.platform for tag in sys_tags()}.isdisjoint(PLATFORMS))


class Dependencies(MetadataHookInterface):
    """Makes ONNX Runtime a dependency of the wheel that contains the weights."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies of the wheel."""
        metadata["dependencies"] = [RUNTIME] if is_full() else []


class Weights(BuildHookInterface[Any]):
    """Adds the weights and the platform tags to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Choose the files and the tags of the wheel.

        An editable install needs no files, because the weights are already in the folder ``src`` next to the package
        ``holdfast``.
        """
        if version == "standard" and is_full():
            build_data["force_include"][str(WEIGHTS)] = "holdfast_models"
            build_data["tag"] = f"py3-none-{'.'.join(PLATFORMS)}"
            build_data["pure_python"] = False
