"""Detect that an embedder returns different vectors under the same name, and check every new vector.

A provider can replace a model without changing its name, for example under a tag of Ollama. The vectors of the old and
the new model must not be compared. Therefore the store keeps a fingerprint of each model: the vectors of a few fixed
texts.

The fingerprint is checked before the embedder's first use in a process. For an embedder outside this process, it is also
checked every few minutes. If the vectors of the fixed texts have changed, all vectors of the model are removed. Every
text is then queued to be embedded again.
"""

import base64
import hashlib
import json
import threading
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from holdfast.errors import AnswerInvalid, ModelError
from holdfast.protocols import Embedder, Reads, Role, Store, Transaction
from holdfast.runtime import forks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.protocols import Vectors

FIXED_TEXTS: Final = (
    "The ferry to the island leaves at seven in the morning.",
    "Mi hermana toca el violonchelo desde los ocho años.",
    "Replace the filter of the coffee machine every three months.",
)
"""Texts whose vectors are the fingerprint of a model. Changing one would make every store embed all its texts again."""
_MIN_COSINE: Final = 0.98
"""Minimum cosine between the recorded and the new vector of a fixed text. Below it, the model counts as changed.

Rounding differences on other hardware keep the cosine above 0.99.
"""
_RECHECK_SECONDS: Final = 300.0
"""Time between two checks of an embedder outside this process, in seconds."""
_MAX_CHANGES: Final = 5
"""Maximum number of times per hour that a model's stored vectors are removed because the vectors have changed.

Without this maximum, two processes with different models under one name would remove each other's vectors forever.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The fingerprint that a store has recorded for a model.

    ``id`` is a hash of the model's vectors of a few fixed texts, and ``dimensions`` is the length of a vector.
    """

    id: str
    dimensions: int
    changes: tuple[float, ...] = ()
    """Times of the last changes, in seconds since 1970."""
    is_complete: bool = True
    """False while texts wait to be embedded again after a change."""


def read_fingerprint(reads: Reads, model: str) -> Fingerprint | None:
    """Return the fingerprint that a store has recorded for a model, or None."""
    stored = reads.setting(_name(model))
    if stored is None:
        return None
    data = json.loads(stored)
    return Fingerprint(
        id=data["id"], dimensions=data["dimensions"], changes=tuple(data["changes"]), is_complete=data["is_complete"]
    )


def checked_vectors(embedder: Embedder, texts: "Sequence[str]", role: Role) -> "Vectors":
    """Embed texts and check the result. Raise ``ModelError`` for any failure of the embedder.

    The result must have one row per text. Each row must have the length that the embedder states, and contain finite
    numbers that are not all zero. Vectors are scaled to unit length if needed.
    """
    try:
        array = np.asarray(embedder.embed(texts, role=role), dtype=np.float32)
        expected = (len(texts), embedder.dimensions)
    except ModelError:
        raise
    except Exception as error:  # a custom embedder may raise anything, and return anything
        raise ModelError(f"{embedder.name} failed: {type(error).__name__}: {error}") from error
    if array.shape != expected:
        raise AnswerInvalid(
            f"{embedder.name} returned an array of shape {array.shape} for {len(texts)} texts; {expected} was expected."
        )
    lengths = np.linalg.norm(array.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise AnswerInvalid(f"{embedder.name} returned a vector with NaN or infinity, or a vector of zeros.")
    if np.abs(lengths - 1).max(initial=0.0) > 1e-3:
        array = (array / lengths).astype(np.float32)
    return array


class FingerprintCheck:
    """Embeds texts with one model, and checks from time to time whether the model still returns the same vectors.

    If the vectors have changed, ``on_change`` is called.
    """

    def __init__(self, store: Store, model: str, *, computes: bool, on_change: "Callable[[], None]") -> None:
        self._store = store
        self._model = model
        self._computes = computes
        self._on_change = on_change
        self._checked: str | None = None
        self._check_at = 0.0
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock in the child process."""
        self._lock = threading.Lock()

    @property
    def is_due(self) -> bool:
        """True if the embedder must be checked before its next vectors are used.

        A check is due before the first use, and after another process has recorded different vectors. An embedder outside
        this process is also checked every few minutes.
        """
        stored = read_fingerprint(self._store, self._model)
        if stored is None or stored.id != self._checked:
            return True
        return not self._computes and time.monotonic() >= self._check_at

    def recheck(self) -> None:
        """Force a fingerprint check before the embedder's next use."""
        self._checked = None

    def embed(self, embedder: Embedder, texts: "Sequence[str]", role: Role) -> "Vectors":
        """Embed texts. If a check is due, first compare the model's vectors of a few fixed texts with the recorded vectors.

        If the vectors differ, all stored vectors of this model are removed. The fixed texts are embedded as queries. If the
        given texts are queries, too, one call embeds both. Raise ``ModelError`` if the embedder fails or cannot be used.
        """
        if not self.is_due:
            return checked_vectors(embedder, texts, role)
        if role == "query":
            vectors = checked_vectors(embedder, [*texts, *FIXED_TEXTS], role)
            self._compare(embedder, vectors[len(texts) :])
            return vectors[: len(texts)]
        self._compare(embedder, checked_vectors(embedder, FIXED_TEXTS, "query"))
        return checked_vectors(embedder, texts, role)

    def _compare(self, embedder: Embedder, vectors: "Vectors") -> None:
        with self._lock:
            stored = read_fingerprint(self._store, self._model)
            if stored is not None and not self._is_same(vectors):
                again = checked_vectors(embedder, FIXED_TEXTS, "query")
                if not _all_near(vectors, again):
                    raise AnswerInvalid(
                        f"{embedder.name} returns different vectors for the same text, so they cannot be compared."
                    )
                stored = None
            stored = stored or self._record(vectors)
            self._checked = stored.id
            self._check_at = time.monotonic() + _RECHECK_SECONDS

    def confirm(self, tx: Transaction) -> None:
        """Raise ``ModelError`` if another process has recorded a different fingerprint of the model since the last check.

        Call it in the transaction that stores vectors, so that they are not stored in that case.
        """
        stored = read_fingerprint(tx, self._model)
        if stored is not None and self._checked is not None and stored.id != self._checked:
            raise AnswerInvalid(
                f"Another process has recorded other vectors of {self._model}. They are compared before the next use."
            )

    def complete(self) -> None:
        """Record that all texts have been embedded again after the model's vectors had changed."""
        with self._store.write(durable=False) as tx:
            stored = read_fingerprint(tx, self._model)
            if stored is not None:
                tx.set_setting(_name(self._model), _to_json(replace(stored, is_complete=True)))

    def _is_same(self, vectors: "Vectors") -> bool:
        """Return True if these vectors of the fixed texts have the recorded length and almost the recorded values."""
        encoded = self._store.setting(_vectors_name(self._model))
        if encoded is None:
            return False
        before = np.frombuffer(base64.b64decode(encoded), dtype="<f2").astype(np.float32).reshape(len(FIXED_TEXTS), -1)
        return _all_near(before, vectors)

    def _record(self, vectors: "Vectors") -> Fingerprint:
        """Record a new fingerprint. If the store may contain vectors of another model under this name, remove them."""
        encoded = vectors.astype("<f2").tobytes()
        made = Fingerprint(id=hashlib.blake2b(encoded, digest_size=8).hexdigest(), dimensions=vectors.shape[1])
        lengths = self._store.vector_lengths(self._model) if read_fingerprint(self._store, self._model) is None else ()
        with self._store.write() as tx:
            stored = read_fingerprint(tx, self._model)
            if stored is not None and self._is_same(vectors):
                return stored  # another process was faster
            if stored is not None:
                made = replace(made, changes=self._changes(stored))
            if stored is not None or any(length != made.dimensions for length in lengths):
                made = replace(made, changes=made.changes or (time.time(),), is_complete=False)
                tx.drop_model(self._model)
                tx.use_model(self._model)
            tx.set_setting(_name(self._model), _to_json(made))
            tx.set_setting(_vectors_name(self._model), base64.b64encode(encoded).decode("ascii"))
        if not made.is_complete:
            self._on_change()
        return made

    def _changes(self, stored: Fingerprint) -> tuple[float, ...]:
        """Return the times at which the model's vectors changed within the last hour.

        The last of these times is now, because the caller has just found another change. Raise ``ModelError`` if ``stored``
        already lists ``_MAX_CHANGES`` or more changes within the last hour.
        """
        now = time.time()
        recent = tuple(at for at in stored.changes if now - 3600 < at <= now)
        if len(recent) >= _MAX_CHANGES:
            raise ModelError(
                f"{self._model} has changed its vectors {len(recent)} times within an hour. Its stored vectors are left as they are. "
                "Check that all processes and servers use the same model under this name."
            )
        return (*recent, now)


def _all_near(one: "Vectors", other: "Vectors") -> bool:
    return one.shape == other.shape and bool((np.sum(one * other, axis=1) >= _MIN_COSINE).all())


def _to_json(fingerprint: Fingerprint) -> str:
    return json.dumps(asdict(fingerprint))


def _name(model: str) -> str:
    return f"fingerprint of {model}"


def _vectors_name(model: str) -> str:
    return f"vectors of the fingerprint of {model}"
