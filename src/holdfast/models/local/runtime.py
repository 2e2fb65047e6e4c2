"""The optional package onnxruntime, which runs the local embedders, rerankers and readers."""

import importlib.util
from typing import Final

from holdfast.errors import ExtraMissing
from holdfast.types.translatable import translatable

__all__ = ["RUNTIME_MISSING", "check_runtime"]

RUNTIME_MISSING: Final = translatable(
    "runtime.missing",
    "Models on this machine need onnxruntime, which is not installed or cannot be loaded. Without it, Holdfast searches by words "
    "and learns by rules. Alpine Linux and 32-bit ARM have no wheel of it. Elsewhere, run: pip install onnxruntime",
)


def check_runtime() -> None:
    """Raise ``ExtraMissing`` if onnxruntime is not installed. The package is not imported, because the import is slow."""
    if importlib.util.find_spec("onnxruntime") is None:
        raise ExtraMissing(RUNTIME_MISSING)
