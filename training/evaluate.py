"""Evaluate an embedder on held-out pairs: how often the right text is among the first 1, 5 and 10 search results.

The documents are all utterances of one file and all their near misses, and then all short memories of the file and their near
misses. Run it on a model file: ``python training/evaluate.py
--network model.onnx --vocabulary vocab.txt``.
"""

import argparse
import concurrent.futures
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from corpus import QUERY_PREFIX, document, read_items
from variants import named

Embed = Callable[[Sequence[str]], np.ndarray]
HERE = Path(__file__).resolve().parent
NAMES = ("direct", "remark", "other-language", "plain")
"""Names of the questions of an item, in their order."""


def evaluate(items: list[dict[str, Any]], embed: Embed) -> dict[str, dict[str, float]]:
    """Return R@1, R@5, R@10 and the mean reciprocal rank, for each file and each kind of question."""
    found = {}
    for file in sorted({item["f"] for item in items}):
        part = [_in_one_talk(item) for item in items if item["f"] == file]
        documents = [document(item) for item in part] + [text for item in part for text in item["n"]]
        vectors = embed(documents)
        for kind, name in enumerate(NAMES):
            asked = [(row, item["q"][kind]) for row, item in enumerate(part) if kind < len(item["q"])]
            if asked:
                found[f"{file} {name}"] = _search(asked, vectors, embed)
        kept = [item for item in part if item.get("m")]
        if kept:
            found |= {f"{file} memory {name}": row for name, row in _memories(kept, embed).items()}
    return found


def _memories(items: list[dict[str, Any]], embed: Embed) -> dict[str, dict[str, float]]:
    """Evaluate the search for short memories: by the direct question, and by a hard question in the other language."""
    vectors = embed([item["m"] for item in items] + [text for item in items for text in item["x"]])
    asked = {"direct": [(row, item["q"][0]) for row, item in enumerate(items)]}
    asked["hard"] = [(row, item["r"]) for row, item in enumerate(items) if item["r"]]
    return {name: _search(rows, vectors, embed) for name, rows in asked.items()}


def _search(asked: list[tuple[int, str]], vectors: np.ndarray, embed: Embed) -> dict[str, float]:
    questions = embed([QUERY_PREFIX + question for _, question in asked])
    return _recall(questions @ vectors.T, np.array([row for row, _ in asked]))


def _in_one_talk(item: dict[str, Any]) -> dict[str, Any]:
    """Give all items with a speaker the same two names, so that the name alone does not identify the right document."""
    if not item.get("s"):
        return item
    texts = named(item, ("Marta", "Omar"), random.Random(item["u"]))
    return {**item, "s": "", "p": "", "u": texts.document, "q": list(texts.questions), "n": list(texts.misses)}


def _recall(scores: np.ndarray, right: np.ndarray) -> dict[str, float]:
    own = scores[np.arange(len(right)), right][:, None]
    rank = (scores > own).sum(axis=1)
    measures = {f"R@{depth}": float((rank < depth).mean()) for depth in (1, 5, 10)}
    return {**measures, "MRR": float((1 / (rank + 1)).mean()), "n": len(right)}


def table(results: dict[str, dict[str, float]]) -> str:
    """Return the metrics of :func:`evaluate` as lines of text."""
    return "\n".join(
        f"{name:22} R@1 {row['R@1']:.3f}  R@5 {row['R@5']:.3f}  R@10 {row['R@10']:.3f}  MRR {row['MRR']:.3f}  n {row['n']}"
        for name, row in results.items()
    )


def network(path: Path, vocabulary: Path, workers: int = 2, max_tokens: int = 128) -> Embed:
    """Return a function that embeds texts with an ONNX file, one text at a time, as the product does."""
    from export import Session
    from tokens import encode, read_vocabulary, tokenizer

    session, made = Session(path), tokenizer(read_vocabulary(vocabulary))

    def embed(texts: Sequence[str]) -> np.ndarray:
        encoded = encode(made, texts, max_tokens=max_tokens)
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            rows = pool.map(lambda row: session.vector(encoded.batch(np.array([row]))[0]), range(len(texts)))
            return np.stack(list(rows))

    return embed


def main() -> None:
    """Evaluate an ONNX file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--dev", type=Path, default=HERE / "bundle" / "dev.jsonl.xz")
    parser.add_argument("--limit", type=int, help="number of items, for a quick look")
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    results = evaluate(read_items(options.dev, options.limit), network(options.network, options.vocabulary))
    print(table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
