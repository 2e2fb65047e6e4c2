"""In-memory caches of user text, and how an erasure in any process clears them.

Every erasure increments a counter in the store, in the transaction that removes the rows. Each process compares that
counter with the last value it saw, before it uses a cache and when its worker is idle.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from typing import Final

from holdfast.learning.changes import corrections, keys, slots, wording
from holdfast.learning.topics import clusters
from holdfast.protocols import Reads, Transaction, Vectors
from holdfast.runtime import forks
from holdfast.text import language, terms

__all__ = ["TEXT_CACHES", "QueryCache", "clear_text_caches", "count_erasure"]

_ERASURES: Final = "erasures"
"""Name of the setting that counts a tenant's erasures."""
_MAX_QUERIES: Final = 256

TEXT_CACHES: Final = (
    language.detect_language,
    language._is_foreign,  # noqa: SLF001
    terms._stem,  # noqa: SLF001
    clusters._content,  # noqa: SLF001
    clusters._dimension,  # noqa: SLF001
    keys._meaning,  # noqa: SLF001
    corrections._loss_pattern,  # noqa: SLF001
    wording.meaning,
    slots._cached_slots,  # noqa: SLF001
)
"""Process-wide functions whose results are cached by a text or a word."""


def clear_text_caches() -> None:
    """Clear the caches of pure functions on text. They hold copies of words, but no tenant's state."""
    for cached in TEXT_CACHES:
        cached.cache_clear()


def count_erasure(tx: Transaction) -> None:
    """Count an erasure, so that every process with this store clears its caches."""
    tx.set_setting(_ERASURES, str(int(tx.setting(_ERASURES) or 0) + 1))


class QueryCache:
    """Vectors of recent queries, for one engine.

    Each engine has its own cache, so that tenants with a shared embedder share no queries. Keys are digests with a secret
    of this process; the text of a query is never stored.
    """

    def __init__(self, store: Reads, *, max_queries: int = _MAX_QUERIES) -> None:
        self._store = store
        self._max_queries = max_queries
        self._secret = secrets.token_bytes(32)
        self._erasures = store.setting(_ERASURES)
        self._clear_count = 0
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Start empty in the child process, with a new lock."""
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()

    def __len__(self) -> int:
        return len(self._vectors)

    def __contains__(self, query: tuple[str, str]) -> bool:
        return self._digest(*query) in self._vectors

    def get(self, model: str, text: str) -> "tuple[Vectors | None, int]":
        """Return the cached vector of a query or None, and the token to pass to ``put``."""
        self.drop_erased()
        with self._lock:
            vector = self._vectors.get(self._digest(model, text))
            if vector is not None:
                self._vectors.move_to_end(self._digest(model, text))
            return vector, self._clear_count

    def put(self, model: str, text: str, vector: "Vectors", token: int) -> None:
        """Cache a vector and evict the least recently used. Does nothing if the cache was cleared since ``get``."""
        with self._lock:
            if token != self._clear_count:
                return
            self._vectors[self._digest(model, text)] = vector
            while len(self._vectors) > self._max_queries:
                self._vectors.popitem(last=False)

    def drop_erased(self) -> None:
        """Clear the caches if any process has erased data from the store since the last check."""
        erasures = self._store.setting(_ERASURES)
        if erasures != self._erasures:
            self.clear()
            self._erasures = erasures

    def clear(self) -> None:
        """Clear this cache and the process-wide text caches."""
        with self._lock:
            self._vectors.clear()
            self._clear_count += 1
        clear_text_caches()

    def _digest(self, model: str, text: str) -> bytes:
        query = f"{model}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(query, key=self._secret, digest_size=16).digest()
