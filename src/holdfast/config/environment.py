"""Access to environment variables. No other module reads or sets them."""

import os
from collections.abc import Iterable, Mapping

_METRICS = "PROMETHEUS_MULTIPROC_DIR"


def variable(name: str) -> str | None:
    """Return the value of an environment variable, or None if it is unset or empty."""
    return os.environ.get(name) or None


def defined_variables(names: Iterable[str]) -> dict[str, str]:
    """Return the named variables that are set and not empty, with their values."""
    return {name: value for name in names if (value := variable(name)) is not None}


def metrics_variable() -> str | None:
    """Return the folder for shared Prometheus metrics from its environment variable; None if the variable is not set."""
    return variable(_METRICS)


def share_metrics(folder: object) -> None:
    """Set the folder for shared Prometheus metrics, which must be empty. Worker processes started after this call use it."""
    os.environ[_METRICS] = str(folder)


def set_for_libraries(values: Mapping[str, str]) -> None:
    """Set environment variables for libraries that read the variables on import. Call this before importing these libraries."""
    os.environ.update(values)


def silence_onnxruntime() -> None:
    """Turn off the telemetry of onnxruntime 1.29 and later. Must be called before onnxruntime is imported."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
