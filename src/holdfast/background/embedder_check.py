"""The check of the embedder for ``holdfast doctor``."""

import math

from holdfast.errors import ModelError
from holdfast.recall.embedding import Embedding
from holdfast.recall.notices import embedding_again, words_only
from holdfast.types import Finding
from holdfast.types.translatable import translatable

_REMEDY = translatable(
    "embedder.wait", "Background work embeds the texts again: let a program with the store run, or run `holdfast worker --once`"
)


def check_embedder(embedding: Embedding, recall_timeout: float | None) -> Finding:
    """Check that the embedder can be loaded.

    With ``recall_timeout``, also check that it answers within that number of seconds.
    """
    if embedding.name is None:
        return Finding(check="embedder", ok=True, detail=translatable("embedder.none", "none configured; searching by words"))
    if embedding.embedder() is None:
        pull = translatable("embedder.pull", "holdfast models pull {name}", name=embedding.name)
        problem = translatable(
            "embedder.away", "{name} is not available: {problem}", name=embedding.name, problem=embedding.problem or ""
        )
        return _failed(problem, None if ":" in embedding.name else pull)  # a remote model has no weights here
    try:
        seconds = embedding.model.query_seconds() if recall_timeout is not None else None
    except ModelError as error:
        return _failed(str(error), None)
    if seconds is not None and recall_timeout is not None and seconds > recall_timeout:
        return _too_slow(embedding.name, seconds, recall_timeout)
    if seconds is None:
        return Finding(check="embedder", ok=True, detail=translatable("embedder.ready", "{name} ready", name=embedding.name))
    detail = translatable("embedder.timed", "{name} ready, {seconds:.2f} s per query", name=embedding.name, seconds=seconds)
    return Finding(check="embedder", ok=True, detail=detail)


def _too_slow(name: str, seconds: float, limit: float) -> Finding:
    needed = math.ceil(20 * seconds) / 10
    remedy = translatable(
        "embedder.faster", "Set recall_timeout to {seconds:g} or more, or use a faster embedder", seconds=needed
    )
    problem = translatable(
        "embedder.slow",
        "{name} takes {seconds:.2f} s for a query, and a recall waits at most {limit:g} s",
        name=name,
        seconds=seconds,
        limit=limit,
    )
    return _failed(problem, remedy)


def check_vectors(embedding: Embedding, *, deep: bool) -> list[Finding]:
    """Check that the current embedder computed all stored vectors, and that it returned a usable vector for every text.

    With ``deep``, also check that all stored vectors have the same length.
    """
    if embedding.name is None:
        return []
    problems: list[str] = []
    if embedding.is_embedding_again:
        problems.append(embedding_again(embedding.name))
    if deep and len(lengths := embedding.lengths) > 1:
        problems.append(
            translatable(
                "vectors.lengths",
                "The stored vectors have {n} different lengths ({lengths}).",
                n=len(lengths),
                lengths=", ".join(map(str, lengths)),
            )
        )
    if number := embedding.rejected:
        texts = "1 text; it is" if number == 1 else "{n} texts; they are"
        template = f"{{name}} returned unusable vectors for {texts} found by words only."
        problems.append(translatable("vectors.unusable", template, name=embedding.name, n=number))
    if problems:
        return [Finding(check="embedder vectors", ok=False, detail=problem, remedy=_REMEDY) for problem in problems]
    known = embedding.fingerprint
    if known is None:
        return [Finding(check="embedder vectors", ok=True, detail=translatable("fingerprint.none", "not recorded yet"))]
    detail = translatable("fingerprint.ok", "match the recorded ones ({n} numbers each)", n=known.dimensions)
    return [Finding(check="embedder vectors", ok=True, detail=detail)]


def _failed(problem: str, remedy: str | None) -> Finding:
    return Finding(check="embedder", ok=False, detail=words_only(problem), remedy=remedy)
