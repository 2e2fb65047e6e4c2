"""Search among facts that share no content word with their questions, told and asked in English and Spanish.

The lists in ``frozen/`` have 204 English and 200 Spanish facts. They were written after the training data, by authors of their
own, and share no text with it. ``frozen/SHA256SUMS`` fixes them. Run it on models of the registry: ``python training/frozen.py talk-embed-s``.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.config.models import make_embedder

FOLDER = Path(__file__).resolve().parent / "frozen"
LANGUAGES = {"english": ("en", "es"), "spanish": ("es", "en")}


def main() -> None:
    """Print R@1 with its 95% interval and R@5, for each model and direction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    for model in parser.parse_args().models:
        source = make_embedder(model)
        if source is None:
            parser.error(f"{model} is no embedder")
        embedder = source.load()
        for name, (told, other) in LANGUAGES.items():
            rows = read(name)
            facts = np.asarray(embedder.embed([row["fact"] for row in rows], role="document"))
            for field, asked in (("q", told), ("other", other)):
                scores = np.asarray(embedder.embed([row[field] for row in rows], role="query")) @ facts.T
                rank = (scores > np.diag(scores)[:, None]).sum(axis=1)
                low, high = interval(rank == 0)
                print(
                    f"{model}: told {told}, asked {asked}: R@1 {(rank == 0).mean():.3f} ({low:.3f} - {high:.3f}), "
                    f"R@5 {(rank < 5).mean():.3f}, {len(rank)} questions"
                )


def read(name: str) -> list[dict[str, Any]]:
    """Return the rows of a list. Refuse a list that was changed."""
    content = (FOLDER / f"{name}.jsonl").read_bytes()
    expected = dict(line.split()[::-1] for line in (FOLDER / "SHA256SUMS").read_text("utf-8").splitlines())
    if hashlib.sha256(content).hexdigest() != expected[f"{name}.jsonl"]:
        raise SystemExit(f"{name}.jsonl is not the frozen list")
    return [json.loads(line) for line in content.decode().splitlines()]


def interval(hits: np.ndarray) -> tuple[float, float]:
    """Return the 95% interval of a share, by resampling."""
    random = np.random.default_rng(0)
    shares = [hits[random.integers(0, len(hits), len(hits))].mean() for _ in range(2000)]
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


if __name__ == "__main__":
    main()
