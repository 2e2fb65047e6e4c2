"""An embedder for many languages that runs on this machine's processor: the Universal Sentence Encoder, in numpy.

It comes with the extra ``multilingual``, weights included, and never asks the network. About 110 MB once the first text
is embedded, and some milliseconds for a sentence. Each text is embedded on its own, so that its vector does not depend on
its neighbours. Safe to use from several threads, one text at a time; a forked child goes on with its parent's copy.

The network was made for the likeness of sentences, not for search, and is easily taken in by form: that one text asks
and the other tells, that one begins with a capital. So a question counts by its telling words as well as whole, and a
document both as it is written and in small letters. That is worth 5 to 10 of 100 questions; see ``docs/project/decisions.md``.
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
from holdfast.models.local.described import RegistryEmbedder, check_texts
from holdfast.models.local.one_thread import one_thread
from holdfast.models.local.packaged import damaged, locate
from holdfast.models.local.registry import PackagedSpec
from holdfast.protocols import Role
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS, detect_language, is_stop_word

__all__ = ["MultilingualEmbedder"]

Vector: TypeAlias = NDArray[np.float32]

_CONTENT_WORD_WEIGHT: Final = 2.0
"""What the telling words of a question count for beside the whole of it."""
_WORD: Final = re.compile(r"\w+")
_USUAL: Final = ("en", "es")


class MultilingualEmbedder(RegistryEmbedder):
    """Embeds texts of many languages into one space: a question finds its answer in another language as well."""

    def __init__(self, spec: PackagedSpec) -> None:
        """Remember what to load; ``ExtraMissing`` comes with the first text, or with :meth:`load`."""
        self._spec: PackagedSpec = spec
        self._encoder: Any = None
        self._lock, self._pid = threading.Lock(), os.getpid()

    def load(self) -> None:
        """Load the network now rather than with the first text."""
        with self._own_lock(), one_thread():
            self._loaded()

    def embed(self, texts: Sequence[str], *, role: Role) -> Vector:
        """Return a unit vector for each text, one a row; a text longer than the model reads well is cut."""
        check_texts(texts, role)
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            readable = text[: self._spec.max_characters].encode("utf-8", "replace").decode("utf-8")
            vectors[row] = _unit(self._question(readable) if role == "query" else self._document(readable))
        return vectors

    def _question(self, text: str) -> Vector:
        telling = _telling_words(text)
        return self._run(text) + np.float32(_CONTENT_WORD_WEIGHT) * self._run(telling) if telling else self._run(text)

    def _document(self, text: str) -> Vector:
        small = text.lower().rstrip(".")
        return self._run(text) + self._run(small) if small != text else self._run(text)

    def _run(self, text: str) -> Vector:
        with self._own_lock(), one_thread():
            vector: Vector = self._loaded().encode([text])[0]
        return _unit(vector)

    def _own_lock(self) -> threading.Lock:
        """Return this process's own lock: after a fork, a thread that is gone may hold the old one."""
        if self._pid != os.getpid():
            self._lock, self._pid = threading.Lock(), os.getpid()
        return self._lock

    def _loaded(self) -> Any:
        if self._encoder is None:
            paths = locate(self._spec)
            try:
                encoder = import_module(self._spec.module).USE(threads=1)
                encoder.encode([""])  # the first text reads the weights
            except ImportError as error:
                message = f"{self.name} cannot be loaded ({error}): pip install 'holdfast[{self._spec.extra}]'"
                raise ExtraMissing(message) from error
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
                raise WeightsCorrupt(damaged(self._spec, next(iter(paths.values())))) from error
            self._encoder = encoder
        return self._encoder


def _unit(vector: Vector) -> Vector:
    unit: Vector = (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)
    return unit


def _telling_words(question: str) -> str:
    """Return the words of a question that are not in every question."""
    spoken = {detect_language(question), *_USUAL} & set(STOP_WORDS)
    words = _WORD.findall(question)
    return " ".join(word for word in words if not any(is_stop_word(fold(word), code) for code in spoken))
