"""Correct misspelled words of a wish about memory, so that rules and the sentence reader find it."""

import re
from typing import Final

from holdfast.runtime.regex import regex

__all__ = ["respelled"]

_REMEMBER: Final = regex(r"\b(?:rem+e?m?e?be?r|rememer)\b", re.IGNORECASE)
"""Matches "remember" and its usual misspellings, such as "rember" and "remeber"."""


def respelled(text: str) -> str:
    """Return a text in which "remember" is spelled correctly."""
    return _REMEMBER.sub(lambda found: "Remember" if found[0][0].isupper() else "remember", text)
