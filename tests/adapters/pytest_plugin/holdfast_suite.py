"""A pytest plugin for the harness: leaves excluded tests out and writes the outcome of all tests to a file.

It runs inside a framework's environment and next to the framework's own ``tests`` package. So it imports nothing of ours.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_EXCLUDED: dict[str, str] = json.loads(os.environ.get("HOLDFAST_SUITE_EXCLUDED", "{}"))
_report: dict[str, Any] = {"passed": [], "failed": [], "skipped": [], "excluded": {}, "uses": 0}


def note_use() -> None:
    """Count a use of the adapter. A suite that never uses it proves nothing."""
    _report["uses"] += 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the excluded tests. An exclusion without parameters stands for all parameters."""
    for item in items:
        names = [name for name in (item.nodeid, item.nodeid.partition("[")[0]) if name in _EXCLUDED]
        if names:
            _report["excluded"][item.nodeid] = names[0]
    left_out = [item for item in items if item.nodeid in _report["excluded"]]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.nodeid not in _report["excluded"]]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome of a test. A test that fails in its setup or teardown has failed."""
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
