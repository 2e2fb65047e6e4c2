"""A sentence reader that caches its recent results."""

from hashlib import blake2b
from pathlib import Path
from typing import Final

from holdfast.models.local.reader import LocalReader
from holdfast.models.local.registry import ReaderSpec
from holdfast.protocols.sentence_reader import Reading

__all__ = ["CachedReader"]

_MAX_READINGS: Final = 4096
"""Maximum number of cached results, about 1 kB each. When the cache is full, it is emptied."""


class CachedReader(LocalReader):
    """A sentence reader that caches its recent results. Each message is analyzed twice: when it is added, and in the digest.

    The key of a cached result is a hash of the sentence, so the cache contains no text.
    """

    def __init__(self, spec: ReaderSpec, directory: Path) -> None:
        """Store the arguments. Nothing is loaded yet."""
        super().__init__(spec, directory)
        self._readings: dict[bytes, Reading] = {}

    def read(self, sentence: str, *, before: str = "") -> Reading:
        """Analyze one of the user's sentences and return the result. ``before`` is the previous turn, or an empty string."""
        before = before[-self._spec.max_first_characters :]
        key = blake2b(f"{before}\0{sentence}".encode(errors="surrogatepass"), digest_size=16).digest()
        readings = self._readings
        if (known := readings.get(key)) is not None:
            return known
        if len(readings) >= _MAX_READINGS:  # a new dictionary needs no lock, which a fork could leave held
            self._readings = readings = {}
        readings[key] = reading = super().read(sentence, before=before)
        return reading
