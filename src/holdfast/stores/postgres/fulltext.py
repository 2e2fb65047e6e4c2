"""Full text in PostgreSQL: a posting for each term of each window, and BM25 over the partitions a reader may see.

The terms, the candidates and the scores are those of the SQLite store. Postings are rows of a table whose key begins
with tenant and partition: a GIN index would read the postings of everyone who used a word, and row level security does
not let its operators near an index at all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from holdfast.protocols import Match, Space
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql import bm25
from holdfast.stores.sql.connection import Row, fetch
from holdfast.stores.sql.filters import Clauses
from holdfast.text.chunks import chunk_spans
from holdfast.text.terms import document_terms, query_terms

TenantPartitions: TypeAlias = tuple[str, list[int]]
"""A tenant, and the partitions to look into."""

_MAX_CHUNKS = 4096
"""Windows an item can have."""


class Postings:
    """Writes the index in one transaction. How many windows and terms a partition has is added up at its end."""

    def __init__(self) -> None:
        self._added: dict[int, list[int]] = {}

    def index(
        self,
        connection: PostgresSession,
        tenant: str,
        place: tuple[int, int],
        text: str,
        language: str | None,
        *,
        heading: str = "",
    ) -> int:
        """Index the windows of a (partition, item), each under the heading; returns how many there are."""
        partition, item = place
        spans = chunk_spans(text)
        above = document_terms(heading, language)
        words = [[*above, *document_terms(text[start:end], language)] for start, end in spans]
        connection.execute(
            "INSERT INTO units (tenant, item, window, partition, start, length, terms) "
            "SELECT ?::text, ?::bigint, number - 1, ?::bigint, start, length, terms "
            "FROM unnest(?::bigint[], ?::bigint[], ?::text[]) WITH ORDINALITY AS span (start, length, terms, number)",
            (
                tenant, item, partition, [start for start, _ in spans], [end - start for start, end in spans],
                [" ".join(each) for each in words],
            ),
        )  # fmt: skip
        self._post(connection, tenant, place, words)
        return len(spans)

    def _post(self, connection: PostgresSession, tenant: str, place: tuple[int, int], words: Sequence[Sequence[str]]) -> None:
        rows = [
            (term, window, frequency, len(each)) for window, each in enumerate(words) for term, frequency in Counter(each).items()
        ]
        if rows:
            connection.execute(
                "INSERT INTO postings (tenant, partition, term, item, window, frequency, length) "
                "SELECT ?::text, ?::bigint, term, ?::bigint, number, frequency, length "
                "FROM unnest(?::text[], ?::int[], ?::int[], ?::int[]) AS posting (term, number, frequency, length)",
                (tenant, *place, *map(list, zip(*rows, strict=True))),
            )
        self._count(place[0], len(words), sum(map(len, words)))

    def unindex(self, connection: PostgresSession, tenant: str, item: int) -> None:
        """Take an item's windows out of the index, terms and all."""
        units = _units(connection, tenant, item)
        for partition in {unit[0] for unit in units}:
            words = [unit[1].split(" ") if unit[1] else [] for unit in units if unit[0] == partition]
            connection.execute(
                "DELETE FROM postings WHERE tenant = ? AND partition = ? AND term = ANY(?) AND item = ?",
                (tenant, partition, sorted({term for each in words for term in each}), item),
            )
            self._count(partition, -len(words), -sum(map(len, words)))
        connection.execute("DELETE FROM units WHERE tenant = ? AND item = ?", (tenant, item))

    def move(self, connection: PostgresSession, tenant: str, item: int, new_item: int, partition: int) -> int:
        """Index an item's windows as another item's in another partition, without reading the text again."""
        units = _units(connection, tenant, item)
        for old in {unit[0] for unit in units}:
            words = [unit[1].split(" ") if unit[1] else [] for unit in units if unit[0] == old]
            connection.execute(
                "UPDATE postings SET partition = ?, item = ? WHERE tenant = ? AND partition = ? AND term = ANY(?) AND item = ?",
                (partition, new_item, tenant, old, sorted({term for each in words for term in each}), item),
            )
            self._count(old, -len(words), -sum(map(len, words)))
            self._count(partition, len(words), sum(map(len, words)))
        connection.execute(
            "UPDATE units SET partition = ?, item = ? WHERE tenant = ? AND item = ?", (partition, new_item, tenant, item)
        )
        return len(units)

    def _count(self, partition: int, units: int, terms: int) -> None:
        counted = self._added.setdefault(partition, [0, 0])
        counted[0] += units
        counted[1] += terms

    def finish(self, connection: PostgresSession, tenant: str) -> None:
        """Add what was counted to the partitions: at the end and in one order, so that nobody waits long or in a circle."""
        connection.executemany(
            "UPDATE partitions SET units = units + ?, terms = terms + ? WHERE tenant = ? AND partition = ?",
            [(units, terms, tenant, number) for number, (units, terms) in sorted(self._added.items()) if units or terms],
        )
        self._added.clear()


def _units(connection: PostgresSession, tenant: str, item: int) -> list[tuple[int, str]]:
    rows = fetch(connection, "SELECT partition, terms FROM units WHERE tenant = ? AND item = ?", (tenant, item))
    return [(partition, terms) for partition, terms in rows]


class ItemFilter(NamedTuple):
    """Which items may be found; ``filtered`` when most may not."""

    clauses: Clauses
    filtered: bool


def search(
    connection: PostgresSession,
    tenant: str,
    partitions: Mapping[int, Space],
    query: str,
    *,
    languages: Sequence[str],
    limit: int,
    narrowed: ItemFilter,
) -> list[Match]:
    """Rank the windows that share terms with a query, the best window of each item."""
    wanted = query_terms(query, languages) if partitions else []
    if not wanted:
        return []
    place = (tenant, list(partitions))
    counted = _frequencies(connection, place, wanted)
    known = [pair for pair in counted if pair[0]]
    if not known:
        return []
    totals = _totals(connection, place)
    weights = _matches(connection, place, known, narrowed, totals=totals, limit=limit)
    rows = [divmod(row, _MAX_CHUNKS) for row in bm25.best_of(weights, known, limit)]
    return bm25.rank(_read(connection, tenant, rows), partitions, counted, totals, limit=limit)


def _frequencies(connection: PostgresSession, place: TenantPartitions, wanted: Sequence[frozenset[str]]) -> list[bm25.Counted]:
    """Return in how many windows each term occurs under any of its spellings, the rarest first."""
    sql = "SELECT term, count(*) FROM postings WHERE tenant = ? AND partition = ANY(?) AND term = ANY(?) GROUP BY term"
    spelled = sorted({term for each in wanted for term in each})
    counts: dict[str, int] = {row[0]: row[1] for row in fetch(connection, sql, (*place, spelled))}
    return sorted(((sum(counts.get(term, 0) for term in each), each) for each in wanted), key=lambda pair: pair[0])


def _totals(connection: PostgresSession, place: TenantPartitions) -> tuple[int, int]:
    """Return how many windows the partitions have, and how many terms these."""
    sql = "SELECT sum(units)::bigint, sum(terms)::bigint FROM partitions WHERE tenant = ? AND partition = ANY(?)"
    ((units, terms),) = fetch(connection, sql, place)
    return units or 0, terms or 0


def _matches(
    connection: PostgresSession,
    place: TenantPartitions,
    known: list[bm25.Counted],
    narrowed: ItemFilter,
    *,
    totals: tuple[int, int],
    limit: int,
) -> dict[int, float]:
    """Return the windows that hold the rarest terms, each with the rarity of what it holds; one question for all terms."""
    bound = bm25.bound_of(filtered=narrowed.filtered, excluded=0)
    taken = bm25.chosen(known, bound)
    order, ordering = "item DESC, window DESC", list[float]()
    if bm25.is_ranked(known, limit):
        order = "sum(frequency) / (sum(frequency) + ?::float8 + ?::float8 * min(length)) DESC, item, window"
        ordering = [bm25.K1 * (1 - bm25.B), bm25.K1 * bm25.B * totals[0] / max(totals[1], 1)]
    one = (
        "(SELECT ?::int AS place, item, window FROM postings WHERE tenant = ? AND partition = ANY(?) AND term = ANY(?) "
        f"AND {narrowed.clauses.sql} GROUP BY item, window ORDER BY {order} LIMIT ?)"
    )
    values = [
        value
        for number, (_, spellings) in enumerate(taken)
        for value in (number, *place, sorted(spellings), *narrowed.clauses.values, *ordering, bound)
    ]
    weights: dict[int, float] = {}
    rarities = [bm25.rarity(count) for count, _ in taken]
    for number, item, window in fetch(connection, " UNION ALL ".join([one] * len(taken)), values):
        row = item * _MAX_CHUNKS + window
        weights[row] = weights.get(row, 0.0) + rarities[number]
    return weights


def _read(connection: PostgresSession, tenant: str, rows: Sequence[tuple[int, int]]) -> list[Row]:
    """Return item, window, partition and terms of each window."""
    return fetch(
        connection,
        "SELECT item, window, partition, terms FROM units WHERE tenant = ? AND (item, window) IN "
        "(SELECT * FROM unnest(?::bigint[], ?::bigint[]))",
        (tenant, [item for item, _ in rows], [window for _, window in rows]),
    )
