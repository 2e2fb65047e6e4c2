"""A pytest plugin for the harness. It leaves out excluded tests and writes the outcome of all tests to a file.

The plugin runs inside a framework's environment, next to the framework's own ``tests`` package. Therefore it imports no
module of Holdfast.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_EXCLUDED: dict[str, str] = json.loads(os.environ.get("HOLDFAST_SUITE_EXCLUDED", "{}"))
_report: dict[str, Any] = {"passed": [], "failed": [], "skipped": [], "excluded": {}, "uses": 0}


def note_use() -> None:
    """Count a use of the adapter. If a suite never uses the adapter, its result proves nothing."""
    _report["uses"] += 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the excluded tests. An excluded name without parameters excludes the test with all its parameters."""
    for item in items:
        names = [name for name in (item.nodeid, item.nodeid.partition("[")[0]) if name in _EXCLUDED]
        if names:
            _report["excluded"][item.nodeid] = names[0]
    left_out = [item for item in items if item.nodeid in _report["excluded"]]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.nodeid not in _report["excluded"]]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the outcome of a test. A test also fails if its setup or teardown fails."""
    if report.failed:
        if report.nodeid in _report["passed"]:
            _report["passed"].remove(report.nodeid)
        if report.nodeid not in _report["failed"]:
            _report["failed"].append(report.nodeid)
    elif report.skipped:
        _report["skipped"].append(report.nodeid)
    elif report.when == "call":
        _report["passed"].append(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write the report."""
    place = os.environ.get("HOLDFAST_SUITE_REPORT")
    if place:
        Path(place).write_text(json.dumps(_report), "utf-8")
