"""What a copy did, and whether both sides now hold the same."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTable:
    """One table: how many rows it has, how many of them were copied this time, and its digest on either side."""

    table: str
    rows: int
    copied: int
    source: str
    target: str
    altered: tuple[str, ...] = ()
    """Rows, by id, that are not what was once written, on both sides alike."""

    @property
    def same(self) -> bool:
        """Whether both sides hold the same rows."""
        return self.source == self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """A whole copy."""

    source: str
    target: str
    resumed: bool
    """Whether an earlier run had begun it."""
    tables: tuple[CopiedTable, ...]
    windows: int
    """Windows the target should find by text."""
    indexed: int
    """Windows it does find."""
    numbers: dict[str, int]
    """The last number given of each kind."""
    seconds: float

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(each.rows for each in self.tables)

    @property
    def copied(self) -> int:
        """How many of them were copied this time."""
        return sum(each.copied for each in self.tables)

    @property
    def wrong(self) -> tuple[str, ...]:
        """What is not as it should be, in words."""
        found = [f"{each.table}: the two sides differ" for each in self.tables if not each.same]
        found += [
            f"{each.table}: {len(each.altered)} rows do not have the hash they were written with, "
            f"as {', '.join(each.altered[:3])}; compare the source with a backup"
            for each in self.tables
            if each.altered
        ]
        if self.windows != self.indexed:
            found.append(f"full text: {self.indexed} of {self.windows} windows indexed")
        return tuple(found)
