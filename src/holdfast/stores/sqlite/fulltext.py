"""Full-text index: updates, and BM25 search over the partitions that a reader may see.

Each indexed term has the number of its partition as a prefix. So a search reads no index entries of other users,
and their texts do not affect the scores. Rare terms select the candidates, and all terms score them. This limits
the work for a query of common words.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw

from holdfast.protocols import Match, Space
from holdfast.stores.sql import bm25
from holdfast.stores.sql.connection import Connection, Row, cached_fetch, fetch
from holdfast.stores.sql.indexes import IndexedText
from holdfast.stores.sql.rows import marks
from holdfast.stores.sqlite.allowed_items import AllowedItems
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.word_cache import WordCache
from holdfast.text.index_terms import chunk_terms, heading_terms
from holdfast.text.terms import query_terms

_MAX_CHUNKS = 4096
"""Maximum number of chunks per item. A full-text rowid is ``item * _MAX_CHUNKS + chunk``."""
_FEW_ALLOWED = 200
"""If a filter allows at most this many items, all of them are scored. That is faster than searching the full-text index."""
FEW_SEGMENTS = 3
"""Number of new segments (separately stored parts) of the full-text index that may exist before segments are merged."""
_ROWS_AT_ONCE = 50
"""Maximum number of rows that one statement inserts."""
_MERGED_AT_ONCE = 128
"""Number of pages to merge per transaction. It is small, so that other writers wait only a few milliseconds."""


def index(connection: apsw.Connection, tenant: str, partition: int, texts: Sequence[IndexedText]) -> list[tuple[int, int]]:
    """Index the texts of items in a partition. Return their chunks as pairs of item number and chunk number."""
    rows = []
    for item, text, language, heading in texts:
        above = heading_terms(heading, language)
        rows += [
            (tenant, item, window, partition, start, end - start, " ".join([*above, *own]))
            for window, (start, end, own) in enumerate(chunk_terms(text, language))
        ]
    _add_units(connection, tenant, partition, rows)
    return [(row[1], row[2]) for row in rows]


def unindex(connection: apsw.Connection, tenant: str, item: int) -> None:
    """Remove an item's chunks and their terms from the index."""
    for window, partition, terms in fetch(
        connection, "SELECT window, partition, terms FROM units WHERE tenant = ? AND item = ?", (tenant, item)
    ):
        connection.execute(
            "INSERT INTO fulltext (fulltext, rowid, terms) VALUES ('delete', ?, ?)",
            (item * _MAX_CHUNKS + window, _prefixed(partition, terms)),
        )
        _count(connection, tenant, partition, -1, -_length(terms))
    connection.execute("DELETE FROM units WHERE tenant = ? AND item = ?", (tenant, item))


def move(connection: apsw.Connection, tenant: str, item: int, new_item: int, partition: int) -> int:
    """Move an item's chunks to the item number ``new_item`` and to ``partition``. Return the number of chunks.

    The text is not tokenized again.
    """
    units = fetch(connection, "SELECT window, start, length, terms FROM units WHERE tenant = ? AND item = ?", (tenant, item))
    unindex(connection, tenant, item)
    rows = [(tenant, new_item, window, partition, start, length, terms) for window, start, length, terms in units]
    _add_units(connection, tenant, partition, rows)
    return len(units)


def search(
    connection: FileConnection,
    tenant: str,
    partitions: Mapping[int, Space],
    query: str,
    *,
    languages: Sequence[str],
    limit: int,
    words: WordCache | None = None,
    allowed: AllowedItems | None = None,
    excluded: Collection[int] = (),
) -> list[Match]:
    """Rank the items that have a term in common with a query. An item is ranked by its best chunk.

    If the word cache ``words`` can search all the partitions, it is used instead of the full-text index. Only items in
    ``allowed`` are returned, or all items if it is None. Items in ``excluded`` are left out.
    """
    # A recall searches memories and messages with the same query.
    wanted = cached_fetch(connection, ("terms", query, *languages), lambda: query_terms(query, languages)) if partitions else []
    if not wanted:
        return []
    if words is not None:
        few = words.search(connection, tenant, partitions, wanted, limit=limit, allowed=allowed, excluded=excluded)
        if few is not None:
            return few
    counted = _frequencies(connection, partitions, wanted)
    known = [pair for pair in counted if pair[0]]
    if allowed is not None and len(allowed.items) <= _FEW_ALLOWED:
        read = _units_of(connection, tenant, [item for item in allowed.items if item not in excluded])
        ranked = _rank(connection, tenant, partitions, counted, [row for row in read if row[2] in partitions], limit=limit)
        return [match for match in ranked if match.score > 0]
    bound = bm25.bound_of(filtered=allowed is not None, excluded=len(excluded))
    weights = _matches(connection, partitions, known, bound=bound, limit=limit)
    if excluded or allowed is not None:
        weights = {rowid: weight for rowid, weight in weights.items() if _passes(rowid // _MAX_CHUNKS, allowed, excluded)}
    chosen = _read_units(connection, tenant, bm25.best_of(weights, known, limit))
    return _rank(connection, tenant, partitions, counted, chosen, limit=limit)


def _matches(
    connection: FileConnection, partitions: Mapping[int, Space], known: list[bm25.Counted], *, bound: int | None, limit: int
) -> dict[int, float]:
    """Return the candidates for scoring: the rowid of each chunk, with the chunk's weight.

    Candidates are the chunks that contain at least one of the query's rarest terms. The weight of a chunk is the sum of
    ``bm25.rarity`` over the rarest terms that it contains.

    ``known`` has each query term with the number of chunks that contain it, rarest term first. ``bound`` is the maximum number of
    chunks to read, or None. ``limit`` is the number of results of the search.
    """
    weights: dict[int, float] = {}
    order = "rank" if bm25.is_ranked(known, limit) else "rowid DESC"
    sql = f"SELECT rowid FROM fulltext WHERE fulltext MATCH ? ORDER BY {order} LIMIT ?"
    for count, spellings in bm25.chosen(known, bound):
        rarity = bm25.rarity(count)
        for (rowid,) in fetch(connection, sql, (quote_fts(partitions, spellings), -1 if bound is None else bound)):
            weights[rowid] = weights.get(rowid, 0.0) + rarity
    return weights


def _passes(item: int, allowed: AllowedItems | None, excluded: Collection[int]) -> bool:
    return item not in excluded and (allowed is None or item in allowed.items)


def _rank(
    connection: FileConnection,
    tenant: str,
    partitions: Mapping[int, Space],
    wanted: list[bm25.Counted],
    read: Sequence[Row],
    *,
    limit: int,
) -> list[Match]:
    """Score candidates by BM25 and return the best ``limit`` items, each with its best chunk.

    ``read`` has a row (item, chunk, partition, terms) for each candidate. ``wanted`` has each query term with the number of
    chunks that contain it. The score also depends on the number and the average length of all chunks in ``partitions``.
    """
    if not read:
        return []
    numbers = list(partitions)
    sql = f"SELECT sum(units), sum(terms) FROM partitions WHERE tenant = ? AND partition IN ({marks(numbers)})"
    ((units, terms),) = cached_fetch(connection, ("totals", tenant, *numbers), lambda: fetch(connection, sql, (tenant, *numbers)))
    return bm25.rank(read, partitions, wanted, (units, terms), limit=limit)


def _units_of(connection: FileConnection, tenant: str, items: Sequence[int]) -> list[Row]:
    """Return a row (item, chunk, partition, terms) for every chunk of these items."""
    sql = (
        "SELECT units.item, units.window, units.partition, units.terms FROM json_each(?) AS wanted CROSS JOIN units "
        "ON units.tenant = ? AND units.item = wanted.value"
    )
    return fetch(connection, sql, (json.dumps(items), tenant))


def _read_units(connection: FileConnection, tenant: str, rows: Sequence[int]) -> list[Row]:
    """Return a row (item, chunk, partition, terms) for each rowid, in the given order.

    All rows are read with one statement, which takes half as long as one statement per row.
    """
    sql = (
        "SELECT units.item, units.window, units.partition, units.terms FROM json_each(?) AS wanted CROSS JOIN units "
        f"ON units.tenant = ? AND units.item = wanted.value / {_MAX_CHUNKS} AND units.window = wanted.value % {_MAX_CHUNKS}"
    )
    return fetch(connection, sql, (json.dumps(rows), tenant))


def quote_fts(partitions: Mapping[int, Space], spellings: Collection[str]) -> str:
    """Return the full-text query that finds any spelling of one term in any of the partitions. All spellings are quoted."""
    return " OR ".join(
        '"' + _prefixed(partition, spelling).replace('"', '""') + '"'
        for partition in partitions
        for spelling in sorted(spellings)
    )


def _frequencies(
    connection: FileConnection, partitions: Mapping[int, Space], wanted: Sequence[frozenset[str]]
) -> list[bm25.Counted]:
    """Return each query term with the number of chunks that contain it, rarest term first.

    ``wanted`` has the spellings of each query term. A term can have several spellings: the stems of a word in several languages.
    A chunk counts once for each spelling that it contains.
    """
    counts: dict[str, int] = {}
    marked = {spelling: [_prefixed(partition, spelling) for partition in partitions] for each in wanted for spelling in each}
    every = [term for terms in marked.values() for term in terms]
    sql = f"SELECT term, doc FROM vocabulary WHERE term IN ({marks(every)})"
    counts.update(fetch(connection, sql, every))
    found = [(sum(counts.get(term, 0) for spelling in each for term in marked[spelling]), each) for each in wanted]
    return sorted(found, key=lambda pair: pair[0])


def segments(connection: apsw.Connection) -> list[int]:
    """Return the size of each segment of the full-text index. Every search has to read all segments."""
    return [row[0] for row in connection.execute("SELECT count(*) FROM fulltext_idx GROUP BY segid")]


def should_merge_all(sizes: Sequence[int]) -> bool:
    """Return True if all segments of the full-text index should be merged into one. ``sizes`` are the sizes of the segments.

    Two conditions must be met. There are more than ``FEW_SEGMENTS`` segments, and the total size of the smaller segments is at
    least a quarter of the size of the largest segment.

    Searching a single segment is fastest, but a full merge also rewrites the largest segment. A full merge must be rare, because
    frequent writes wear out the SD card of a single-board computer.
    """
    return len(sizes) > FEW_SEGMENTS and 4 * (sum(sizes) - max(sizes)) >= max(sizes)


def merge(connection: apsw.Connection, *, everything: bool) -> bool:
    """Merge some pages of the full-text index. Return False when nothing is left to merge.

    With ``everything``, start a merge of all segments. Later calls without ``everything`` continue that merge. If none was started,
    they merge only small segments.
    """
    before = connection.total_changes()
    # A negative page count starts a merge of all segments at any level; a positive one continues such a merge.
    pages = -_MERGED_AT_ONCE if everything else _MERGED_AT_ONCE
    connection.execute("INSERT INTO fulltext (fulltext, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes() - before > 1


def _add_units(
    connection: apsw.Connection, tenant: str, partition: int, rows: Sequence[tuple[str, int, int, int, int, int, str]]
) -> None:
    """Add chunks of items to the index with a few bulk statements.

    ``rows`` has one row per chunk: tenant, item, chunk, partition, start, length and terms. A long text or a batch of
    messages has hundreds of chunks. One statement per chunk would take longer, and other writers wait meanwhile.
    """
    _insert(connection, "units (tenant, item, window, partition, start, length, terms)", rows)
    indexed = [(item * _MAX_CHUNKS + window, _prefixed(partition, terms)) for _, item, window, _, _, _, terms in rows]
    _insert(connection, "fulltext (rowid, terms)", indexed)
    _count(connection, tenant, partition, len(rows), sum(_length(row[-1]) for row in rows))


def _insert(connection: apsw.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows into a table, up to ``_ROWS_AT_ONCE`` with each statement.

    Few statements keep the transaction short: each statement gives Python an occasion to switch to another thread.
    """
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        values = ", ".join([f"({marks(some[0])})"] * len(some))
        connection.execute(f"INSERT INTO {table} VALUES {values}", [value for row in some for value in row])


def add_copied(connection: Connection, units: Iterable[tuple[int, int, int, str]]) -> None:
    """Index chunks that were copied from another store, given as (item, chunk, partition, terms).

    The rows and counts of these chunks must already be copied.
    """
    connection.executemany(
        "INSERT INTO fulltext (rowid, terms) VALUES (?, ?)",
        ((item * _MAX_CHUNKS + window, _prefixed(partition, terms)) for item, window, partition, terms in units),
    )


def remove_all(connection: Connection) -> None:
    """Remove the full-text entries of all tenants."""
    connection.execute("INSERT INTO fulltext (fulltext) VALUES ('delete-all')")


def _count(connection: apsw.Connection, tenant: str, partition: int, units: int, terms: int) -> None:
    connection.execute(
        "UPDATE partitions SET units = units + ?, terms = terms + ? WHERE tenant = ? AND partition = ?",
        (units, terms, tenant, partition),
    )


def _prefixed(partition: int, terms: str) -> str:
    """Prefix each term with the partition's number."""
    if not terms or "  " in terms or terms.strip(" ") != terms:
        return " ".join(f"p{partition}x{term}" for term in terms.split(" ") if term)
    return f"p{partition}x" + terms.replace(" ", f" p{partition}x")


def _length(terms: str) -> int:
    return terms.count(" ") + 1 if terms else 0
