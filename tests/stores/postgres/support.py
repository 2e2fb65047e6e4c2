"""A real PostgreSQL for tests: one server per test process, and a new database for each test."""

import atexit
import functools
import itertools
import json
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")

from holdfast.stores.bundled_postgres import BundledServer, Probe, probe  # noqa: E402
from holdfast.stores.postgres import PostgresStore  # noqa: E402
from tests.places import memory_folder, shared_folder  # noqa: E402

NAMED = "HOLDFAST_TEST_POSTGRES"
"""Environment variable with the address of a PostgreSQL server to test on. The address must name a superuser."""

_numbers = itertools.count(1)
_EMPTY = """
DO $$
DECLARE
    named text;
BEGIN
    FOR named IN SELECT indexname FROM pg_indexes WHERE schemaname = 'holdfast' AND indexname LIKE '%hnsw' LOOP
        EXECUTE format('DROP INDEX holdfast.%I', named);
    END LOOP;
    FOR named IN SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast' AND tablename <> 'migrations' LOOP
        EXECUTE format('DELETE FROM holdfast.%I', named);
    END LOOP;
END
$$
"""


class Server:
    """A PostgreSQL server with a template database. Every new test database is a copy of the template.

    If the environment variable ``HOLDFAST_TEST_POSTGRES`` has an address, that server is used. Otherwise, the bundled server
    is started. If the bundled server crashes, the administrator's connection is opened again.
    """

    def __init__(self) -> None:
        named = os.environ.get(NAMED)
        self._prefix = f"test_{uuid.uuid4().hex[:8]}"
        self._bundled = None if named else _start_bundled()
        self._address = named or cast("BundledServer", self._bundled).url()
        self._connection: Any = None
        self._model = f"{self._prefix}_model"
        self._execute(f"CREATE DATABASE {self._model}")
        PostgresStore(self.url(self._model)).close()
        self._shared: str | None = None

    @property
    def folder(self) -> Path:
        """The server's data directory. Skips the test if the server runs on another machine."""
        if self._bundled is None:
            pytest.skip("needs the data directory of the server, which only the bundled one shows")
        return self._bundled.folder

    @property
    def system_user(self) -> str | None:
        """Operating system user that may connect through the server's socket. None means the current user."""
        return None if self._bundled is None else self._bundled.system_user

    def url(self, database: str) -> str:
        """Return the address of a database."""
        if self._bundled is not None:
            return self._bundled.url(database)
        return urlsplit(self._address)._replace(path=f"/{database}").geturl()

    def new(self, *, empty: bool = False, copy_of: str | None = None) -> str:
        """Create a database and return its address. With ``empty``, it has no tables.

        ``copy_of`` is the address of a database to copy. No connection to it must be open.
        """
        name = f"{self._prefix}_{next(_numbers)}"
        template = "template0" if empty else self._model if copy_of is None else _name(copy_of)
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def emptied(self) -> str:
        """Return the address of the database that the tests share, after emptying its tables."""
        if self._shared is None:
            self._shared = self.new()
        shared = self._shared

        def empty() -> None:
            with psycopg.connect(shared, autocommit=True) as connection:
                connection.execute(_EMPTY)

        self._through_crashes(empty)
        return shared

    def drop(self, url: str) -> None:
        """Drop a database and end all connections to it."""
        self._execute(f"DROP DATABASE IF EXISTS {_name(url)} WITH (FORCE)")

    def stop(self) -> None:
        """Stop the bundled server and delete its files. On any other server, only drop the databases that the tests created."""
        if self._bundled is None:
            rows = self._execute(f"SELECT datname FROM pg_database WHERE datname LIKE '{self._prefix}%'").fetchall()
            for (name,) in rows:
                self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        if self._connection is not None:
            self._connection.close()
        if self._bundled is not None:
            self._bundled.stop()

    def _execute(self, sql: str) -> Any:
        """Run a statement as the administrator."""

        def run() -> Any:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._address, autocommit=True)
            return self._connection.execute(sql)

        return self._through_crashes(run)

    def _through_crashes(self, action: Callable[[], Any]) -> Any:
        return action() if self._bundled is None else self._bundled.through_crashes(action)


def _name(url: str) -> str:
    """Return the name of the database at an address."""
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def _start_bundled() -> BundledServer:
    """Start the bundled server, or skip the test with the reason why it does not work here."""
    found = _probe_once()
    if not found.works:
        pytest.skip(f"no PostgreSQL: {found.problem}. Set {NAMED} to a server's address to use that one.")
    return BundledServer(tempfile.mkdtemp(prefix="holdfast-pg-", dir=memory_folder()), library=found.library)


@functools.cache
def _probe_once() -> Probe:
    """Probe the bundled server once per test run. One test process runs the probe and shares the result through a file."""
    shared = shared_folder()
    if shared is None:
        return probe()
    result, lock = shared / "probe.json", shared / "probe.lock"
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        for _ in range(900):
            if result.exists():
                return Probe(**json.loads(result.read_text("utf-8")))
            time.sleep(0.1)
        return probe()
    found = probe()
    draft = result.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(found)), "utf-8")
    draft.rename(result)
    return found


@functools.cache
def running() -> Server:
    """Return the server of this process, started on first use and shared by the fixtures of all modules."""
    started = Server()
    atexit.register(started.stop)
    return started


@pytest.fixture(scope="session")
def server() -> Server:
    """The PostgreSQL server that all tests of this process share."""
    return running()


@pytest.fixture
def url(server: Server) -> str:
    """The address of a database with empty tables."""
    return server.emptied()


@pytest.fixture
def empty_url(server: Server) -> Iterator[str]:
    """The address of a database without tables."""
    made = server.new(empty=True)
    yield made
    server.drop(made)


OpenPostgres = Callable[..., PostgresStore]
"""A function that opens another store on the test's database. Its argument ``tenant`` selects the tenant."""


@pytest.fixture
def open_store(url: str) -> Iterator[OpenPostgres]:
    """Yield a function that opens a store on the test's database. All stores are closed after the test."""
    handles: list[PostgresStore] = []

    def open_one(*, tenant: str = "default", **more: Any) -> PostgresStore:
        handles.append(PostgresStore(url, tenant=tenant, **more))
        return handles[-1]

    yield open_one
    for handle in handles:
        handle.close()


Run = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
def as_owner(url: str) -> Iterator[Run]:
    """Yield a function that runs a statement as the superuser, who bypasses row level security."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = holdfast, public")

        def run(sql: str) -> list[tuple[object, ...]]:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

        yield run
