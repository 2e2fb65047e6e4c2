"""A cache of embeddings by text, so that a repeated benchmark run embeds only new texts."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np

from holdfast.protocols import Embedder, Role

if TYPE_CHECKING:
    from holdfast.protocols import Vectors


class CachedEmbedder:
    """An embedder with a persistent cache."""

    computes = True
    """True, so that a recall waits for this embedder without a time limit. Results then do not depend on the load of the machine."""

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self._inner = embedder
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = apsw.Connection(str(file))
        self._database.set_busy_timeout(60_000)
        self._database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.calibration = embedder.calibration
        # One vector stands for the weights: a model that was trained again under its name has no vectors in the cache.
        self._model = f"{self.name}\0{np.asarray(embedder.embed(['fingerprint'], role='document')).tobytes().hex()}"

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
        """Return the vectors of texts. Only texts that are not in the cache are embedded."""
        keys = [
            hashlib.blake2b(f"{self._model}\0{role}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
            for text in texts
        ]
        known = {key: self._find(key) for key in keys}
        missing = [place for place, key in enumerate(keys) if known[key] is None]
        if missing:
            made = self._inner.embed([texts[place] for place in missing], role=role)
            with self._database:
                for place, vector in zip(missing, made, strict=True):
                    known[keys[place]] = vector
                    self._database.execute(
                        "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                        (keys[place], np.asarray(vector, dtype=np.float32).tobytes()),
                    )
        return np.stack([vector for key in keys if (vector := known[key]) is not None])

    def _find(self, key: bytes) -> "Vectors | None":
        row = next(iter(self._database.execute("SELECT vector FROM vectors WHERE key = ?", (key,))), None)
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)
