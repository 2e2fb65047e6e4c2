"""WordPiece, the tokenizer of BERT uncased, in plain Python.

It returns the same token ids as the reference tokenizer. It removes control characters, strips accents, lowercases, and
separates CJK characters and punctuation. Then it splits each word into the longest known pieces. There are two
deliberate differences. A special token spelled out in a text (``[SEP]``) is treated as ordinary text. Only the
beginning of a very long text is read, so that the time is bounded.
"""

import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from holdfast.errors import ModelError

__all__ = ["WordPiece"]

_MAX_WORD_CHARACTERS: Final = 100
"""Maximum number of characters in a word. A longer word becomes one unknown token, as in the reference tokenizer."""
_CHARACTERS_PER_TOKEN: Final = 64
"""A text is read up to this many characters per token of the token limit. The rest of the text is ignored.

English has about 4.5 characters per token. Only a text with many blanks or extremely long words exceeds this maximum.
"""
_CACHED_WORDS: Final = 20_000
"""Maximum number of words in the cache. The cache is cleared when it is full."""
_CACHED_CHARACTERS: Final = 20_000
"""Maximum number of characters in the cache. The cache is cleared when it is full."""

_REMOVED: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
"""Unicode categories of the characters that are removed from texts."""
_CJK: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
"""Code point ranges of CJK characters. Each of these characters is a word."""


class WordPiece:
    """Converts text to token ids of a vocabulary. Safe to use from several threads."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """Store the vocabulary. The id of a token is its position in the vocabulary."""
        self._heads: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        for number, token in enumerate(vocabulary):
            if token.startswith("##") and len(token) > len("##"):
                self._tails[token.removeprefix("##")] = number
            else:
                self._heads[token] = number
        self._max_piece_characters = max(map(len, (*self._heads, *self._tails)), default=0)
        self._unknown, self._first, self._last = map(self.special, ("[UNK]", "[CLS]", "[SEP]"))
        self._words: dict[str, tuple[int, ...]] = {}
        self._characters = _CharacterMap()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Create a tokenizer from a ``vocab.txt`` with one token per line."""
        # Not splitlines(): the vocabulary contains characters that splitlines() treats as line ends.
        return cls(path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"))

    def encode(self, text: str, *, max_tokens: int) -> list[int]:
        """Return the token ids of ``[CLS]``, the text and ``[SEP]``. A long text is cut, to return at most ``max_tokens`` ids."""
        room = max(max_tokens - 2, 0)
        ids: list[int] = []
        for word in text[: room * _CHARACTERS_PER_TOKEN].translate(self._characters).split():
            ids += self._words.get(word) or self._pieces(word)
            if len(ids) >= room:
                break
        return [self._first, *ids[:room], self._last]

    def pieces(self, text: str) -> list[int]:
        """Return the token ids of a whole text, without start and end tokens."""
        return [
            piece for word in text.translate(self._characters).split() for piece in self._words.get(word) or self._pieces(word)
        ]

    def special(self, token: str) -> int:
        """Return the id of a special token, such as ``[SEP]``."""
        number = self._heads.get(token)
        if number is None:
            raise ModelError(f"The vocabulary has no {token} token. It does not belong to a BERT model.")
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
        """Split a word into the longest known pieces, from left to right. If any part is unknown, the whole word is unknown."""
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


class _CharacterMap(dict[int, str]):
    """Cache of normalized characters, for ``str.translate``. Each character is normalized on first use."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHED_CHARACTERS:
            self.clear()
        normalized = self[code] = _normalize(chr(code))
        return normalized


def _normalize(char: str) -> str:
    """Normalize one character. Spaces are put around CJK characters and punctuation marks, because each counts as one word."""
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _REMOVED:
        return ""
    if char.isspace():
        return " "
    parts = unicodedata.normalize("NFD", char)
    normalized = "".join(_lower(part) for part in parts if unicodedata.category(part) != "Mn")
    return f" {normalized} " if any(low <= ord(char) <= high for low, high in _CJK) else normalized


def _lower(char: str) -> str:
    return f" {char} " if _is_punctuation(char) else char.lower()


def _is_punctuation(char: str) -> bool:
    """Return True for punctuation as the reference tokenizer defines it, including every ASCII symbol."""
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")
