"""The report of a copy: how many rows were copied, and whether source and target are equal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTable:
    """Result for one table: its number of rows, the number of rows that this run copied, and its digest on each side."""

    table: str
    rows: int
    copied: int
    source: str
    target: str
    altered: tuple[str, ...] = ()
    """Ids of the copied rows that do not match the hash stored with them."""

    @property
    def same(self) -> bool:
        """True if source and target have the same rows of this table. Their checksums are compared."""
        return self.source == self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """Result of a copy."""

    source: str
    target: str
    resumed: bool
    """True if this run continued a copy that an earlier run had begun."""
    tables: tuple[CopiedTable, ...]
    windows: int
    """Number of chunks (windows of a text) that the target's full-text index should contain."""
    indexed: int
    """Number of chunks that the target's full-text index contains."""
    numbers: dict[str, int]
    """The last number that each sequence has issued, by the name of the sequence."""
    seconds: float

    @property
    def rows(self) -> int:
        """Number of rows in all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def copied(self) -> int:
        """Number of rows copied by this run."""
        return sum(table.copied for table in self.tables)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Messages about the problems found; empty if there are none."""
        problems = [f"{table.table}: the two sides differ; run the copy again" for table in self.tables if not table.same]
        problems += [
            f"{table.table}: {len(table.altered)} rows do not have the hash they were written with, "
            f"such as {', '.join(table.altered[:3])}; compare the source with a backup"
            for table in self.tables
            if table.altered
        ]
        if self.windows != self.indexed:
            problems.append(f"full text: {self.indexed} of {self.windows} chunks indexed; remove the target and copy again")
        return tuple(problems)
