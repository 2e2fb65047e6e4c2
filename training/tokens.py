"""The tokenizer: the old vocabulary, with Spanish tokens in its unused positions and at its end."""

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as Decoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token to add, and the weighted English words whose vectors are the starting point of its vector."""

    token: str
    english: dict[str, float]


def read_vocabulary(path: Path) -> list[str]:
    """Return the tokens of a ``vocab.txt``. ``splitlines`` is not used, because it would split at characters that are tokens."""
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def read_new(path: Path, limit: int) -> list[NewToken]:
    """Return the first ``limit`` tokens of ``tokens.jsonl.xz``, the file of new tokens."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][:limit]
    return [NewToken(token=row["t"], english=row["e"]) for row in rows]


def extend(vocabulary: Sequence[str], new: Sequence[NewToken]) -> list[str]:
    """Return the vocabulary with the new tokens added: first in place of unused tokens, then at the end."""
    known, extended = set(vocabulary), list(vocabulary)
    waiting = [token.token for token in new if token.token not in known]
    for place, token in enumerate(vocabulary):
        if token.startswith("[unused") and waiting:
            extended[place] = waiting.pop(0)
    return extended + waiting


def tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    """Return the uncased BERT tokenizer of a vocabulary. It strips accents."""
    ids = {token: number for number, token in enumerate(vocabulary)}
    made = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    special = [("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    made.decoder = Decoder()
    return made


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """Token ids of many texts in one array, and the start of each text."""

    ids: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each text."""
        return np.diff(self.starts)

    def batch(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the token ids of some texts, padded with zeros to the longest text, and the length of each text."""
        lengths = self.lengths()[rows]
        padded = np.zeros((len(rows), int(lengths.max())), dtype=np.int64)
        columns = np.arange(padded.shape[1])[None, :]
        mask = columns < lengths[:, None]
        padded[mask] = self.ids[(self.starts[rows][:, None] + columns)[mask]]
        return padded, lengths


def encode(made: Tokenizer, texts: Sequence[str], *, prefix: str = "", max_tokens: int = 96) -> Encoded:
    """Return the token ids of texts. ``prefix`` is put before each text, and each is cut after ``max_tokens`` tokens."""
    made.enable_truncation(max_tokens)
    ids: list[np.ndarray] = []
    for start in range(0, len(texts), 20_000):
        batch = made.encode_batch([prefix + text for text in texts[start : start + 20_000]])
        ids += [np.array(one.ids, dtype=np.int32) for one in batch]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in ids])]).astype(np.int64)
    return Encoded(ids=np.concatenate(ids) if ids else np.zeros(0, dtype=np.int32), starts=starts)


def join(one: Encoded, other: Encoded) -> Encoded:
    """Return the texts of one set, followed by the texts of the other."""
    return Encoded(
        ids=np.concatenate([one.ids, other.ids]), starts=np.concatenate([one.starts, other.starts[1:] + one.starts[-1]])
    )
