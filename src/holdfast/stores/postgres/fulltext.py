"""Full-text search in PostgreSQL, ranked by BM25 over the partitions that a reader may see.

The index has one posting per term and chunk. Postings are rows of a table whose primary key starts with tenant and
partition. Terms, candidates and scores are the same as in the SQLite store.

A GIN index is not used. To look up a word, it would read the postings of all tenants. With row level security, the
planner would not even use it, because its operators are not marked as leakproof.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from holdfast.protocols import Match, Space
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql import bm25
from holdfast.stores.sql.connection import Row, fetch
from holdfast.stores.sql.filters import Clauses
from holdfast.stores.sql.indexes import IndexedText
from holdfast.text.index_terms import chunk_terms, heading_terms
from holdfast.text.terms import query_terms

TenantPartitions: TypeAlias = tuple[str, list[int]]
"""A tenant, and the partitions to search."""

_MAX_CHUNKS = 4096
"""Maximum number of chunks per item."""


class Postings:
    """Writes the full-text index within one transaction.

    It also counts the chunks and terms that are added to or removed from each partition. :meth:`finish` stores these counts
    at the end of the transaction.
    """

    def __init__(self) -> None:
        self._added: dict[int, list[int]] = {}

    def index(
        self, connection: PostgresSession, tenant: str, partition: int, texts: Sequence[IndexedText]
    ) -> list[tuple[int, int]]:
        """Index the texts of items in a partition. Return their chunks as pairs of item number and chunk number."""
        counts = [(text.item, self._index(connection, tenant, partition, text)) for text in texts]
        return [(item, window) for item, count in counts for window in range(count)]

    def _index(self, connection: PostgresSession, tenant: str, partition: int, text: IndexedText) -> int:
        """Index the text of one item, and return the number of its chunks."""
        chunks = chunk_terms(text.text, text.language)
        above = heading_terms(text.heading, text.language)
        terms = [[*above, *chunk.terms] for chunk in chunks]
        connection.execute(
            "INSERT INTO units (tenant, item, window, partition, start, length, terms) "
            "SELECT ?::text, ?::bigint, number - 1, ?::bigint, start, length, terms "
            "FROM unnest(?::bigint[], ?::bigint[], ?::text[]) WITH ORDINALITY AS span (start, length, terms, number)",
            (
                tenant,
                text.item,
                partition,
                [chunk.start for chunk in chunks],
                [chunk.end - chunk.start for chunk in chunks],
                [" ".join(of_chunk) for of_chunk in terms],
            ),
        )
        self._post(connection, tenant, (partition, text.item), terms)
        return len(chunks)

    def _post(self, connection: PostgresSession, tenant: str, place: tuple[int, int], terms: Sequence[Sequence[str]]) -> None:
        rows = [
            (term, chunk, frequency, len(of_chunk))
            for chunk, of_chunk in enumerate(terms)
            for term, frequency in Counter(of_chunk).items()
        ]
        if rows:
            connection.execute(
                "INSERT INTO postings (tenant, partition, term, item, window, frequency, length) "
                "SELECT ?::text, ?::bigint, term, ?::bigint, number, frequency, length "
                "FROM unnest(?::text[], ?::int[], ?::int[], ?::int[]) AS posting (term, number, frequency, length)",
                (tenant, *place, *map(list, zip(*rows, strict=True))),
            )
        self._count(place[0], len(terms), sum(map(len, terms)))

    def unindex(self, connection: PostgresSession, tenant: str, item: int) -> None:
        """Remove an item's chunks and their terms from the index."""
        units = _units(connection, tenant, item)
        for partition in {unit[0] for unit in units}:
            terms = [unit[1].split(" ") if unit[1] else [] for unit in units if unit[0] == partition]
            connection.execute(
                "DELETE FROM postings WHERE tenant = ? AND partition = ? AND term = ANY(?) AND item = ?",
                (tenant, partition, sorted({term for chunk_terms in terms for term in chunk_terms}), item),
            )
            self._count(partition, -len(terms), -sum(map(len, terms)))
        connection.execute("DELETE FROM units WHERE tenant = ? AND item = ?", (tenant, item))

    def move(self, connection: PostgresSession, tenant: str, item: int, new_item: int, partition: int) -> int:
        """Move an item's chunks to the item number ``new_item`` and to ``partition``. Return the number of chunks.

        The text is not tokenized again.
        """
        units = _units(connection, tenant, item)
        for old in {unit[0] for unit in units}:
            terms = [unit[1].split(" ") if unit[1] else [] for unit in units if unit[0] == old]
            connection.execute(
                "UPDATE postings SET partition = ?, item = ? WHERE tenant = ? AND partition = ? AND term = ANY(?) AND item = ?",
                (partition, new_item, tenant, old, sorted({term for chunk_terms in terms for term in chunk_terms}), item),
            )
            self._count(old, -len(terms), -sum(map(len, terms)))
            self._count(partition, len(terms), sum(map(len, terms)))
        connection.execute(
            "UPDATE units SET partition = ?, item = ? WHERE tenant = ? AND item = ?", (partition, new_item, tenant, item)
        )
        return len(units)

    def _count(self, partition: int, units: int, terms: int) -> None:
        counted = self._added.setdefault(partition, [0, 0])
        counted[0] += units
        counted[1] += terms

    def finish(self, connection: PostgresSession, tenant: str) -> None:
        """Update the partitions' counts of chunks and terms with the changes that were collected in this transaction.

        Call this at the end of the transaction, so that the partitions are locked only briefly. The partitions are updated in a
        fixed order, so that two writers cannot deadlock.
        """
        connection.executemany(
            "UPDATE partitions SET units = units + ?, terms = terms + ? WHERE tenant = ? AND partition = ?",
            [(units, terms, tenant, number) for number, (units, terms) in sorted(self._added.items()) if units or terms],
        )
        self._added.clear()


def _units(connection: PostgresSession, tenant: str, item: int) -> list[tuple[int, str]]:
    rows = fetch(connection, "SELECT partition, terms FROM units WHERE tenant = ? AND item = ?", (tenant, item))
    return [(partition, terms) for partition, terms in rows]


class ItemFilter(NamedTuple):
    """SQL conditions that an item must fulfill to be found by a search.

    ``filtered`` is True if the conditions could exclude most items. The search then reads all chunks that match the query,
    otherwise only a limited number of them.
    """

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
    item_filter: ItemFilter,
) -> list[Match]:
    """Rank the chunks that have a term in common with a query, and return the best chunk of each item."""
    terms = query_terms(query, languages) if partitions else []
    if not terms:
        return []
    place = (tenant, list(partitions))
    counted = _frequencies(connection, place, terms)
    known = [pair for pair in counted if pair[0]]
    if not known:
        return []
    totals = _totals(connection, place)
    weights = _matches(connection, place, known, item_filter, totals=totals, limit=limit)
    rows = [divmod(row, _MAX_CHUNKS) for row in bm25.best_of(weights, known, limit)]
    return bm25.rank(_read(connection, tenant, rows), partitions, counted, totals, limit=limit)


def _frequencies(connection: PostgresSession, place: TenantPartitions, terms: Sequence[frozenset[str]]) -> list[bm25.Counted]:
    """Return each query term with the number of chunks that contain it, rarest term first.

    ``place`` has the tenant and the partitions in which chunks are counted. A term can have several spellings: the stems of a
    word in several languages. A chunk counts once for each spelling that it contains.
    """
    sql = "SELECT term, count(*) FROM postings WHERE tenant = ? AND partition = ANY(?) AND term = ANY(?) GROUP BY term"
    spellings = sorted(frozenset().union(*terms))
    counts: dict[str, int] = {row[0]: row[1] for row in fetch(connection, sql, (*place, spellings))}
    return sorted(((sum(counts.get(spelling, 0) for spelling in term), term) for term in terms), key=lambda pair: pair[0])


def _totals(connection: PostgresSession, place: TenantPartitions) -> tuple[int, int]:
    """Return the total number of chunks and the total number of terms in the partitions of ``place``."""
    sql = "SELECT sum(units)::bigint, sum(terms)::bigint FROM partitions WHERE tenant = ? AND partition = ANY(?)"
    ((units, terms),) = fetch(connection, sql, place)
    return units or 0, terms or 0


def _matches(
    connection: PostgresSession,
    place: TenantPartitions,
    known: list[bm25.Counted],
    item_filter: ItemFilter,
    *,
    totals: tuple[int, int],
    limit: int,
) -> dict[int, float]:
    """Return the candidates for scoring: the row number of each chunk, with the chunk's weight.

    Candidates are the chunks that contain at least one of the query's rarest terms. If nothing is filtered, at most
    ``bm25.MATCHES`` chunks per term are candidates. The weight of a chunk is the sum of ``bm25.rarity`` over the rarest terms
    that it contains.

    ``place`` has the tenant and the partitions to search. ``known`` has each query term with the number of chunks that
    contain it, rarest term first. ``totals`` has the number of chunks and the number of terms in the partitions. ``limit`` is
    the number of results of the search.
    """
    bound = bm25.bound_of(filtered=item_filter.filtered, excluded=0)
    taken = bm25.chosen(known, bound)
    order, ordering = "item DESC, window DESC", list[float]()
    if bm25.is_ranked(known, limit):
        order = "sum(frequency) / (sum(frequency) + ?::float8 + ?::float8 * min(length)) DESC, item, window"
        ordering = [bm25.K1 * (1 - bm25.B), bm25.K1 * bm25.B * totals[0] / max(totals[1], 1)]
    one = (
        "(SELECT ?::int AS place, item, window FROM postings WHERE tenant = ? AND partition = ANY(?) AND term = ANY(?) "
        f"AND {item_filter.clauses.sql} GROUP BY item, window ORDER BY {order} LIMIT ?)"
    )
    values = [
        value
        for number, (_, spellings) in enumerate(taken)
        for value in (number, *place, sorted(spellings), *item_filter.clauses.values, *ordering, bound)
    ]
    weights: dict[int, float] = {}
    rarities = [bm25.rarity(count) for count, _ in taken]
    for number, item, window in fetch(connection, " UNION ALL ".join([one] * len(taken)), values):
        row = item * _MAX_CHUNKS + window
        weights[row] = weights.get(row, 0.0) + rarities[number]
    return weights


def _read(connection: PostgresSession, tenant: str, rows: Sequence[tuple[int, int]]) -> list[Row]:
    """Return a row (item, chunk, partition, terms) for each given pair of item and chunk."""
    return fetch(
        connection,
        "SELECT item, window, partition, terms FROM units WHERE tenant = ? AND (item, window) IN "
        "(SELECT * FROM unnest(?::bigint[], ?::bigint[]))",
        (tenant, [item for item, _ in rows], [window for _, window in rows]),
    )
