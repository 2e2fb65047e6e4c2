"""Translate English text to Spanish with the rule-based translator Apertium, to get more Spanish training text.

Apertium and its English-Spanish data (GPL) are Debian packages (``apertium``, ``apertium-lex-tools``, ``apertium-eng-spa``),
unpacked into ``--root``. The translations are rough: a model learns words from them rather than grammar. A translation is dropped
if more than one in seven of its words is unknown.
"""

import argparse
import concurrent.futures
import json
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.assemble import _write_lines, language, texts_of

CHUNK = 1000
SOURCES = ("topical", "persona", "clinc", "taskmaster", "hh")


def main() -> None:
    """Translate the English texts of the pairs, and the ordinary text of some sources."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="folder with the unpacked Debian packages")
    parser.add_argument("--bundle", type=Path, default=Path(__file__).resolve().parents[1] / "bundle")
    parser.add_argument("--limit", type=int, default=1_000_000)
    options = parser.parse_args()
    lines = _english(options.bundle)[: options.limit]
    chunks = [lines[start : start + CHUNK] for start in range(0, len(lines), CHUNK)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        translated = [pair for found in pool.map(lambda chunk: translate(chunk, options.root), chunks) for pair in found]
    print(f"{len(lines)} sentences, {len(translated)} translated")
    _write_lines(options.bundle / "rules.tsv.xz", (f"rules\t{en}\t{es}" for en, es in translated))


def _english(bundle: Path) -> list[str]:
    found: dict[str, None] = {}
    with lzma.open(bundle / "pairs.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            found.update((text, None) for text in texts_of(json.loads(line)) if language(text) == "en")
    with lzma.open(bundle / "text.tsv.xz", "rt", encoding="utf-8") as file:
        for line in file:
            name, text = line.rstrip("\n").split("\t", 1)
            if name in SOURCES and len(text.split()) <= 40:
                found[text] = None
    return list(found)


def translate(lines: list[str], root: Path) -> list[tuple[str, str]]:
    """Return each English line with its Spanish translation. Bad translations are left out."""
    mode = (root / "usr/share/apertium/modes/eng-spa.mode").read_text().strip()
    command = mode.replace("/usr/share/apertium", f"{root}/usr/share/apertium").replace("$1", "-g").replace("$2", "")
    library = next((root / "usr/lib").glob("*-linux-gnu"))
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(library),
        "PATH": f"{root}/usr/bin:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }
    text = "\n\n".join(re.sub(r"[\[\]{}^$@\\/<>]", " ", line) for line in lines) + "\n\n"
    pipeline = f"apertium-destxt | {command} | apertium-retxt"
    done = subprocess.run(["bash", "-c", pipeline], input=text, env=environment, capture_output=True, check=True, text=True)
    parts = [part.strip() for part in done.stdout.strip("\n").split("\n\n")]
    if len(parts) != len(lines):
        print(f"a chunk of {len(lines)} came back as {len(parts)} and is dropped", file=sys.stderr)
        return []
    return [(line, _plain(part)) for line, part in zip(lines, parts, strict=True) if _is_good(part)]


def _is_good(text: str) -> bool:
    words = text.split()
    unknown = sum(word.startswith("*") and word[1:2].islower() for word in words) + sum(word[:1] in "#@" for word in words)
    return len(words) >= 2 and unknown * 7 <= len(words)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"(?<!\w)[*#@](?=\w)", "", text).split())


if __name__ == "__main__":
    main()
