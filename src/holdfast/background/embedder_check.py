"""The check of the embedder for ``holdfast doctor``."""

import math

from holdfast.errors import ModelError
from holdfast.recall.embedding import Embedding
from holdfast.recall.notices import embedding_again, words_only
from holdfast.types import Finding

_REMEDY = "Background work embeds the texts again: let a program with the store run, or run `holdfast worker --once`"


def check_embedder(embedding: Embedding, recall_timeout: float | None) -> Finding:
    """Check that the embedder can be loaded.

    With ``recall_timeout``, also check that it answers within that number of seconds.
    """
    if embedding.name is None:
        return Finding(check="embedder", ok=True, detail="none configured; searching by words")
    if embedding.embedder() is None:
        remedy = None if ":" in embedding.name else f"holdfast models pull {embedding.name}"  # a remote model has no weights here
        return _failed(f"{embedding.name} is not available: {embedding.problem}", remedy)
    try:
        seconds = embedding.query_seconds() if recall_timeout is not None else None
    except ModelError as error:
        return _failed(str(error), None)
    if seconds is not None and recall_timeout is not None and seconds > recall_timeout:
        remedy = f"Set recall_timeout to {math.ceil(20 * seconds) / 10:g} or more, or use a faster embedder"
        problem = f"{embedding.name} takes {seconds:.2f} s for a query, and a recall waits at most {recall_timeout:g} s"
        return _failed(problem, remedy)
    detail = f"{embedding.name} ready" + (f", {seconds:.2f} s per query" if seconds is not None else "")
    return Finding(check="embedder", ok=True, detail=detail)


def check_vectors(embedding: Embedding, *, deep: bool) -> list[Finding]:
    """Check that the current embedder computed all stored vectors, and that it returned a usable vector for every text.

    With ``deep``, also check that all stored vectors have the same length.
    """
    if embedding.name is None:
        return []
    problems = []
    if embedding.is_embedding_again:
        problems.append(embedding_again(embedding.name))
    if deep and len(lengths := embedding.lengths) > 1:
        problems.append(f"The stored vectors have {len(lengths)} different lengths ({', '.join(map(str, lengths))}).")
    if number := embedding.rejected:
        texts = "1 text; it is" if number == 1 else f"{number} texts; they are"
        problems.append(f"{embedding.name} returned unusable vectors for {texts} found by words only.")
    if problems:
        return [Finding(check="embedder vectors", ok=False, detail=" ".join(problems), remedy=_REMEDY)]
    known = embedding.fingerprint
    detail = "not recorded yet" if known is None else f"match the recorded ones ({known.dimensions} numbers each)"
    return [Finding(check="embedder vectors", ok=True, detail=detail)]


def _failed(problem: str, remedy: str | None) -> Finding:
    return Finding(check="embedder", ok=False, detail=words_only(problem), remedy=remedy)
