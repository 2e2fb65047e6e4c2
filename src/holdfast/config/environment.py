"""Access to environment variables. No other module reads or sets them."""

import getpass
import os
from collections.abc import Iterable, Mapping

_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_UNKNOWN_LOGIN = "user"


def variable(name: str) -> str | None:
    """Return the value of an environment variable, or None if it is unset or empty."""
    return os.environ.get(name) or None


def defined_variables(names: Iterable[str]) -> dict[str, str]:
    """Return the named variables that are set and not empty, with their values."""
    return {name: value for name in names if (value := variable(name)) is not None}


def login_name() -> str:
    """Return the login name of the current person, or ``user`` if the system does not know it."""
    try:
        return getpass.getuser().strip() or _UNKNOWN_LOGIN
    except (KeyError, OSError, ImportError):  # no variable names it, and the system has no entry for this process
        return _UNKNOWN_LOGIN


def metrics_variable() -> str | None:
    """Return the folder for shared Prometheus metrics from its environment variable. Return None if the variable is not set."""
    return variable(_METRICS)


def share_metrics(folder: object) -> None:
    """Set the folder in which worker processes share Prometheus metrics. The folder must be empty.

    Worker processes started after this call use the folder.
    """
    os.environ[_METRICS] = str(folder)


def set_for_libraries(values: Mapping[str, str]) -> None:
    """Set environment variables for libraries that read the variables on import. Call this before importing these libraries."""
    os.environ.update(values)


def silence_onnxruntime() -> None:
    """Turn off the telemetry of onnxruntime 1.29 and later. Must be called before onnxruntime is imported."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def own_variables() -> dict[str, str]:
    """Return the ``HOLDFAST_*`` variables that are set and not empty, with their values."""
    return {name: value for name, value in os.environ.items() if name.startswith("HOLDFAST_") and value}


def load_file(path: str) -> None:
    """Set environment variables from a file of ``NAME=value`` lines. Variables that are already set are replaced."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  (a hook runs at each prompt, and pathlib is slow to import)
        lines = [line.rstrip("\r\n") for line in file]
    pairs = [line.partition("=") for line in lines if line.strip() and not line.startswith("#")]
    os.environ.update({name.strip(): value for name, equals, value in pairs if equals})


def resolve_paths() -> None:
    """Make the paths in ``HOLDFAST_*`` variables absolute, for a process that will have another working directory."""
    for name in ("HOLDFAST_HOME", "HOLDFAST_MODELS", "HOLDFAST_STORE"):
        value = os.environ.get(name)
        if value and "://" not in value:
            os.environ[name] = os.path.abspath(os.path.expanduser(value))  # noqa: PTH100, PTH111  (as above)
