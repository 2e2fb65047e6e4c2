"""The copy itself: table after table in batches, each committed together with its bookmark; then both sides are compared.

The source is read as of one moment. A run that goes on with an earlier one reads a later moment, and writers may have
changed meanwhile what was copied before: whatever differs in the end is copied once more, from this run's moment.
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
"""Told what is being done (copying or comparing), to which table, how many rows are done, and of how many."""

_AT_ONCE = 1000


def copy_store(source: Side, target: Side, *, progress: Progress | None = None, batch: int = _AT_ONCE) -> CopyReport:
    """Copy every tenant's rows, or go on with a copy that was begun, or verify one that is finished.

    Raises ``Conflict`` for a target that holds anything else. If the report has something ``wrong`` on its sides' being the
    same, the copy has not ended: its target stays marked as unfinished.
    """
    started = time.monotonic()
    if source.place == target.place:
        raise Conflict(f"{source.title} is both source and target.")
    with source.snapshot():
        return _Copy(source, target, progress or (lambda *_: None), batch).run(started)


def tables_of(source: Side, target: Side) -> list[tuple[TableLayout, TableLayout]]:
    """Return every copied table as the source and as the target have it; refuses tables that do not fit together."""
    pairs = [(source.layout(table), target.layout(table)) for table in COPIED]
    for here, there in pairs:
        if (here.columns, here.key) != (there.columns, there.key):
            raise StoreError(f"The table {here.table} differs between {source.title} and {target.title}: upgrade holdfast.")
    return pairs


class _Copy:
    """One run."""

    def __init__(self, source: Side, target: Side, progress: Progress, batch: int) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._batch = batch
        self._totals: dict[str, int] = {}
        self._copied = dict.fromkeys(COPIED, 0)
        self._seen: dict[str, Digest] = {}
        """Digests of the source's tables that this run read from the beginning."""

    def run(self, started: float) -> CopyReport:
        """Copy what is missing, compare, and open the target for use if both sides are the same."""
        known = self._target.prepare()
        begun = self._target.begun_from()
        self._totals = {table: self._source.count(table) for table in COPIED}
        pairs = tables_of(self._source, self._target)
        if begun is not None:
            self._check_own(begun)
            self._target.check_schema(known)
        finished = begun is None and self._is_full()
        if not finished:
            if begun is None:
                self._target.begin(self._source.place)
            for here, there in pairs:
                self._copy(here, there)
        compared = tuple(self._compare(here, there, finished=finished) for here, there in pairs)
        different = [each.table for each in compared if not each.same]
        if finished and different:
            raise self._refusal(different)
        numbers = self._source.numbers()
        indexed, windows = self._target.text_state()
        if not finished and not different and indexed == windows:
            self._target.end(numbers)
        return CopyReport(
            source=self._source.place, target=self._target.place, resumed=begun is not None, tables=compared,
            windows=windows, indexed=indexed, numbers=numbers, seconds=time.monotonic() - started,
        )  # fmt: skip

    def _check_own(self, begun: str) -> None:
        if begun != self._source.place:
            other = "another database" if "://" in begun else begun
            raise Conflict(f"{self._target.title} holds an unfinished copy of {other}. Finish that one, or name another target.")

    def _is_full(self) -> bool:
        """Tell whether the target may be this very copy, finished before; refuses one that holds something else."""
        there = {table: self._target.count(table) for table in COPIED}
        if not any(count for table, count in there.items() if table not in MADE_BY_OPENING):
            return False
        different = [table for table in COPIED if there[table] != self._totals[table]]
        if different:
            raise self._refusal(different)
        return True

    def _refusal(self, tables: Sequence[str]) -> Conflict:
        return Conflict(
            f"{self._target.title} holds other data than {self._source.title} (in {', '.join(tables)}). "
            "Nothing was changed; name an empty target."
        )

    def _copy(self, here: TableLayout, there: TableLayout) -> None:
        """Copy what is behind a table's bookmark."""
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
        """Write rows into the target as it keeps them."""
        values: Sequence[Row] = rows
        if here.vector and self._source.kind != self._target.kind:
            plain = len(here.columns)
            kept = self._target.kept(self._source.vectors([row[plain:] for row in rows]))
            values = [row[:plain] + own for row, own in zip(rows, kept, strict=True)]
        filled = self._target.fills.get(here.table, {})
        if filled:
            values = [(*row, *filled.values()) for row in values]
        self._target.insert(connection, here.table, (*there.selected, *filled), values)
        if here.table == "units":
            self._target.index_text(connection, there, rows)

    def _compare(self, here: TableLayout, there: TableLayout, *, finished: bool) -> CopiedTable:
        """Compare a table; one that differs though it was copied changed under the copy, and is copied once more."""
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
            table=table, rows=target.rows, copied=self._copied[table], source=source.value, target=target.value,
            altered=tuple(target.altered),
        )  # fmt: skip

    def _read(self, side: Side, layout: TableLayout) -> Digest:
        digest = Digest(layout)
        for rows in side.batches(layout, None, self._batch):
            self._add(digest, side, layout, rows)
            self._progress("comparing", layout.table, digest.rows, max(self._totals[layout.table], digest.rows))
        return digest

    def _add(self, digest: Digest, side: Side, layout: TableLayout, rows: list[Row]) -> None:
        plain = len(layout.columns)
        digest.add(rows, side.codes([row[plain:] for row in rows]) if layout.vector else ())
