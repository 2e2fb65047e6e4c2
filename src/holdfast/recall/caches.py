"""In-memory caches of user text. An erasure in any process clears the caches in all processes.

Every erasure increments a counter in the store, in the same transaction that removes the rows. Each process remembers the
last value of the counter. Before it uses a cache, and when its worker is idle, it reads the counter again. If the value
has changed, the process clears its caches.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from typing import Final

from holdfast.learning.answer_check import sentences
from holdfast.learning.changes import corrections, keys, slot_clauses, slots, supersede, wording
from holdfast.learning.changes.things import other_things
from holdfast.learning.topics import clusters
from holdfast.protocols import Reads, Transaction, Vectors
from holdfast.runtime import forks
from holdfast.text import language, terms

__all__ = ["TEXT_CACHES", "QueryCache", "clear_text_caches", "count_erasure", "erasures"]

_ERASURES: Final = "erasures"
"""Name of the store's setting that counts the erasures of a tenant."""
_MAX_QUERIES: Final = 256

TEXT_CACHES: Final = (
    language._detect_language,  # noqa: SLF001
    language._is_foreign,  # noqa: SLF001
    terms._stem,  # noqa: SLF001
    clusters._content,  # noqa: SLF001
    clusters._dimension,  # noqa: SLF001
    keys._meaning,  # noqa: SLF001
    keys._spelling,  # noqa: SLF001
    corrections._loss_pattern,  # noqa: SLF001
    wording.meaning,
    slot_clauses._cached_clauses,  # noqa: SLF001
    slots._cached_slots,  # noqa: SLF001
    supersede._denied_times,  # noqa: SLF001
    other_things._relatives_in,  # noqa: SLF001
    sentences.stems_of,
)
"""Functions with a process-wide cache whose keys are texts or words."""


def clear_text_caches() -> None:
    """Clear the caches of all functions in ``TEXT_CACHES``. All tenants share these caches, which contain words of users."""
    for cached in TEXT_CACHES:
        cached.cache_clear()


def count_erasure(tx: Transaction) -> None:
    """Increment the counter of erasures, so that every process that uses this store clears its caches."""
    tx.set_setting(_ERASURES, str(int(tx.setting(_ERASURES) or 0) + 1))


def erasures(reads: Reads) -> str | None:
    """Return the counter of erasures, or None before the first erasure."""
    return reads.setting(_ERASURES)


class QueryCache:
    """Cache of the vectors of recent queries, for one engine.

    Each engine has its own cache, so that tenants with the same embedder share no queries. The keys are hashes of the
    queries, computed with a secret of this process. The text of a query is never stored.
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
        """Empty the cache and create a new lock in the child process."""
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()

    @property
    def erasures(self) -> str | None:
        """The value that the counter of erasures had when this cache was last used."""
        return self._erasures

    def __len__(self) -> int:
        return len(self._vectors)

    def __contains__(self, query: tuple[str, str]) -> bool:
        return self._digest(*query) in self._vectors

    def get(self, model: str, text: str) -> "tuple[Vectors | None, int]":
        """Return two values: the cached vector of a query (or None), and a token to pass to ``put``.

        With the token, ``put`` detects whether the cache was cleared in the meantime.
        """
        self.drop_erased()
        with self._lock:
            vector = self._vectors.get(self._digest(model, text))
            if vector is not None:
                self._vectors.move_to_end(self._digest(model, text))
            return vector, self._clear_count

    def put(self, model: str, text: str, vector: "Vectors", token: int) -> None:
        """Add the vector of a query, and evict the least recently used vectors beyond the limit.

        Does nothing if the cache was cleared after ``get`` returned the token.
        """
        with self._lock:
            if token != self._clear_count:
                return
            self._vectors[self._digest(model, text)] = vector
            while len(self._vectors) > self._max_queries:
                self._vectors.popitem(last=False)

    def drop_erased(self) -> None:
        """Clear this cache and the text caches if any process has erased data from the store since the last check."""
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
