"""Loads models when a server starts, so that the first recall is as fast as later ones."""

import logging
import threading

from holdfast.engine import Engine
from holdfast.errors import ModelError
from holdfast.services import services

log = logging.getLogger("holdfast")


def preload(memory: Engine) -> None:
    """Load the weights of the embedders and of the reranker, and the client of an external index.

    A model on a server is called once in a thread, so that its connection is open and its problems are known. A failure does
    not raise an error: recall works without the model, and ``/health`` reports it.
    """
    parts = services(memory)
    parts.embedding.preload()
    try:
        parts.reranking.load()
    except ModelError as error:
        log.warning("The reranker cannot be used: %s", error)
    parts.store.preload()
    if not parts.embedding.computes:
        threading.Thread(target=parts.embedding.query, args=("hello",), name="holdfast-preload", daemon=True).start()
