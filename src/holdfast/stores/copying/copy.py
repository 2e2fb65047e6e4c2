"""Copy a store table by table, then compare both sides (source and target).

Rows are copied in batches. Each batch is committed together with a bookmark, which records how far the table was
copied. An interrupted copy resumes at the bookmarks. The source is read in one snapshot. A resumed copy reads a later
snapshot, in which rows that were already copied may have changed. Tables that differ at the end are therefore copied
again from the new snapshot.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from holdfast.errors import Conflict, StoreError
from holdfast.stores.copying.digest import Digest
from holdfast.stores.copying.report import CopiedTable, CopyReport
from holdfast.stores.copying.side import Bookmark, Side
from holdfast.stores.copying.tables import COPIED, MADE_BY_OPENING, TableLayout
from holdfast.stores.sql.connection import Connection, Row

Progress: TypeAlias = Callable[[str, str, int, int], None]
"""Callback that receives the step (``copying`` or ``comparing``), the table, the number of rows done, and their total."""

_BATCH_ROWS = 1000
"""Number of rows copied per transaction."""


def copy_store(source: Side, target: Side, *, progress: Progress | None = None, batch: int = _BATCH_ROWS) -> CopyReport:
    """Copy all tenants of a store to an empty target. An interrupted copy is resumed, and a finished copy is only verified.

    ``progress`` is called before a table is copied, and after each batch of rows that was copied or compared. ``batch`` is
    the number of rows per batch. Raise ``Conflict`` if the target holds other data, or is the source itself. If the report
    says that source and target differ or that the full-text index is incomplete, the target stays marked as unfinished and
    cannot be opened.
    """
    started = time.monotonic()
    if source.place == target.place:
        raise Conflict(f"{source.title} is both source and target. Nothing was copied; name another target.")
    with source.snapshot():
        return _Copy(source, target, progress or (lambda *_: None), batch).run(started)


def tables_of(source: Side, target: Side) -> list[tuple[TableLayout, TableLayout]]:
    """Return a pair for each copied table: its layout in the source, and its layout in the target.

    Raise ``StoreError`` if the two layouts of a table do not match.
    """
    pairs = [(source.layout(table), target.layout(table)) for table in COPIED]
    for here, there in pairs:
        if (here.columns, here.key) != (there.columns, there.key):
            raise StoreError(
                f"The table {here.table} differs between {source.title} and {target.title}. Nothing was copied; upgrade holdfast."
            )
    return pairs


class _Copy:
    """One run of :func:`copy_store`."""

    def __init__(self, source: Side, target: Side, progress: Progress, batch: int) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._batch = batch
        self._totals: dict[str, int] = {}
        self._copied = dict.fromkeys(COPIED, 0)
        self._seen: dict[str, Digest] = {}
        """Digests (checksums) of the source tables that this run has read completely, by table.

        These tables need not be read again for the comparison.
        """

    def run(self, started: float) -> CopyReport:
        """Copy the missing rows, and compare source and target. ``started`` is the start time of the run.

        If source and target are equal and the full-text index is complete, remove the mark that prevents opening the target
        as a store. If the target is already a finished copy, copy nothing. Raise ``Conflict`` if the target contains other
        data and no unfinished copy.
        """
        known = self._target.prepare()
        begun = self._target.unfinished_source()
        self._totals = {table: self._source.count(table) for table in COPIED}
        pairs = tables_of(self._source, self._target)
        if begun is not None:
            self._check_source(begun)
            self._target.check_schema(known)
        finished = begun is None and self._may_be_finished()
        if not finished:
            if begun is None:
                self._target.begin(self._source.place)
            for here, there in pairs:
                self._copy(here, there)
        compared = tuple(self._compare(here, there, finished=finished) for here, there in pairs)
        different = [table.table for table in compared if not table.same]
        if finished and different:
            raise self._refusal(different)
        numbers = self._source.numbers()
        indexed, expected = self._target.text_state()
        if not finished and not different and indexed == expected:
            self._target.end(numbers)
        return CopyReport(
            source=self._source.place,
            target=self._target.place,
            resumed=begun is not None,
            tables=compared,
            windows=expected,
            indexed=indexed,
            numbers=numbers,
            seconds=time.monotonic() - started,
        )

    def _check_source(self, begun: str) -> None:
        if begun != self._source.place:
            other = "another database" if "://" in begun else begun
            raise Conflict(
                f"{self._target.title} holds an unfinished copy of {other}. "
                "Nothing was changed; finish that copy or name another target."
            )

    def _may_be_finished(self) -> bool:
        """Return True if each table of the target has as many rows as in the source. The target is then probably a finished copy.

        Return False if the target is empty. Raise ``Conflict`` if the target has rows but the number of rows differs in some
        table.
        """
        counts = {table: self._target.count(table) for table in COPIED}
        if not any(count for table, count in counts.items() if table not in MADE_BY_OPENING):
            return False
        different = [table for table in COPIED if counts[table] != self._totals[table]]
        if different:
            raise self._refusal(different)
        return True

    def _refusal(self, tables: Sequence[str]) -> Conflict:
        return Conflict(
            f"{self._target.title} holds other data than {self._source.title} (in {', '.join(tables)}). "
            "Nothing was changed; name an empty target."
        )

    def _copy(self, here: TableLayout, there: TableLayout) -> None:
        """Copy the rows of a table that come after its bookmark, the last row that an earlier run has copied.

        ``here`` is the layout of the table in the source, and ``there`` its layout in the target.
        """
        table = here.table
        mark = self._target.bookmark(table)
        whole, digest = mark.after is None, Digest(here)
        self._progress("copying", table, mark.rows, self._totals[table])
        for rows in self._source.batches(here, mark.after, self._batch):
            if whole:
                self._add(digest, self._source, here, rows)
            new = Bookmark(json.dumps(here.key_of(rows[-1])), mark.rows + len(rows))
            with self._target.writing() as connection:
                self._target.move_bookmark(connection, table, mark, new)
                self._put(connection, here, there, rows)
            mark = new
            self._copied[table] += len(rows)
            self._progress("copying", table, mark.rows, max(self._totals[table], mark.rows))
        if whole:
            self._seen[table] = digest

    def _put(self, connection: Connection, here: TableLayout, there: TableLayout, rows: list[Row]) -> None:
        """Write rows that were read from the source into the target.

        Vectors are converted to the target's format. Rows of the chunk table are also added to the target's full-text index.
        """
        values: Sequence[Row] = rows
        if here.vector and self._source.kind != self._target.kind:
            width = len(here.columns)
            encoded = self._target.encode_vectors(self._source.decode_vectors([row[width:] for row in rows]))
            values = [row[:width] + vector for row, vector in zip(rows, encoded, strict=True)]
        fills = self._target.fills.get(here.table, {})
        if fills:
            values = [(*row, *fills.values()) for row in values]
        self._target.insert(connection, here.table, (*there.selected, *fills), values)
        if here.table == "units":
            self._target.index_text(connection, there, rows)

    def _compare(self, here: TableLayout, there: TableLayout, *, finished: bool) -> CopiedTable:
        """Compare a table in the source with the same table in the target, and return the result.

        ``here`` is the layout of the table in the source, and ``there`` its layout in the target. ``finished`` is True if the
        target was already a finished copy before this run. Then nothing is copied.

        Without ``finished``, tables can differ because rows have changed in the source after an earlier run had copied them.
        If the tables differ, the whole table is copied once more.
        """
        table = here.table
        source = self._seen.get(table) or self._read(self._source, here)
        target = self._read(self._target, there)
        if source.value != target.value and not finished:
            with self._target.writing() as connection:
                self._target.empty(connection, table)
                self._target.move_bookmark(connection, table, self._target.bookmark(table), Bookmark())
            self._copied[table] = 0
            self._copy(here, there)
            source, target = self._seen[table], self._read(self._target, there)
        return CopiedTable(
            table=table,
            rows=target.rows,
            copied=self._copied[table],
            source=source.value,
            target=target.value,
            altered=tuple(target.altered),
        )

    def _read(self, side: Side, layout: TableLayout) -> Digest:
        digest = Digest(layout)
        for rows in side.batches(layout, None, self._batch):
            self._add(digest, side, layout, rows)
            self._progress("comparing", layout.table, digest.rows, max(self._totals[layout.table], digest.rows))
        return digest

    def _add(self, digest: Digest, side: Side, layout: TableLayout, rows: list[Row]) -> None:
        width = len(layout.columns)
        digest.add(rows, side.vector_codes([row[width:] for row in rows]) if layout.vector else ())
