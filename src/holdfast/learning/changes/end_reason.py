"""Decide by rules whether a new statement supersedes an old one, and why. Compound sentences are compared claim by claim.

Also decides whether a Put (a memory to store) may retire a memory at all.
"""

from typing import Final

from holdfast.learning.changes.changes_in_words import change_in_words
from holdfast.learning.changes.parts.claims import split_claims
from holdfast.learning.changes.slots import slots_of
from holdfast.learning.changes.supersede import correction_of, corrects, denies_another_time, retires
from holdfast.learning.changes.things.other_things import are_other_relatives, changes_another
from holdfast.text.language import detect_language
from holdfast.types import Memory, Put

_MAX_COMPOUND: Final = 200
"""Maximum number of characters of a sentence whose claims are compared one by one."""

_SINGLE_STATEMENTS: Final = frozenset({"fact", "event", "decision", "conclusion"})
"""Kinds whose memories contain one statement each, unlike summaries and profiles."""


def replaces(old: str, new: str, language: str | None = None) -> bool:
    """Return True if a new statement supersedes an old statement of the same person."""
    if end_reason(old, None, new, None, language) is not None:
        return True
    correction = correction_of(new, language)
    return correction is not None and corrects(old, correction)


def end_reason(old: str, old_key: str | None, new: str, new_key: str | None, language: str | None) -> tuple[str, bool] | None:
    """Return why the new statement supersedes the old statement, and whether that is certain. Return None if it does not.

    ``old_key`` and ``new_key`` are the keys of the memories that contain the statements, if they have keys.
    """
    if denies_another_time(old, new) or are_other_relatives(old, new) or changes_another(old, new):
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


def end_reason_for_memory(old: Memory, put: Put) -> tuple[str, bool] | None:
    """Return why a Put (a memory to store) supersedes a memory, and whether that is certain. Return None if it does not."""
    return end_reason(old.text, old.key, put.text, put.key, put.language or old.language)


def end_reason_for_put(earlier: Put, put: Put) -> tuple[str, bool] | None:
    """Return why a Put supersedes an earlier Put, and whether that is certain. Return None if it does not."""
    if earlier.valid_from and put.valid_from and put.valid_from < earlier.valid_from:
        return None
    return end_reason(earlier.text, earlier.key, put.text, put.key, put.language or earlier.language)


def is_outdated(put: Put, old: Memory) -> bool:
    """Return True if a known memory is newer than a Put (a memory to store) and supersedes it.

    The Put is then stored only as history.
    """
    if put.valid_from is None or put.valid_from >= old.valid_from or not comparable(old.kind, put.kind):
        return False
    return end_reason(put.text, put.key, old.text, old.key, put.language or old.language) is not None


def may_replace(put: Put, old: Memory) -> bool:
    """Return True if a Put (a memory to store) may supersede an existing memory.

    Their kinds must be comparable, and :func:`may_retire` must allow it. A replacement that a model proposes is checked, too.
    """
    return comparable(old.kind, put.kind) and may_retire(put, old, by_slot=True)


def may_retire(put: Put, old: Memory, *, by_slot: bool) -> bool:
    """Return True if a Put (a memory to store) may retire an existing memory.

    The memory must not be pinned, and must not be newer than the Put. If the memory was learned automatically, it must not be
    more trusted than the Put. If the user stored the memory explicitly, ``by_slot`` must be True. ``by_slot`` is True if the
    Put changes what the memory says, and False if the Put only repeats it. An explicitly stored memory may be more trusted
    than the Put. The writer then stores the Put as a proposal.
    """
    if old.pinned or (old.origin == "explicit" and not by_slot) or (put.trust < old.trust and old.origin == "auto"):
        return False
    return put.valid_from is None or put.valid_from >= old.valid_from


def comparable(old: str, new: str) -> bool:
    """Return True if memories of these two kinds can be about the same thing. For example, an event can change a fact."""
    return old == new or {old, new} <= _SINGLE_STATEMENTS
