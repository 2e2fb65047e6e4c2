"""Environment variables: the only module that reads or sets them."""

import os
from collections.abc import Iterable, Mapping

_METRICS = "PROMETHEUS_MULTIPROC_DIR"


def variable(name: str) -> str | None:
    """Return an environment variable; an empty one counts as not set."""
    return os.environ.get(name) or None


def given(names: Iterable[str]) -> dict[str, str]:
    """Return those of the variables that are set."""
    return {name: value for name in names if (value := variable(name)) is not None}


def metrics_variable() -> str | None:
    """Return the folder that Prometheus' client uses when several processes count together."""
    return variable(_METRICS)


def share_metrics(folder: object) -> None:
    """Make the worker processes started from here count together, in an empty folder."""
    os.environ[_METRICS] = str(folder)


def set_for_libraries(values: Mapping[str, str]) -> None:
    """Set variables that libraries read when they are imported."""
    os.environ.update(values)


def silence_onnxruntime() -> None:
    """Turn off telemetry, which onnxruntime sends from 1.29 on unless this is set before its import."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
