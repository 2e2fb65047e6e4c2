"""Detect by words that a new statement changes a known fact: endings, corrections, switches and new values.

The facts here fill no slot (a known attribute, such as a home city), so only the words show that two statements are about
the same thing. Therefore a change found here never counts as certain. If a new statement could refer to several old
statements, no old statement is retired.
"""

from typing import Final

from holdfast.learning.changes.corrections import is_corrected, is_given_up
from holdfast.learning.changes.endings import ends
from holdfast.learning.changes.new_values import gets_another_value
from holdfast.learning.changes.reply_styles import wants_another_style
from holdfast.learning.changes.switches import switches
from holdfast.learning.changes.wording import spoken_words
from holdfast.text.sentences import split_sentences

_MAX_CHARACTERS: Final = 300
"""Maximum length of a text in characters. A longer text contains more than one statement and is not compared."""

_MAX_SENTENCES: Final = 2
"""Maximum number of sentences of a new statement. It is two, because an answer can be stored with its question.

A longer text is a summary and is not compared.
"""


def change_in_words(old: str, new: str, language: str | None = None) -> str | None:
    """Return why a new statement supersedes an old statement ("ended", "corrected" or "changed"); None if it does not."""
    if max(len(old), len(new)) > _MAX_CHARACTERS or len(split_sentences(spoken_words(new)[1])) > _MAX_SENTENCES:
        return None
    if ends(old, new, language) or is_given_up(old, new, language):
        return "ended"
    if is_corrected(old, new, language):
        return "corrected"
    changed = gets_another_value(old, new, language) or switches(old, new, language) or wants_another_style(old, new)
    return "changed" if changed else None
