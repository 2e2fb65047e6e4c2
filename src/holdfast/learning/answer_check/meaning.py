"""Compare a statement of the model with the user's sentences by meaning, where word lists cannot decide.

The sentence reader decides in two cases. The statement may say the same as a sentence, in other words. Or the statement
may say that something has ended, and a sentence may imply this end.
"""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.errors import ModelError
from holdfast.learning.answer_check.sentences import bare, wishes
from holdfast.learning.answer_check.words import words
from holdfast.protocols import Comparison, SentenceReader
from holdfast.runtime.regex import regex

_MIN_PROBABILITY: Final = 0.5
_MAX_SENTENCES: Final = 8
"""Maximum number of sentences that a statement is compared with. One comparison takes about 10 ms."""
_ENDED: Final = regex(r"\b(?:no longer|ya no)\s+", re.IGNORECASE)


def is_reworded(item: str, said: Sequence[str], reader: SentenceReader | None) -> bool:
    """Return True if a statement of the model says the same as one of the user's sentences, in other words or another language.

    An example is "dislikes coriander" after "I can't stand cilantro". ``item`` is the statement, and ``said`` are the
    sentences.
    """
    return any(found.repeats >= _MIN_PROBABILITY for found in _compared(item, said, reader))


def is_stated_end(item: str, said: Sequence[str], reader: SentenceReader | None) -> bool:
    """Return True if a statement of the model says that something has ended, and one of the user's sentences implies this end.

    An example is "no longer flies for Lufthansa" after "I handed in my badge at Lufthansa". ``item`` is the statement, and
    ``said`` are the sentences.
    """
    before = _ENDED.sub("", item)
    news = [sentence for sentence in said if not wishes(sentence) and not _begins(sentence)]
    return before != item and any(found.ends >= _MIN_PROBABILITY for found in _compared(before, news, reader))


def _begins(sentence: str) -> bool:
    """Return True if a sentence says that something began, as in "I started at KPMG".

    Such a sentence is not compared, because the sentence reader mistakes any change for an end.
    """
    said = {bare(word) for word in re.findall(r"[^\W\d_]+", sentence.casefold())}
    return not words("polarity", "begun").isdisjoint(said) and words("polarity", "ended").isdisjoint(said)


def _compared(old: str, said: Sequence[str], reader: SentenceReader | None) -> list[Comparison]:
    if reader is None:
        return []
    try:
        return [reader.compare(old, sentence) for sentence in said[-_MAX_SENTENCES:]]
    except ModelError:  # the job notes elsewhere that the reader cannot be used
        return []
