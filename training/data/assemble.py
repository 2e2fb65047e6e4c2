"""Build the training data from its sources, in one small folder.

Run this script on a machine that has the sources. It writes compressed files: the training pairs, the held-out pairs, ordinary
English text, and English-Spanish sentence pairs. Texts that share an 8-gram with a benchmark are dropped (``overlap.py``).
Afterwards, ``check_overlap.py`` verifies that none is left.
"""

import argparse
import hashlib
import json
import lzma
import random
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import overlap

from data import sources

HELD_OUT = ("en4.jsonl", "es2.jsonl", "named.jsonl")
"""Files of pairs that are never trained on.

The author of the first two wrote no other file. ``27.jsonl`` has the author of the third.
"""


MEMORIES = ("m", "o", "r")
"""Keys of an item that hold one short text each.

``m`` is the memory that a system would keep of the utterance, ``o`` the same memory in the other language, and ``r`` a question in
the other language that shares no content word with it. ``x`` holds near misses of the memory.
"""


def main() -> None:
    """Build all files."""
    options = _options()
    options.bundle.mkdir(parents=True, exist_ok=True)
    forbidden = overlap.Forbidden.read(options.forbidden)
    train, dev = _pairs(options.pairs, forbidden)
    _write_lines(options.bundle / "pairs.jsonl.xz", (json.dumps(item, ensure_ascii=False) for item in train))
    _write_lines(options.bundle / "dev.jsonl.xz", (json.dumps(item, ensure_ascii=False) for item in dev))
    if options.pairs_only:
        return
    mirror = sources.Mirror(options.mirror)
    held = overlap.Forbidden(text for item in dev for text in texts_of(item))
    text = _text(mirror, (forbidden, held))
    _write_lines(options.bundle / "text.tsv.xz", (f"{name}\t{line}" for name, line in text))
    parallel = _parallel(mirror, (forbidden, held))
    _write_lines(options.bundle / "parallel.tsv.xz", (f"{name}\t{en}\t{es}" for name, en, es in parallel))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, help="folder of bare git directories, owner+name/repo")
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, help="folders of *.jsonl with pairs")
    parser.add_argument("--forbidden", type=Path, nargs="+", required=True, help="benchmark files and folders")
    parser.add_argument("--bundle", type=Path, default=Path(__file__).resolve().parents[1] / "bundle")
    parser.add_argument("--pairs-only", action="store_true", help="refresh the pairs, keep the rest")
    return parser.parse_args()


def texts_of(item: dict[str, Any]) -> list[str]:
    """Return all texts of an item: its utterance, the preceding question, the memories, the questions, and the near misses."""
    single = [item[key] for key in ("u", "p", *MEMORIES) if item.get(key)]
    return [*single, *item["q"], *item["n"], *item.get("x", ())]


def _pairs(folders: Iterable[Path], forbidden: overlap.Forbidden) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    train, dev, seen, bad = [], [], set(), 0
    paths = [path for folder in folders for path in sorted(folder.glob("*.jsonl"))]
    for path in sorted(paths, key=lambda path: path.name not in HELD_OUT):  # held-out files are read first
        for line in path.read_text(encoding="utf-8").splitlines():
            item = _item(line)
            if item is None or item["u"] in seen or any(map(forbidden.shares, texts_of(item))):
                bad += bool(line.strip())
                continue
            seen.add(item["u"])
            (dev if path.name in HELD_OUT else train).append({**item, "f": path.stem})
    print(f"pairs: {len(train)} to train on, {len(dev)} held out, {bad} dropped")
    return train, dev


def _item(line: str) -> dict[str, Any] | None:
    """Parse a line as an item: an utterance with the questions about it.

    Return None if the line is incomplete, because another program may still be writing the file.
    """
    try:
        item = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(item, dict) or not item.get("u") or not item.get("q"):
        return None
    u, p = " ".join(item["u"].split()), " ".join((item.get("p") or "").split())
    lists = {key: [" ".join(text.split()) for text in item.get(key) or [] if text.strip()] for key in ("q", "n", "x")}
    memories = {key: " ".join((item.get(key) or "").split()) for key in MEMORIES}
    return {"u": u, "p": p, "s": (item.get("s") or "").strip(), **lists, **memories, "l": language(u)}


_SPANISH = set(
    "que de la el los las un una unos unas y o en es no se lo le me mi mis tu tus su sus por para con sin pero como"
    " mas muy ya esta este eso esa son era fue hay donde cuando quien cual porque ella ellos nos al del si nada todo".split()
)
_ENGLISH = set(
    "the of and to in is it that for on with as at this but his her from they we she he was are be been have has had"
    " not you your my me what when where who which why how do does did can could would there their our an or if so i".split()
)


def language(text: str) -> str:
    """Return ``en`` or ``es``, judged by the most common words of each language."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    spanish = sum(word in _SPANISH for word in words) + 2 * len(re.findall(r"[¿¡ñáéíóú]", text.lower()))
    return "es" if spanish > sum(word in _ENGLISH for word in words) else "en"


def _text(mirror: sources.Mirror, forbidden: tuple[overlap.Forbidden, ...]) -> list[tuple[str, str]]:
    kept: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name, (read, limit) in sources.TEXT.items():
        lines = _distinct((clean(line) for line in read(mirror)), seen, 4, 80)
        allowed = [line for line in lines if not any(rule.shares(line) for rule in forbidden)]
        random.Random(name).shuffle(allowed)
        kept += ((name, line) for line in allowed[:limit])
        shared = len(lines) - len(allowed)
        print(f"text {name}: {len(lines)} found, {shared} shared with a benchmark, {min(limit, len(allowed))} kept")
    return kept


def _parallel(mirror: sources.Mirror, forbidden: tuple[overlap.Forbidden, ...]) -> list[tuple[str, str, str]]:
    kept, seen = [], set()
    for name, read in (("tatoeba", sources.tatoeba), ("xquad", sources.xquad)):
        for english, spanish in read(mirror):
            one, other = clean(english), clean(spanish)
            if (one, other) in seen or not 2 <= len(one.split()) <= 80:
                continue
            if any(rule.shares(text) for rule in forbidden for text in (one, other)):
                continue
            seen.add((one, other))
            kept.append((name, one, other))
    print(f"parallel: {len(kept)}")
    return kept


def clean(line: str) -> str:
    """Replace each run of whitespace in a text, including line breaks, with one space."""
    return " ".join(line.split())


def _distinct(lines: Iterable[str], seen: set[str], low: int, high: int) -> list[str]:
    found = []
    for line in lines:
        key = hashlib.md5(re.sub(r"\W+", " ", line.lower()).encode(), usedforsecurity=False).hexdigest()
        if low <= len(line.split()) <= high and key not in seen:
            seen.add(key)
            found.append(line)
    return found


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with lzma.open(path, "wt", encoding="utf-8", preset=6) as file:
        file.writelines(f"{line}\n" for line in lines)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
