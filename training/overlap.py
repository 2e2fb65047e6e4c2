"""Find texts that share a run of eight words with texts that must never be trained on."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

WORDS = 8
"""Length of a run of words, in words. Shorter runs occur by chance ("I do not know what to do")."""
_SKIPPED = {".png", ".gz", ".pyc", ".lock"}


class Forbidden:
    """The forbidden texts, stored as hashes of their word runs."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Store a hash of every run of eight words. A shorter text with at least four words is stored as a whole."""
        self.texts = 0
        self._runs: set[int] = set()
        self._whole: set[int] = set()
        for text in texts:
            self.texts += 1
            words = _words(text)
            self._runs.update(_runs(words))
            if 4 <= len(words) < WORDS:
                self._whole.add(hash(tuple(words)))

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Self:
        """Read all strings in the given files, and in the files of the given folders."""
        return cls(text for path in paths for file in _files(path) for text in _strings(file))

    def shares(self, text: str) -> bool:
        """Return True if a text shares a run of eight words with a forbidden text, or equals a short forbidden text."""
        words = _words(text)
        if len(words) < WORDS:
            return hash(tuple(words)) in self._whole
        return any(run in self._runs for run in _runs(words))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _runs(words: list[str]) -> Iterator[int]:
    for start in range(len(words) - WORDS + 1):
        yield hash(tuple(words[start : start + WORDS]))


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise FileNotFoundError(path)
    found = [path] if path.is_file() else [file for file in sorted(path.rglob("*")) if file.is_file()]
    return [file for file in found if file.suffix not in _SKIPPED]


def _strings(file: Path) -> Iterator[str]:
    content = file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        yield from _leaves(json.loads(content))
    elif file.suffix == ".jsonl":
        for line in content.splitlines():
            yield from _leaves(json.loads(line))
    else:
        yield from content.splitlines()


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
