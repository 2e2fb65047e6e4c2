"""Loads models when a server starts, so that the first recall is as fast as later ones."""

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.engine import Engine
from holdfast.errors import ModelError, StoreClosed
from holdfast.services import services

if TYPE_CHECKING:
    from holdfast.protocols import SentenceReader
    from holdfast.recall.embedding import Embedding

log = logging.getLogger("holdfast")


def preload(memory: Engine) -> None:
    """Load the weights of the embedders, the reranker and the sentence reader, and the client of an external index.

    The Python package of a remote chat model is imported as well, because that takes a second.

    An embedder on a server has no local weights. Such an embedder is called once in a thread, to open the connection and to
    detect problems. A failure does not raise an error: recall works without the model, and ``/health`` reports the failure.
    If the sentence reader fails, rules extract memories, and each job records that.
    """
    parts = services(memory)
    with suppress(StoreClosed):  # the process is already exiting
        parts.embedding.model.preload()
        parts.store.preload()
    try:
        parts.reranking.load()
    except ModelError as error:
        log.warning("The reranker cannot be used: %s", error)
    try:
        _load(parts.sentence_reader)
    except ModelError as error:
        log.warning("The sentence reader cannot be used. Rules extract memories. %s", error)
    try:
        parts.chat.connect()
    except ModelError as error:
        log.warning("The chat model cannot be used: %s", error)
    if not parts.embedding.computes:
        threading.Thread(target=_call_once, args=(parts.embedding,), name="holdfast-preload", daemon=True).start()


def _load(reader: "SentenceReader | None") -> None:
    """Load the weights of a sentence reader, if it has weights."""
    load = getattr(reader, "load", None)
    if callable(load):
        load()


def _call_once(embedding: "Embedding") -> None:
    with suppress(StoreClosed):
        embedding.query("hello")
