"""Measure search on facts and questions that share no content word, in English, in Spanish, and across both languages.

The JSONL files in ``frozen/`` (the frozen lists) have 204 English and 200 Spanish facts. Their authors did not write any
training data, and no text of the files is in the training data. ``frozen/SHA256SUMS`` contains the checksums of the files.
Run the script on models of the registry, ``python training/frozen.py talk-embed-s``, or on network files, ``--networks
seed1.onnx seed2.onnx seed3.onnx --vocabulary vocab.txt``. Several network files count as one model that was trained with
several seeds: the last lines show their mean, and how it differs from the first named model.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent / "frozen"
LANGUAGES = {"english": ("en", "es"), "spanish": ("es", "en")}
Embed = Callable[[Sequence[str], str], np.ndarray]
"""Embeds texts as ``document`` or as ``query``."""


def main() -> None:
    """Print R@1 with its 95% interval and R@5, for each model and each pair of languages of fact and question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="names in the registry")
    parser.add_argument("--networks", nargs="+", type=Path, default=[], help="ONNX files of one recipe, one per seed")
    parser.add_argument("--vocabulary", type=Path, help="vocab.txt of the networks")
    options = parser.parse_args()
    named = {model: ranks(of_registry(model)) for model in options.models}
    seeds = [ranks(of_file(path, options.vocabulary)) for path in options.networks]
    for name, found in [*named.items(), *zip(map(str, options.networks), seeds, strict=True)]:
        for direction, rank in found.items():
            print(f"{name}: {direction}: {_share(rank == 0)}, R@5 {(rank < 5).mean():.3f}, {len(rank)} questions", flush=True)
    for direction in seeds[0] if len(seeds) > 1 else ():
        hits = np.array([found[direction] == 0 for found in seeds])
        spread = hits.mean(axis=1).std(ddof=1)
        print(
            f"mean of {len(seeds)} seeds: {direction}: {_share(hits.mean(axis=0))}, standard deviation of the seeds {spread:.3f}"
        )
        if named:
            first, found = next(iter(named.items()))
            print(f"  difference from {first}: {_share(hits.mean(axis=0) - (found[direction] == 0))}")


def _share(values: np.ndarray) -> str:
    low, high = interval(values)
    return f"R@1 {values.mean():.3f} ({low:.3f} - {high:.3f})"


def ranks(embed: Embed) -> dict[str, np.ndarray]:
    """Return the rank of the right fact for each question, by the languages of fact and question. Rank 0 is the first result."""
    found = {}
    for name, (told, other) in LANGUAGES.items():
        rows = read(name)
        facts = embed([row["fact"] for row in rows], "document")
        for field, asked in (("q", told), ("other", other)):
            scores = embed([row[field] for row in rows], "query") @ facts.T
            found[f"told {told}, asked {asked}"] = (scores > np.diag(scores)[:, None]).sum(axis=1)
    return found


def of_registry(model: str) -> Embed:
    """Return the embedding function of a registry model."""
    from holdfast.config.models import make_embedder

    source = make_embedder(model)
    if source is None:
        raise SystemExit(f"{model} is no embedder")
    embedder = source.load()
    return lambda texts, role: np.asarray(embedder.embed(list(texts), role=role))


def of_file(path: Path, vocabulary: Path) -> Embed:
    """Return the embedding function of a network file."""
    import evaluate
    from corpus import QUERY_PREFIX

    embed = evaluate.network(path, vocabulary, max_tokens=512)
    return lambda texts, role: embed([QUERY_PREFIX + text if role == "query" else text for text in texts])


def read(name: str) -> list[dict[str, Any]]:
    """Return the rows of ``frozen/<name>.jsonl``. Exit with an error if its checksum is not the one in ``SHA256SUMS``."""
    content = (FOLDER / f"{name}.jsonl").read_bytes()
    expected = dict(line.split()[::-1] for line in (FOLDER / "SHA256SUMS").read_text("utf-8").splitlines())
    if hashlib.sha256(content).hexdigest() != expected[f"{name}.jsonl"]:
        raise SystemExit(f"{name}.jsonl is not the frozen list")
    return [json.loads(line) for line in content.decode().splitlines()]


def interval(hits: np.ndarray) -> tuple[float, float]:
    """Return the 95% bootstrap interval of a share."""
    random = np.random.default_rng(0)
    shares = [hits[random.integers(0, len(hits), len(hits))].mean() for _ in range(2000)]
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


if __name__ == "__main__":
    main()
