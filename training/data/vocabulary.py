"""Choose new WordPiece tokens for Spanish, and the English words whose vectors are the starting point of each token's vector.

Accents are stripped, as the tokenizer strips them. Whole words come from a frequency list and from the Spanish training texts.
Word endings come from the remaining words. A token is dropped if it would change the pieces of English words more often
than those of Spanish words. The English words of a token are its likely translations in the sentence pairs (IBM model 1).
"""

import argparse
import json
import lzma
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data import sources
from data.assemble import _write_lines, language, texts_of


def main() -> None:
    """Write ``tokens.jsonl.xz``, the most useful token first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of the old model")
    parser.add_argument("--bundle", type=Path, default=Path(__file__).resolve().parents[1] / "bundle")
    parser.add_argument("--words", type=int, default=10_500)
    parser.add_argument("--ends", type=int, default=1_200)
    options = parser.parse_args()
    old = set(options.vocabulary.read_text(encoding="utf-8").split("\n"))
    mirror = sources.Mirror(options.mirror)
    english = _stripped(sources.frequencies(mirror, "en"))
    spanish = _stripped(sources.frequencies(mirror, "es"))
    pairs = list(_sentences(options.bundle))
    ours = Counter(word for _, words in pairs for word in words)
    ours.update(word for text in _spanish_texts(options.bundle) for word in _words(text))
    scale = sum(spanish.values()) / max(sum(ours.values()), 1)
    total = Counter(spanish)
    total.update({word: int(count * scale) for word, count in ours.items()})
    words = [word for word, _ in total.most_common(40_000) if word not in old and len(word) > 1 and word.isalpha()]
    words = [word for word in words if english.get(word, 0) < total[word] / 3][: options.words]
    ends = _ends(total, old | set(words), options.ends)
    tokens = _harmless([*words, *ends], old, english, total)
    meanings = translations(pairs, {word for word in tokens if not word.startswith("##")})
    rows = (json.dumps({"t": token, "e": meanings.get(token, {})}, ensure_ascii=False) for token in tokens)
    _write_lines(options.bundle / "tokens.jsonl.xz", rows)
    known = sum(token in meanings for token in tokens)
    before, after = (_pieces_per_word(total, vocabulary) for vocabulary in (old, old | set(tokens)))
    print(f"{len(tokens)} tokens, {known} with a translation; pieces per Spanish word {before:.2f} -> {after:.2f}")


def strip(text: str) -> str:
    """Lowercase a text and strip its accents, as the tokenizer does."""
    return "".join(char for char in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(char) != "Mn")


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", strip(text))


def _stripped(counts: dict[str, int]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for word, count in counts.items():
        merged[strip(word)] += count
    return merged


def _sentences(bundle: Path) -> Iterator[tuple[list[str], list[str]]]:
    with lzma.open(bundle / "parallel.tsv.xz", "rt", encoding="utf-8") as file:
        for line in file:
            _, english, spanish = line.rstrip("\n").split("\t")
            yield _words(english), _words(spanish)


def _spanish_texts(bundle: Path) -> Iterator[str]:
    with lzma.open(bundle / "pairs.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            for text in texts_of(json.loads(line)):
                if language(text) == "es":
                    yield text


def cut(word: str, vocabulary: set[str]) -> list[str]:
    """Split a word into the longest known pieces, from left to right. Return an empty list if a part is unknown."""
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else f"##{word[start:end]}"
            if piece in vocabulary:
                break
        else:
            return []
        pieces.append(piece)
        start = end
    return pieces


def _ends(counts: Counter[str], vocabulary: set[str], limit: int) -> list[str]:
    """Return tokens for frequent word endings, such as ``##ando``: at most ``limit``, those that save the most pieces first.

    Only words that are not in the vocabulary count, because they are split into pieces.
    """
    gain: Counter[str] = Counter()
    for word, count in counts.most_common(60_000):
        if word in vocabulary or not word.isalpha():
            continue
        for length in range(2, min(8, len(word) - 2)):
            gain[word[-length:]] += math.log1p(count)
    saved = {
        end: value * (len(cut(f"x{end}", vocabulary | {"x"})) - 2) for end, value in gain.items() if f"##{end}" not in vocabulary
    }
    return [f"##{end}" for end, value in sorted(saved.items(), key=lambda row: -row[1]) if value > 0][:limit]


def _harmless(tokens: list[str], old: set[str], english: Counter[str], spanish: Counter[str]) -> list[str]:
    new = set(tokens)
    vocabulary = old | new
    uses = []
    for counts in (english, spanish):
        found: Counter[str] = Counter()
        for word, count in counts.items():
            if word not in old:
                found.update({piece: count for piece in cut(word, vocabulary) if piece in new})
        uses.append(found)
    return [token for token in tokens if uses[0][token] * 2 < uses[1][token]]


def _pieces_per_word(counts: Counter[str], vocabulary: set[str]) -> float:
    common = [(word, count) for word, count in counts.most_common(30_000) if word.isalpha()]
    return sum(count * max(len(cut(word, vocabulary)), 1) for word, count in common) / sum(count for _, count in common)


def translations(pairs: list[tuple[list[str], list[str]]], wanted: set[str]) -> dict[str, dict[str, float]]:
    """Return up to three likely English words for each Spanish word that occurs three times or more."""
    ids: list[dict[str, int]] = [{}, {}]
    left, right, group = [], [], []
    position = 0
    for english, spanish in pairs:
        foreign = [ids[1].setdefault(word, len(ids[1])) for word in ["", *spanish[:40]]]
        for word in english[:40]:
            number = ids[0].setdefault(word, len(ids[0]))
            left += [number] * len(foreign)
            right += foreign
            group += [position] * len(foreign)
            position += 1
    e, f, g = (np.array(values, dtype=np.int64) for values in (left, right, group))
    keys, inverse = np.unique(f * len(ids[0]) + e, return_inverse=True)
    table = np.ones(len(keys))
    for _ in range(6):
        chance = table[inverse]
        chance /= np.bincount(g, chance, position)[g]
        table = np.bincount(inverse, chance, len(keys))
        table /= np.bincount(keys // len(ids[0]), table, len(ids[1]))[keys // len(ids[0])]
    return _best(keys, table, ids, Counter(word for _, words in pairs for word in words), wanted)


def _best(
    keys: np.ndarray, table: np.ndarray, ids: list[dict[str, int]], counts: Counter[str], wanted: set[str]
) -> dict[str, dict[str, float]]:
    names = list(ids[0])
    starts = np.searchsorted(keys, np.arange(len(ids[1]) + 1) * len(names))
    found = {}
    for word, number in ids[1].items():
        if word not in wanted or counts[word] < 2:
            continue
        part = slice(starts[number], starts[number + 1])
        order = np.argsort(-table[part])[:3]
        best = {names[keys[part][k] % len(names)]: round(float(table[part][k]), 3) for k in order if table[part][k] >= 0.12}
        if best:
            found[word] = best
    return found


if __name__ == "__main__":
    main()
