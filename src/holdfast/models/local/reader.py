"""The sentence reader: a small network that analyzes one of the user's sentences together with the previous turn.

The reader decides whether the sentence is worth keeping, whom it is about, what kind of fact it states, and which words
state the fact. It also compares an old statement with a new one. ``training/reader`` describes how it was trained.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from holdfast.models.local.registry import ReaderSpec
from holdfast.models.local.runtime import check_runtime
from holdfast.protocols.sentence_reader import Act, Area, Comparison, Meant, Owner, Reading, When, Wish

if TYPE_CHECKING:
    from holdfast.models.local.onnx import Network

__all__ = ["LocalReader"]

Floats: TypeAlias = NDArray[np.float32]

_SENTENCE_MARK: Final = "[CLS]"
_PAIR_MARK: Final = "[MASK]"
_END_MARK: Final = "[SEP]"
_ANSWERS: Final = {
    "keep": 2,
    "owner": len(get_args(Owner)),
    "negated": 2,
    "area": len(get_args(Area)),
    "time": len(get_args(When)),
    "meant": len(get_args(Meant)),
    "act": len(get_args(Act)),
    "wishes": len(get_args(Wish)),
    "reply": 2,
    "change": 3,
    "worth": 4,
}
"""Number of classes of each classification, such as ``owner``, in the order of the network's output."""
_WORTHY: Final = 2
"""The first two classes of ``worth`` are memories of lasting and of minor use, the others junk and unclear ones."""
_WORD: Final = re.compile(r"\S+")
_MIN_CERTAINTY: Final = 0.5


class LocalReader:
    """Analyzes sentences with a sentence reader of the registry. Its weights must be in ``directory`` before the first use."""

    def __init__(self, spec: ReaderSpec, directory: Path) -> None:
        """Store the arguments. Nothing is loaded yet."""
        self._spec = spec
        self._directory = directory

    @cached_property
    def _network(self) -> "Network":
        check_runtime()  # raises a clear error in every thread, unlike an import that two threads run at once
        from holdfast.models.local.onnx import Network  # noqa: PLC0415  (onnxruntime is heavy)

        return Network(self._spec, self._directory)

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._spec.name

    def load(self) -> None:
        """Load the network now, instead of on first use."""
        self._network.load()

    def read(self, sentence: str, *, before: str = "") -> Reading:
        """Analyze one of the user's sentences and return the result. ``before`` is the previous turn, or an empty string."""
        words = [found.span() for found in _WORD.finditer(sentence)]
        pieces = [self._network.pieces(sentence[start:end]) for start, end in words]
        first = self._network.pieces(before[-self._spec.max_first_characters :])[-self._spec.max_first_tokens :]
        answers, scores = self._run(_SENTENCE_MARK, first, [piece for word in pieces for piece in word])
        start, end = _span(scores[len(first) + 2 :], words, [len(word) for word in pieces])
        return Reading(
            keep=float(answers["keep"][1]),
            owner=get_args(Owner)[answers["owner"].argmax()],
            negated=bool(answers["negated"][1] >= _MIN_CERTAINTY),
            area=get_args(Area)[answers["area"].argmax()],
            time=get_args(When)[answers["time"].argmax()],
            meant=get_args(Meant)[answers["meant"].argmax()],
            act=get_args(Act)[answers["act"].argmax()],
            reply=bool(answers["reply"][1] >= _MIN_CERTAINTY),
            wishes=dict(zip(get_args(Wish), map(float, answers["wishes"]), strict=True)),
            start=start,
            end=end,
            worth=float(answers["worth"][:_WORTHY].sum()),
        )

    def compare(self, old: str, new: str) -> Comparison:
        """Compare an old statement with a new statement of the same person.

        Return the probabilities of three cases. The new statement leaves the old one as it is, repeats it, or ends it. An ended
        statement is no longer true.
        """
        first = self._network.pieces(old[: self._spec.max_first_characters])[: self._spec.max_first_tokens]
        answers, _ = self._run(_PAIR_MARK, first, self._network.pieces(new))
        leaves, repeats, ends = map(float, answers["change"])
        return Comparison(leaves=leaves, repeats=repeats, ends=ends)

    def _run(self, mark: str, first: Sequence[int], text: Sequence[int]) -> tuple[dict[str, Floats], Floats]:
        """Run the network on two texts, ``first`` and ``text``, given as token ids. Return two values: a dict and an array.

        The dict maps each classification, such as ``keep`` or ``owner``, to the probabilities of its classes. The array has a
        score for each token of the input, special tokens included: how likely the token is part of the fact. ``mark`` is the
        special token before both texts. It selects between the analysis of a sentence and the comparison of two statements.
        """
        end = self._network.special(_END_MARK)
        text = text[: self._spec.max_tokens]
        ids = [self._network.special(mark), *first, end, *text, end]
        scores, tokens = self._network.run_all(ids, second=len(first) + 2)
        answers, position = {}, 0
        for question, count in _ANSWERS.items():
            answers[question] = _softmax(scores[position : position + count])
            position += count
        return answers, tokens


def _softmax(scores: Floats) -> Floats:
    powers: Floats = np.exp(scores - scores.max())
    shares: Floats = powers / powers.sum()
    return shares


def _span(scores: Floats, words: Sequence[tuple[int, int]], lengths: Sequence[int]) -> tuple[int, int]:
    """Return the start and end position of the consecutive words with the greatest sum of scores.

    ``scores`` has one value per token, and a last value for the end mark, which is ignored. ``words`` has the start and end
    position of each word in the text. ``lengths`` has the number of tokens of each word. The score of a word is the score of
    its best token. So a low score of its punctuation mark does not exclude a word.
    """
    best, best_sum, start, total, token = (0, len(words)), -np.inf, 0, 0.0, 0
    for number, length in enumerate(lengths):
        read = scores[token : min(token + length, len(scores) - 1)]
        if not len(read):
            continue
        if total <= 0:
            start, total = number, 0.0
        total += float(read.max())
        token += length
        if total > best_sum:
            best, best_sum = (start, number + 1), total
    return (words[best[0]][0], words[best[1] - 1][1]) if words else (0, 0)
