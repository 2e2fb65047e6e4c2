"""How much of a test with many cases runs: a sample in ``make test-all``, and every case with ``--full``.

``holdfast bench reliability`` runs the tests with ``--full``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class Sample:
    """The size at which a test runs. The fixture ``sample`` returns one."""

    full: bool

    def of(self, cases: Sequence[Case], *, every: int = 3, start: int = 0) -> list[Case]:
        """Return every n-th case, or all cases at full size.

        ``start`` is the number of the first case. Give each group of cases its own, so that the groups complete each other.
        """
        return list(cases) if self.full else list(cases[start % every :: every])

    def size(self, full: int, *, short: int) -> int:
        """Return ``full`` at full size, and ``short`` otherwise."""
        return full if self.full else short
