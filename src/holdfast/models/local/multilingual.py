"""A multilingual embedder that runs on the CPU: the Universal Sentence Encoder, in numpy.

The extra ``multilingual`` installs the embedder with its weights; nothing is downloaded later. The embedder takes about
110 MB of memory after the first text, and a few milliseconds per sentence. Each text is embedded alone, so its vector
does not depend on other texts. The embedder is safe to use from several threads; one text is embedded at a time. A
forked child continues with its parent's copy.

The model was trained for sentence similarity, not for search. It is sensitive to form, such as question or statement,
and to a capital first letter. Therefore the vector of a query combines the query with its content words. The vector of
a document combines the original with a lowercase copy. With this, 5 to 10 more of 100 questions are answered; see
``docs/project/decisions.md``.
"""

import os
import re
import threading
import zipfile
import zlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ExtraMissing, WeightsCorrupt
from holdfast.models.embed_arguments import check_texts
from holdfast.models.local.integrity import locate_verified_package
from holdfast.models.local.one_thread import one_thread
from holdfast.models.local.packaged import damaged
from holdfast.models.local.registry import PackagedSpec
from holdfast.models.local.registry_embedder import RegistryEmbedder
from holdfast.protocols import Role
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS, detect_language, is_stop_word

__all__ = ["MultilingualEmbedder"]

Vector: TypeAlias = NDArray[np.float32]

_CONTENT_WORD_WEIGHT: Final = 2.0
"""Weight of a query's content words relative to the whole query."""
_WORD: Final = re.compile(r"\w+")
_MAIN_LANGUAGES: Final = ("en", "es")
"""Languages whose stop words are removed from every query, in addition to those of the query's own language."""


class MultilingualEmbedder(RegistryEmbedder):
    """Embeds texts of many languages into one vector space, so that a query also finds answers in other languages."""

    def __init__(self, spec: PackagedSpec) -> None:
        """Store the registry entry. Nothing is loaded yet.

        Embedding the first text, or calling :meth:`load`, raises ``ExtraMissing`` if the extra is not installed.
        """
        self._spec: PackagedSpec = spec
        self._encoder: Any = None
        self._lock, self._pid = threading.Lock(), os.getpid()

    def load(self) -> None:
        """Load the network now, instead of when the first text is embedded."""
        with self._own_lock(), one_thread():
            self._loaded()

    def embed(self, texts: Sequence[str], *, role: Role) -> Vector:
        """Return one unit vector per text, as rows. Long texts are truncated to a length that the model handles well."""
        check_texts(texts, role)
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            readable = text[: self._spec.max_characters].encode("utf-8", "replace").decode("utf-8")
            vectors[row] = _unit(self._question(readable) if role == "query" else self._document(readable))
        return vectors

    def _question(self, text: str) -> Vector:
        words = _content_words(text)
        return self._run(text) + np.float32(_CONTENT_WORD_WEIGHT) * self._run(words) if words else self._run(text)

    def _document(self, text: str) -> Vector:
        lowered = text.lower().rstrip(".")
        return self._run(text) + self._run(lowered) if lowered != text else self._run(text)

    def _run(self, text: str) -> Vector:
        with self._own_lock(), one_thread():
            vector: Vector = self._loaded().encode([text])[0]
        return _unit(vector)

    def _own_lock(self) -> threading.Lock:
        """Return this process's lock.

        A forked child creates its own lock, because a thread that exists only in the parent may hold the parent's lock.
        """
        if self._pid != os.getpid():
            self._lock, self._pid = threading.Lock(), os.getpid()
        return self._lock

    def _loaded(self) -> Any:
        if self._encoder is None:
            paths = locate_verified_package(self._spec)
            try:
                encoder = import_module(self._spec.module).USE(threads=1)
                encoder.encode([""])  # the first call reads the weights
            except ImportError as error:
                message = f"{self.name} cannot be loaded ({error}): pip install 'holdfast-memory[{self._spec.extra}]'"
                raise ExtraMissing(message) from error
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
                raise WeightsCorrupt(damaged(self._spec, next(iter(paths.values())))) from error
            self._encoder = encoder
        return self._encoder


def _unit(vector: Vector) -> Vector:
    unit: Vector = (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)
    return unit


def _content_words(question: str) -> str:
    """Return the content words of a question: all words except stop words."""
    languages = {detect_language(question), *_MAIN_LANGUAGES} & set(STOP_WORDS)
    words = _WORD.findall(question)
    return " ".join(word for word in words if not any(is_stop_word(fold(word), code) for code in languages))
