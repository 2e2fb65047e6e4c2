"""Compare claims with the sentence reader, to find the claims of a known memory that a new statement ends or repeats.

A memory may contain several claims, one per sentence: "Lives in Berlin. Locker code 4411." Each claim is compared
separately, so that a move to Munich ends the first claim and leaves the second.
"""

from dataclasses import dataclass
from typing import Final

from holdfast.protocols import Comparison, SentenceReader
from holdfast.text.sentences import split_sentences

_MIN_ENDS: Final = 0.95
"""Minimum probability with which a claim counts as ended. A memory retired by mistake is worse than one that stays."""
_CERTAIN_ENDS: Final = 0.99
_MIN_REPEATS: Final = 0.95
_MAX_OLD_WORDS: Final = 14
_MAX_NEW_WORDS: Final = 25
"""Maximum lengths of claims that are compared. On long sentences of real conversations the reader is often wrong."""
_MAX_CLAIMS: Final = 6
"""Maximum number of claims of a memory that are compared. A memory with more is a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """The effect of a new statement on the claims of a memory."""

    kept: tuple[str, ...]
    """The claims that still hold. Empty if the whole memory has ended."""
    certain: bool


class ClaimComparer:
    """Compares claims. Each pair is compared only once."""

    def __init__(self, reader: SentenceReader) -> None:
        self._reader = reader
        self._known: dict[tuple[str, str], Comparison] = {}

    def change(self, old: str, new: str) -> ClaimChange | None:
        """Return how a new statement changes an old memory. Return None if it ends none of the memory's claims."""
        claims = split_sentences(old)
        if not 0 < len(claims) <= _MAX_CLAIMS or len(split_sentences(new)) != 1 or len(new.split()) > _MAX_NEW_WORDS:
            return None
        ends = [self._compare(claim, new).ends if len(claim.split()) <= _MAX_OLD_WORDS else 0.0 for claim in claims]
        if max(ends) < _MIN_ENDS:
            return None
        kept = tuple(claim for claim, chance in zip(claims, ends, strict=True) if chance < _MIN_ENDS)
        return ClaimChange(kept=kept, certain=max(ends) >= _CERTAIN_ENDS)

    def repeats(self, old: str, new: str) -> bool:
        """Return True if a new statement says the same as an old statement."""
        short = max(len(old.split()), len(new.split())) <= _MAX_OLD_WORDS
        return short and self._compare(old, new).repeats >= _MIN_REPEATS

    def _compare(self, old: str, new: str) -> Comparison:
        if (old, new) not in self._known:
            self._known[old, new] = self._reader.compare(old, new)
        return self._known[old, new]
