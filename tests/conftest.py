"""Shared fixtures: a memory with a real store on each backend, a frozen clock, and a search of the bytes on disk."""

import gc
import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the tests keep all cores busy: more threads would only wait

settings.register_profile("holdfast", deadline=None)  # a busy machine pauses a test at any moment
settings.load_profile("holdfast")

pytest.register_assert_rewrite(
    *(
        f"holdfast.testing.{name}"
        for name in (
            "embedders",
            "store_access",
            "store_apps",
            "store_maintenance",
            "store_metadata",
            "store_memories",
            "store_records",
            "store_search",
            "store_traces",
            "store_vectors",
            "store_writes",
        )
    )
)

from holdfast import Engine  # noqa: E402  (after its asserts were registered for rewriting)
from holdfast.config.opening import open_engine  # noqa: E402
from holdfast.testing import FrozenClock, HashEmbedder  # noqa: E402
from tests.places import SHARED, Place, a_place, memory_folder, parametrize  # noqa: E402
from tests.sampling import Sample  # noqa: E402
from tools.order_tests import shared_out  # noqa: E402

if (in_memory := memory_folder()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", in_memory)  # where pytest makes the folders of ``tmp_path``


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of these tests: ``--places``, ``--full`` and ``--conversations``."""
    parser.addoption("--places", default="", help="run tests that use a place in these: sqlite,postgres,chroma")
    parser.addoption("--full", action="store_true", help="run every case of the tests that otherwise run a sample of their cases")
    parser.addoption(
        "--conversations", type=Path, help="a folder with longmemeval.json and locomo.json, to test extraction on them"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the processes that tests start import ``startup/sitecustomize.py``. The processes of pytest itself do not.

    If several workers run the tests, also create the folder that they share.
    """
    if not hasattr(config, "workerinput") and getattr(config.option, "numprocesses", None):
        shared = TemporaryDirectory(prefix="holdfast-tests-")
        config.add_cleanup(shared.cleanup)
        os.environ[SHARED] = shared.name
    else:
        paths = [str(Path(__file__).parent / "startup"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, dict.fromkeys(paths)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that are marked ``everywhere`` once on each backend."""
    parametrize(metafunc)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked ``full`` unless ``--full`` is given. Put long tests first if several workers share the tests."""
    if not config.getoption("--full"):
        left_out = [item for item in items if item.get_closest_marker("full")]
        items[:] = [item for item in items if not item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = shared_out(items, workers, file=lambda item: item.path, limit=_time_limit)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Turn off Python's garbage collector while pytest collects the tests, to save time.

    Objects that exist after the collection stay alive until the end, so later garbage collections skip them.
    """
    gc.disable()
    try:
        _import_tests(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_tests(config: pytest.Config) -> None:
    """Import the test modules before pytest does. Each worker begins at another module.

    In a new clone, compiling the modules takes 12 seconds of CPU time. Workers that import them in the same order all compile
    every module. Workers that begin at different modules read most of them from the cache that another worker has written.
    """
    if (worker := getattr(config, "workerinput", None)) is None:
        return
    folders = [path for each in config.args if (path := config.rootpath / each).is_dir()]
    paths = sorted(path for folder in folders for path in folder.rglob("test_*.py") if (path.parent / "__init__.py").exists())
    start = len(paths) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for path in paths[start:] + paths[:start]:
        with suppress(Exception, pytest.skip.Exception):  # the collection imports the module again and reports the error
            importlib.import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


def _time_limit(item: pytest.Item) -> float | None:
    """Return the limit in seconds that a ``timeout`` mark sets for a test marked ``long``, or 0 without a ``timeout`` mark.

    Return None for a test that is not marked ``long``.
    """
    if item.get_closest_marker("long") is None:
        return None
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit is not None and limit.args else 0.0


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the reasons for skipped tests at the end of a run, one line per reason."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    terminalreporter.section("skipped", sep="-") if reasons else terminalreporter.write_line("Nothing was skipped.")
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"{number:5d}  {reason}")


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped, without the file and line."""
    reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(reason).removeprefix("Skipped: ")


@pytest.fixture(scope="session")
def sample(request: pytest.FixtureRequest) -> Sample:
    """The size at which tests with many cases run: a sample, or with ``--full`` every case."""
    return Sample(full=request.config.getoption("--full"))


@pytest.fixture(scope="session")
def conversations(request: pytest.FixtureRequest) -> Path:
    """The folder of public conversations. Their licenses do not allow a copy in this repository."""
    folder: Path | None = request.config.getoption("--conversations")
    if folder is None:
        pytest.skip("needs --conversations FOLDER, with longmemeval.json and locomo.json")
    return folder


@pytest.fixture
def clock() -> FrozenClock:
    """A clock frozen at noon on Sunday, March 1, 2026."""
    return FrozenClock("2026-03-01T12:00:00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The only folder that the engine writes to."""
    return tmp_path / "home"


@pytest.fixture
def place(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    """The backend of the memory: a SQLite file, unless the test is parametrized with other backends."""
    with a_place(getattr(request, "param", "sqlite"), folder) as found:
        yield found


@pytest.fixture
def open_memory(place: Place, clock: FrozenClock) -> Iterator[Callable[..., Engine]]:
    """Return a function that opens the same store any number of times. All engines are closed at the end of the test."""
    opened: list[Engine] = []

    def open_one(**options: Any) -> Engine:
        opened.append(open_engine(**place.opening(**{"worker": "none", "embedder": HashEmbedder(), "clock": clock, **options})))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., Engine]) -> Engine:
    """A new memory with the default preset."""
    return open_memory()


@pytest.fixture
def files_with(folder: Path) -> Callable[[str | bytes], list[str]]:
    """Return a function that lists the files on disk that contain the given bytes, ignoring case."""

    def look(needle: str | bytes) -> list[str]:
        wanted = (needle.encode() if isinstance(needle, str) else needle).lower()
        return sorted(file.name for file in folder.rglob("*") if file.is_file() and wanted in file.read_bytes().lower())

    return look
