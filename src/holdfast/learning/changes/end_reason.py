"""Decide by rules whether a new statement supersedes an old one, and why. Compound sentences are compared claim by claim."""

from typing import Final

from holdfast.learning.changes.changes_in_words import change_in_words
from holdfast.learning.changes.parts.claims import split_claims
from holdfast.learning.changes.slots import slots_of
from holdfast.learning.changes.supersede import correction_of, corrects, denies_another_time, retires
from holdfast.text.language import detect_language

_MAX_COMPOUND: Final = 200
"""Maximum number of characters of a sentence whose claims are compared one by one."""


def replaces(old: str, new: str, language: str | None = None) -> bool:
    """Return True if a new statement supersedes an old statement of the same person."""
    if end_reason(old, None, new, None, language) is not None:
        return True
    correction = correction_of(new, language)
    return correction is not None and corrects(old, correction)


def end_reason(old: str, old_key: str | None, new: str, new_key: str | None, language: str | None) -> tuple[str, bool] | None:
    """Return why the new statement supersedes the old statement, and whether that is certain. Return None if it does not."""
    if denies_another_time(old, new):
        return None
    before = slots_of(old, key=old_key, language=language)
    reasons = [
        (why, one.attribute == other.attribute or other.ended)
        for other in slots_of(new, key=new_key, language=language)
        for one in before
        if (why := retires(one, other)) is not None
    ]
    if reasons:
        return max(reasons, key=lambda reason: reason[1])
    why = change_in_words(old, new, language)
    if why is not None:
        return why, False
    claims = split_claims(old, language or detect_language(old)) if len(old) <= _MAX_COMPOUND else [old]
    found = (end_reason(claim, None, new, new_key, language) for claim in claims if len(claims) > 1)
    return next(filter(None, found), None)
