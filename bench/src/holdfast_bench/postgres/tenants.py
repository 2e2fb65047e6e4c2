"""Measures one tenant's recall among many tenants of one PostgreSQL, compared with the same tenant alone.

The measured tenant's memories are stored through the engine. The other tenants are copies of its rows, made by the
database server. A second database holds only the measured tenant. The two databases are queried alternately, so that
other load on the machine affects both.
"""

import contextlib
import json
import os
import random
import statistics
import time
import zlib
from typing import TYPE_CHECKING, Any

from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast_bench.postgres.scratch_database import another_database, database
from holdfast_bench.server.load import milliseconds

if TYPE_CHECKING:
    import psycopg

_FIRST = "t0"
"""The tenant that is measured."""
_DIMENSIONS = 256
_BATCH = 500
"""Number of tenants copied per transaction."""
_WORDS = (
    "meeting deadline invoice garden tomato cello lesson review release server backup budget holiday recipe ticket bicycle "
    "reunión plazo factura huerto clase servidor copia presupuesto vacaciones receta piano boat roof violin oven lamp"
).split()


def run(*, store: str | None = None, tenants: int = 10_000, each: int = 100, asks: int = 400, as_json: bool = False) -> None:
    """Fill two databases, query both, and print the timings."""
    with database(store) as server_url, another_database(server_url) as alone, another_database(server_url) as crowded:
        begin = time.monotonic()
        for url in (alone, crowded):
            with _opened(url) as memory:
                _fill(memory, each)
        _copy(crowded, tenants)
        filled = round(time.monotonic() - begin, 1)
        result = _measure(alone, crowded, asks) | {"tenants": tenants, "memories": _count(crowded), "filled_s": filled}
    result["load_average"] = round(os.getloadavg()[0], 1)
    print(json.dumps(result) if as_json else "\n".join(f"{name:18} {value}" for name, value in result.items()))  # noqa: T201


def _opened(url: str) -> Engine:
    return open_engine(url, tenant=_FIRST, embedder=_vector, worker="none")


def _vector(text: str) -> list[float]:
    """Return a vector that is cheap to compute, so that the time of the embedder is not measured."""
    vector = [0.01] * _DIMENSIONS
    for word in text.casefold().split():
        vector[zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
    return vector


def _fill(memory: Engine, each: int) -> None:
    rng = random.Random(1)  # noqa: S311  (not for secrets)
    for number in range(each):
        memory.remember(f"{' '.join(rng.sample(_WORDS, 5))} number {number}", user="ana")
    memory.drain()


def _copy(url: str, tenants: int) -> None:
    """Copy the rows of the first tenant until there are ``tenants`` tenants.

    A copied row keeps the number and id of the original row, because they need to be unique only within a tenant.
    """
    import psycopg  # noqa: PLC0415  (an extra)

    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SET synchronous_commit = off")
        tables = _tables(admin)
        for first in range(1, tenants, _BATCH):
            last = min(first + _BATCH, tenants) - 1
            with admin.transaction():
                for table, columns in tables.items():
                    others = "".join(f', "{column}"' for column in columns if column != "tenant")
                    admin.execute(
                        f"INSERT INTO holdfast.{table} (tenant{others}) SELECT 't' || number{others} "
                        f"FROM holdfast.{table}, generate_series({first}, {last}) AS number WHERE tenant = '{_FIRST}'"
                    )
        admin.execute("VACUUM ANALYZE")


def _tables(admin: "psycopg.Connection[Any]") -> dict[str, list[str]]:
    rows = admin.execute(
        "SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position) FROM information_schema.columns "
        "WHERE table_schema = 'holdfast' AND is_generated = 'NEVER' GROUP BY 1 HAVING bool_or(column_name = 'tenant')"
    ).fetchall()
    return {str(table): list(columns) for table, columns in rows}


def _count(url: str) -> int:
    import psycopg  # noqa: PLC0415  (an extra)

    with psycopg.connect(url) as admin:
        row = admin.execute("SELECT count(*) FROM holdfast.memories").fetchone()
    return int(row[0]) if row else 0


def _measure(alone: str, crowded: str, asks: int) -> dict[str, Any]:
    """Query both databases alternately. The first tenth of the queries is warm-up."""
    rng = random.Random(2)  # noqa: S311  (not for secrets)
    times: dict[str, list[float]] = {alone: [], crowded: []}
    with contextlib.ExitStack() as stack:
        memories = {url: stack.enter_context(_opened(url)) for url in times}
        for number in range(asks + asks // 10):
            query = f"what about the {rng.choice(_WORDS)} and the {rng.choice(_WORDS)}?"
            for url in rng.sample(list(times), 2):
                begin = time.perf_counter()
                hits = memories[url].recall(query, user="ana")
                spent = time.perf_counter() - begin
                assert hits
                if number >= asks // 10:
                    times[url].append(spent)
    ratio = statistics.median(times[crowded]) / statistics.median(times[alone])
    return {
        "alone_p50_ms": milliseconds(times[alone]),
        "among_p50_ms": milliseconds(times[crowded]),
        "ratio": round(ratio, 2),
        "alone_p95_ms": milliseconds(times[alone], 0.95),
        "among_p95_ms": milliseconds(times[crowded], 0.95),
        "within_1.5": ratio <= 1.5,
    }
