"""In-memory caches of user text, and how an erasure in any process empties them.

Every erasure raises a counter in the store, in the transaction that removes the rows. A process compares that counter with
the one it saw last before it uses a cache, and when its worker is idle.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from holdfast.learning.changes import corrections, keys, slots, wording
from holdfast.learning.topics import clusters
from holdfast.protocols import Reads, Transaction
from holdfast.runtime import forks
from holdfast.text import language, terms

if TYPE_CHECKING:
    from holdfast.protocols import Vectors

__all__ = ["TEXT_CACHES", "QueryCache", "clear_text_caches", "count_erasure"]

_ERASURES: Final = "erasures"
"""The setting that counts the erasures of a tenant."""
_MAX_QUERIES: Final = 256

TEXT_CACHES: Final = (
    language.detect_language,
    language._is_foreign,  # noqa: SLF001
    terms._stem,  # noqa: SLF001
    clusters._content,  # noqa: SLF001
    clusters._dimension,  # noqa: SLF001
    keys._meaning,  # noqa: SLF001
    corrections._beside,  # noqa: SLF001
    wording.meaning,
    slots._cached_slots,  # noqa: SLF001
)
"""Functions of the whole process that cache results by a text or a word of it."""


def clear_text_caches() -> None:
    """Empty the caches of pure functions on text. They hold no tenant's state, only copies of words."""
    for cached in TEXT_CACHES:
        cached.cache_clear()


def count_erasure(tx: Transaction) -> None:
    """Have every process with this store drop its caches."""
    tx.set_setting(_ERASURES, str(int(tx.setting(_ERASURES) or 0) + 1))


class QueryCache:
    """Vectors of recent queries to one tenant's store.

    An engine owns one, so tenants that share an embedder share no queries. Keys are digests with a secret of this process:
    the text of a query is never held.
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
        """Start empty in the child, with a new lock."""
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()

    def __len__(self) -> int:
        return len(self._vectors)

    def __contains__(self, query: tuple[str, str]) -> bool:
        return self._digest(*query) in self._vectors

    def get(self, model: str, text: str) -> "tuple[Vectors | None, int]":
        """Return the vector of a recent query, if any, and the token that ``put`` wants."""
        self.drop_erased()
        with self._lock:
            vector = self._vectors.get(self._digest(model, text))
            if vector is not None:
                self._vectors.move_to_end(self._digest(model, text))
            return vector, self._clear_count

    def put(self, model: str, text: str, vector: "Vectors", token: int) -> None:
        """Keep a vector, evicting the least recently used; not if the cache was emptied since ``get``."""
        with self._lock:
            if token != self._clear_count:
                return
            self._vectors[self._digest(model, text)] = vector
            while len(self._vectors) > self._max_queries:
                self._vectors.popitem(last=False)

    def drop_erased(self) -> None:
        """Empty the caches if any process has erased something from the store since the last look."""
        erasures = self._store.setting(_ERASURES)
        if erasures != self._erasures:
            self.clear()
            self._erasures = erasures

    def clear(self) -> None:
        """Empty this cache, and the caches of text of the whole process."""
        with self._lock:
            self._vectors.clear()
            self._clear_count += 1
        clear_text_caches()

    def _digest(self, model: str, text: str) -> bytes:
        named = f"{model}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(named, key=self._secret, digest_size=16).digest()
