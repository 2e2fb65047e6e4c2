"""A sentence reader that caches its recent results."""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

from holdfast.models.local.reader import LocalReader
from holdfast.models.local.registry import ReaderSpec
from holdfast.protocols.sentence_reader import Comparison, Reading

__all__ = ["CachedReader"]

Result = TypeVar("Result")

_MAX_RESULTS: Final = 4096
"""Maximum number of cached results of each sort, about 1 kB each. When a cache is full, it is emptied."""


class CachedReader(LocalReader):
    """A sentence reader that caches its recent results.

    Each message is analyzed twice, when it is added and in the digest. A digest compares some pairs of statements more than once.
    The key of a cached result is a hash of the texts, so the cache contains no text.
    """

    def __init__(self, spec: ReaderSpec, directory: Path) -> None:
        """Store the arguments. Nothing is loaded yet."""
        super().__init__(spec, directory)
        self._readings: dict[bytes, Reading] = {}
        self._comparisons: dict[bytes, Comparison] = {}

    def read(self, sentence: str, *, before: str = "") -> Reading:
        """Analyze one of the user's sentences and return the result. ``before`` is the previous turn, or an empty string."""
        before = before[-self._spec.max_first_characters :]
        return _cached(self._readings, before, sentence, lambda: super(CachedReader, self).read(sentence, before=before))

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old statement with a new statement of the same person, and return the result."""
        return _cached(self._comparisons, old, new, lambda: super(CachedReader, self).compare(old, new))


def _cached(results: dict[bytes, Result], first: str, second: str, compute: Callable[[], Result]) -> Result:
    """Return the result for two texts. If it is not in ``results``, compute it and store it there."""
    key = blake2b(f"{first}\0{second}".encode(errors="surrogatepass"), digest_size=16).digest()
    if (known := results.get(key)) is not None:
        return known
    computed = compute()
    if len(results) >= _MAX_RESULTS:
        results.clear()
    results[key] = computed
    return computed
