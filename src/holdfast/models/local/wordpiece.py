"""WordPiece, the tokenizer of BERT uncased, in plain Python.

Gives the token ids that the reference tokenizer gives: control characters removed, accents stripped, letters
lowered, CJK characters and punctuation set apart, then the longest known pieces of each word. Two differences
are on purpose: a special token spelled out in a text (``[SEP]``) is ordinary text, and what stands so far
into a text that it cannot matter is not read, so that a text of any size takes a bounded time.
"""

import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from holdfast.errors import ModelError

__all__ = ["WordPiece"]

_MAX_WORD_CHARACTERS: Final = 100
"""A longer word becomes one unknown token, as in the reference."""
_CHARACTERS_PER_TOKEN: Final = 64
"""English has about 4.5; only text made of blanks or of endless words has more."""
_CACHED_WORDS: Final = 20_000
_CACHED_CHARACTERS: Final = 20_000

_REMOVED: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_CJK: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Turns text into the ids of a vocabulary. Safe to use from several threads."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """Give the tokens their numbers in the order they come."""
        self._heads: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        for number, token in enumerate(vocabulary):
            if token.startswith("##") and len(token) > len("##"):
                self._tails[token.removeprefix("##")] = number
            else:
                self._heads[token] = number
        self._max_piece_characters = max(map(len, (*self._heads, *self._tails)), default=0)
        self._unknown, self._first, self._last = map(self._special, ("[UNK]", "[CLS]", "[SEP]"))
        self._words: dict[str, tuple[int, ...]] = {}
        self._spelling = _Spelling()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a ``vocab.txt``: one token a line."""
        # Not splitlines(): the vocabulary may hold characters that it takes for line ends.
        return cls(path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"))

    def encode(self, text: str, *, max_tokens: int) -> list[int]:
        """Return the ids of ``[CLS]``, the text and ``[SEP]``, at most ``max_tokens`` in all."""
        room = max(max_tokens - 2, 0)
        ids: list[int] = []
        for word in text[: room * _CHARACTERS_PER_TOKEN].translate(self._spelling).split():
            ids += self._words.get(word) or self._pieces(word)
            if len(ids) >= room:
                break
        return [self._first, *ids[:room], self._last]

    def _special(self, token: str) -> int:
        number = self._heads.get(token)
        if number is None:
            message = f"the vocabulary has no {token}: it is not that of a BERT model"
            raise ModelError(message)
        return number

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD_CHARACTERS:
            return (self._unknown,)
        pieces = self._cut(word)
        if len(self._words) >= _CACHED_WORDS:
            self._words.clear()
        self._words[word] = pieces
        return pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        """Take the longest known piece again and again; an unknown rest makes the whole word unknown."""
        pieces: list[int] = []
        start, known = 0, self._heads
        while start < len(word):
            for end in range(min(len(word), start + self._max_piece_characters), start, -1):
                number = known.get(word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(number)
            start, known = end, self._tails
        return tuple(pieces)


class _Spelling(dict[int, str]):
    """What each character becomes, worked out when first met, for ``str.translate``."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHED_CHARACTERS:
            self.clear()
        spelling = self[code] = _spell(chr(code))
        return spelling


def _spell(char: str) -> str:
    """Clean one character; blanks around the result set it apart as a word of its own."""
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _REMOVED:
        return ""
    if char.isspace():
        return " "
    parts = unicodedata.normalize("NFD", char)
    spelling = "".join(_lower(part) for part in parts if unicodedata.category(part) != "Mn")
    return f" {spelling} " if any(low <= ord(char) <= high for low, high in _CJK) else spelling


def _lower(char: str) -> str:
    return f" {char} " if _is_punctuation(char) else char.lower()


def _is_punctuation(char: str) -> bool:
    """Tell punctuation as the reference does: every ASCII symbol, although Unicode calls some otherwise."""
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")
