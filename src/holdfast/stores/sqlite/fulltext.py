"""Full text: what is written to the index, and BM25 over just the partitions a reader may see.

Terms are indexed with their partition's number in front, so one user's search neither reads another's
postings nor is ranked by how others write. Rare terms select the candidates and all terms score them,
which bounds the work of a question made of common words.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw

from holdfast.protocols import Match, Space
from holdfast.stores.sql import bm25
from holdfast.stores.sql.connection import Connection, Row, cached_fetch, fetch
from holdfast.stores.sql.rows import marks
from holdfast.stores.sqlite.choices import AllowedItems
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.word_cache import WordCache
from holdfast.text.terms import document_terms, query_terms
from holdfast.text.windows import chunk_spans

_MAX_CHUNKS = 4096
"""Windows an item can have; a full-text rowid is item * _WINDOWS + window."""
_FEW_ALLOWED = 200
"""Where a filter allows no more items than this, all of them are scored: that is less than to find the words of everyone."""
FEW_SEGMENTS = 3
"""Segments more than there were when nothing was left to merge for it to be worth another look."""
_MERGED_AT_ONCE = 128
"""Pages merged in one transaction: other writers wait a few milliseconds at most."""


def index(
    connection: apsw.Connection, tenant: str, place: tuple[int, int], text: str, language: str | None, *, heading: str = ""
) -> int:
    """Index the windows of a (partition, item), each under the heading; returns how many there are."""
    partition, item = place
    spans = chunk_spans(text)
    above = document_terms(heading, language)
    for window, (start, end) in enumerate(spans):
        terms = [*above, *document_terms(text[start:end], language)]
        _add_unit(connection, (tenant, item, window, partition, start, end - start, " ".join(terms)))
    return len(spans)


def unindex(connection: apsw.Connection, tenant: str, item: int) -> None:
    """Take an item's windows out of the index, terms and all."""
    for window, partition, terms in fetch(
        connection, "SELECT window, partition, terms FROM units WHERE tenant = ? AND item = ?", (tenant, item)
    ):
        connection.execute(
            "INSERT INTO fulltext (fulltext, rowid, terms) VALUES ('delete', ?, ?)",
            (item * _MAX_CHUNKS + window, _marked(partition, terms)),
        )
        _count(connection, tenant, partition, -1, -_length(terms))
    connection.execute("DELETE FROM units WHERE tenant = ? AND item = ?", (tenant, item))


def move(connection: apsw.Connection, tenant: str, item: int, new_item: int, partition: int) -> int:
    """Index an item's windows as another item's in another partition, without reading the text again."""
    units = fetch(connection, "SELECT window, start, length, terms FROM units WHERE tenant = ? AND item = ?", (tenant, item))
    unindex(connection, tenant, item)
    for window, start, length, terms in units:
        _add_unit(connection, (tenant, new_item, window, partition, start, length, terms))
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
    """Rank the windows that share terms with a query, the best window of each item; few windows by their words in memory."""
    wanted = query_terms(query, languages) if partitions else []
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
    """Return the rowids that hold the rarest terms, each with the rarity of what it holds."""
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
    """Score candidates by BM25 with the reader's own statistics."""
    if not read:
        return []
    numbers = list(partitions)
    sql = f"SELECT sum(units), sum(terms) FROM partitions WHERE tenant = ? AND partition IN ({marks(numbers)})"
    ((units, terms),) = cached_fetch(connection, ("totals", tenant, *numbers), lambda: fetch(connection, sql, (tenant, *numbers)))
    return bm25.rank(read, partitions, wanted, (units, terms), limit=limit)


def _units_of(connection: FileConnection, tenant: str, items: Sequence[int]) -> list[Row]:
    """Return item, window, partition and terms of every window of some items."""
    sql = (
        "SELECT units.item, units.window, units.partition, units.terms FROM json_each(?) AS wanted CROSS JOIN units "
        "ON units.tenant = ? AND units.item = wanted.value"
    )
    return fetch(connection, sql, (json.dumps(items), tenant))


def _read_units(connection: FileConnection, tenant: str, rows: Sequence[int]) -> list[Row]:
    """Return item, window, partition and terms of each rowid, in their order; one statement takes half the time of many."""
    sql = (
        "SELECT units.item, units.window, units.partition, units.terms FROM json_each(?) AS wanted CROSS JOIN units "
        f"ON units.tenant = ? AND units.item = wanted.value / {_MAX_CHUNKS} AND units.window = wanted.value % {_MAX_CHUNKS}"
    )
    return fetch(connection, sql, (json.dumps(rows), tenant))


def quote_fts(partitions: Mapping[int, Space], spellings: Collection[str]) -> str:
    """Return one query term as full-text syntax: every spelling in every partition, each in quotes."""
    return " OR ".join(
        '"' + _marked(partition, spelling).replace('"', '""') + '"' for partition in partitions for spelling in sorted(spellings)
    )


def _frequencies(
    connection: FileConnection, partitions: Mapping[int, Space], wanted: Sequence[frozenset[str]]
) -> list[bm25.Counted]:
    """Return in how many windows each term occurs under any of its spellings, the rarest first."""
    counts: dict[str, int] = {}
    marked = {spelling: [_marked(partition, spelling) for partition in partitions] for each in wanted for spelling in each}
    every = [term for terms in marked.values() for term in terms]
    sql = f"SELECT term, doc FROM vocabulary WHERE term IN ({marks(every)})"
    counts.update(fetch(connection, sql, every))
    found = [(sum(counts.get(term, 0) for spelling in each for term in marked[spelling]), each) for each in wanted]
    return sorted(found, key=lambda pair: pair[0])


def segments(connection: apsw.Connection) -> list[int]:
    """Return the sizes of the index's segments; every search looks into each of them."""
    return [row[0] for row in connection.execute("SELECT count(*) FROM fulltext_idx GROUP BY segid")]


def scattered(sizes: Sequence[int]) -> bool:
    """Tell whether merging all segments would pay: the small ones are several and a good part of the largest.

    One is best, but merging rewrites the large one too, which must be rare enough that a small board's memory card does not
    wear out.
    """
    return len(sizes) > FEW_SEGMENTS and 4 * (sum(sizes) - max(sizes)) >= max(sizes)


def merge(connection: apsw.Connection, *, everything: bool) -> bool:
    """Merge some pages: of small segments that have become many or, once begun, of all; False when nothing is left to merge."""
    before = connection.total_changes()
    # A negative number means: all segments, whatever their levels. Positive ones go on with that, if it was begun.
    pages = -_MERGED_AT_ONCE if everything else _MERGED_AT_ONCE
    connection.execute("INSERT INTO fulltext (fulltext, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes() - before > 1


def _add_unit(connection: apsw.Connection, row: tuple[str, int, int, int, int, int, str]) -> None:
    _, item, window, partition, _, _, terms = row
    connection.execute(
        "INSERT INTO units (tenant, item, window, partition, start, length, terms) VALUES (?, ?, ?, ?, ?, ?, ?)", row
    )
    connection.execute(
        "INSERT INTO fulltext (rowid, terms) VALUES (?, ?)", (item * _MAX_CHUNKS + window, _marked(partition, terms))
    )
    _count(connection, row[0], partition, 1, _length(terms))


def add_copied(connection: Connection, units: Iterable[tuple[int, int, int, str]]) -> None:
    """Index windows (item, window, partition, terms) whose rows and counts were copied from elsewhere."""
    connection.executemany(
        "INSERT INTO fulltext (rowid, terms) VALUES (?, ?)",
        ((item * _MAX_CHUNKS + window, _marked(partition, terms)) for item, window, partition, terms in units),
    )


def remove_all(connection: Connection) -> None:
    """Empty the index, whoever's windows it holds."""
    connection.execute("INSERT INTO fulltext (fulltext) VALUES ('delete-all')")


def _count(connection: apsw.Connection, tenant: str, partition: int, units: int, terms: int) -> None:
    connection.execute(
        "UPDATE partitions SET units = units + ?, terms = terms + ? WHERE tenant = ? AND partition = ?",
        (units, terms, tenant, partition),
    )


def _marked(partition: int, terms: str) -> str:
    """Put the partition's number before each term."""
    return " ".join(f"p{partition}x{term}" for term in terms.split(" ") if term)


def _length(terms: str) -> int:
    return terms.count(" ") + 1 if terms else 0
