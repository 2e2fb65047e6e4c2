"""Full text: what is written to the index, and BM25 over just the partitions a reader may see.

Terms are indexed with their partition's number in front, so one user's search neither reads another's
postings nor is ranked by how others write. Rare terms select the candidates and all terms score them,
which bounds the work of a question made of common words.
"""

import math
from collections.abc import Collection, Mapping, Sequence

import apsw

from holdfast.protocols import Match, Space
from holdfast.stores.rows import marks
from holdfast.stores.sql import Row, fetch
from holdfast.text.terms import document_terms, query_terms
from holdfast.text.windows import window_spans

_WINDOWS = 4096
"""Windows an item can have; a full-text rowid is item * _WINDOWS + window."""
_MATCHES = 1000
"""About how many matching units one query may rank."""
_FEW_WINDOWS = 2
_FEW_SEGMENTS = 3
_MERGED_AT_ONCE = 128
"""Pages merged in one transaction: other writers wait a few milliseconds at most."""
_K1, _B = 1.2, 0.75


def index(
    connection: apsw.Connection, tenant: str, place: tuple[int, int], text: str, language: str | None, *, heading: str = ""
) -> int:
    """Index the windows of a (partition, item), each under the heading; returns how many there are."""
    partition, item = place
    spans = window_spans(text)
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
            (item * _WINDOWS + window, _marked(partition, terms)),
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
    connection: apsw.Connection,
    tenant: str,
    partitions: Mapping[int, Space],
    query: str,
    *,
    languages: Sequence[str],
    limit: int,
    allowed: Collection[int] | None = None,
    excluded: Collection[int] = (),
) -> list[Match]:
    """Rank the windows that share terms with a query, the best window of each item."""
    wanted = query_terms(query, languages) if partitions else []
    if not wanted:
        return []
    counted = _frequencies(connection, partitions, wanted)
    known = [pair for pair in counted if pair[0]]
    # A filter must not lose rows behind better ones that it forbids: then every match is looked at.
    bound = _MATCHES + len(excluded) * _FEW_WINDOWS if allowed is None else None
    weights = _matches(connection, partitions, known, bound=bound)
    if excluded or allowed is not None:
        weights = {rowid: weight for rowid, weight in weights.items() if _passes(rowid // _WINDOWS, allowed, excluded)}
    # Those with the most weight of rare terms, and the newest among equals; a single term's are in order already.
    best = (
        list(weights) if len(known) == 1 else [rowid for _, rowid in sorted(((w, r) for r, w in weights.items()), reverse=True)]
    )
    rows = best[: max(limit + 8, 40)]
    return _rank(connection, tenant, partitions, counted, rows, limit=limit)


def _matches(
    connection: apsw.Connection, partitions: Mapping[int, Space], known: list[tuple[int, frozenset[str]]], *, bound: int | None
) -> dict[int, float]:
    """Return the rowids that hold the rarest terms, each with the rarity of what it holds.

    The terms are taken from the rarest on, until they match about as many rows as we care to look at. A term
    that alone matches more tells little, and only its newest rows are seen.
    """
    weights: dict[int, float] = {}
    seen = 0
    for count, spellings in known:
        if bound is not None and seen and seen + count > bound:
            break
        seen += count
        rarity = 1 / math.log(2 + count)
        # Among the rows of one single term, how often and in how short a text it stands is all there is to go by.
        order = "rank" if len(known) == 1 and count <= _MATCHES else "rowid DESC"
        sql = f"SELECT rowid FROM fulltext WHERE fulltext MATCH ? ORDER BY {order} LIMIT ?"
        for (rowid,) in fetch(connection, sql, (quote_fts(partitions, spellings), -1 if bound is None else bound)):
            weights[rowid] = weights.get(rowid, 0.0) + rarity
    return weights


def _passes(item: int, allowed: Collection[int] | None, excluded: Collection[int]) -> bool:
    return item not in excluded and (allowed is None or item in allowed)


def _rank(
    connection: apsw.Connection,
    tenant: str,
    partitions: Mapping[int, Space],
    wanted: list[tuple[int, frozenset[str]]],
    rows: Sequence[int],
    *,
    limit: int,
) -> list[Match]:
    """Score candidates by BM25 with the reader's own statistics, as a share of what one full match would get."""
    if not rows:
        return []
    numbers = list(partitions)
    ((units, terms),) = fetch(
        connection,
        f"SELECT sum(units), sum(terms) FROM partitions WHERE tenant = ? AND partition IN ({marks(numbers)})",
        (tenant, *numbers),
    )
    average = max(terms / units, 1.0) if units else 1.0
    weights = [math.log1p((max(units - count, 0) + 0.5) / (count + 0.5)) for count, _ in wanted]
    full = sum(weights) or 1.0
    terms_by_weight = [
        (weight * (_K1 + 1) / full, spelling, spellings - {spelling})
        for weight, (_, spellings) in zip(weights, wanted, strict=True)
        for spelling in [min(spellings)]
    ]
    best: dict[int, tuple[float, int, int, int]] = {}
    for item, window, partition, text in _read_units(connection, tenant, rows):
        words = text.split(" ")
        norm = _K1 * (1 - _B + _B * len(words) / average)
        score = 0.0
        for weight, spelling, others in terms_by_weight:
            found = words.count(spelling)  # counting in C beats looking up each word, even in long windows
            if others:
                found += sum(map(words.count, others))
            if found:
                score -= weight * found / (found + norm)
        if item not in best or score < best[item][0]:
            best[item] = (score, -item, window, partition)
    return [
        Match(-item, window, min(-score, 1.0), partitions[part]) for score, item, window, part in sorted(best.values())[:limit]
    ]


def _read_units(connection: apsw.Connection, tenant: str, rows: Sequence[int]) -> list[Row]:
    """Return item, window, partition and terms of each rowid."""
    sql = "SELECT item, window, partition, terms FROM units WHERE tenant = ? AND item = ? AND window = ?"
    return connection.executemany(sql, ((tenant, *divmod(rowid, _WINDOWS)) for rowid in rows)).fetchall()


def quote_fts(partitions: Mapping[int, Space], spellings: Collection[str]) -> str:
    """Return one query term as full-text syntax: every spelling in every partition, each in quotes."""
    return " OR ".join(
        '"' + _marked(partition, spelling).replace('"', '""') + '"' for partition in partitions for spelling in sorted(spellings)
    )


def _frequencies(
    connection: apsw.Connection, partitions: Mapping[int, Space], wanted: Sequence[frozenset[str]]
) -> list[tuple[int, frozenset[str]]]:
    """Return in how many windows each term occurs under any of its spellings, the rarest first."""
    counts: dict[str, int] = {}
    marked = {spelling: [_marked(partition, spelling) for partition in partitions] for each in wanted for spelling in each}
    every = [term for terms in marked.values() for term in terms]
    sql = f"SELECT term, doc FROM vocabulary WHERE term IN ({marks(every)})"
    counts.update(fetch(connection, sql, every))
    found = [(sum(counts.get(term, 0) for spelling in each for term in marked[spelling]), each) for each in wanted]
    return sorted(found, key=lambda pair: pair[0])


def scattered(connection: apsw.Connection) -> bool:
    """Tell whether merging the index would pay: its small segments are several and a good part of the largest.

    Every search looks into every segment, so one is best; but merging rewrites the large one too, which must be
    rare enough that a small board's memory card does not wear out.
    """
    sizes = [row[0] for row in fetch(connection, "SELECT count(*) FROM fulltext_idx GROUP BY segid")]
    return len(sizes) > _FEW_SEGMENTS and 4 * (sum(sizes) - max(sizes)) >= max(sizes)


def merge(connection: apsw.Connection, *, begin: bool) -> bool:
    """Merge some pages of the index's segments into one; False when there is nothing left to merge."""
    before = connection.total_changes()
    # A negative number means: all segments, whatever their levels. The next steps only go on with that.
    pages = -_MERGED_AT_ONCE if begin else _MERGED_AT_ONCE
    connection.execute("INSERT INTO fulltext (fulltext, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes() - before > 1


def _add_unit(connection: apsw.Connection, row: tuple[str, int, int, int, int, int, str]) -> None:
    _, item, window, partition, _, _, terms = row
    connection.execute(
        "INSERT INTO units (tenant, item, window, partition, start, length, terms) VALUES (?, ?, ?, ?, ?, ?, ?)", row
    )
    connection.execute("INSERT INTO fulltext (rowid, terms) VALUES (?, ?)", (item * _WINDOWS + window, _marked(partition, terms)))
    _count(connection, row[0], partition, 1, _length(terms))


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
