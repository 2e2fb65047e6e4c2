"""Changes told in words that fill no slot: what was given up, put right, switched, or has another value.

They rest on fewer signs than two fillings of one slot, so they are never certain: among several old statements that
one of them could mean, none is retired.
"""

from typing import Final

from holdfast.learning.changes.corrections import is_corrected, is_given_up
from holdfast.learning.changes.endings import ends
from holdfast.learning.changes.new_values import gets_another_value
from holdfast.learning.changes.reply_styles import wants_another_style
from holdfast.learning.changes.switches import switches

_MAX_CHARACTERS: Final = 300
"""A text longer than this, in characters, is no one statement whose words could be compared."""


def change_in_words(old: str, new: str, language: str | None = None) -> str | None:
    """Return why a new statement ends an old one by its words ("ended", "corrected", "changed"), or None."""
    if max(len(old), len(new)) > _MAX_CHARACTERS:
        return None
    if ends(old, new, language) or is_given_up(old, new, language):
        return "ended"
    if is_corrected(old, new, language):
        return "corrected"
    changed = gets_another_value(old, new, language) or switches(old, new, language) or wants_another_style(old, new)
    return "changed" if changed else None
