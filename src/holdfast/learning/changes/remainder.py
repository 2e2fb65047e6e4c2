"""Keep the clauses of a superseded statement that still hold.

After a move, the job in "I live in Lyon and work at Acme" is kept.
"""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.learning.changes.changes_in_words import change_in_words
from holdfast.learning.changes.phrases import LANGUAGES, phrases
from holdfast.learning.changes.slot_clauses import SlotClause, clauses_of
from holdfast.learning.changes.slots import Slot, slots_of
from holdfast.learning.changes.supersede import retires
from holdfast.types import Memory, Put

_SUBJECT: Final = re.compile(r"(?:I|We|The user|User|El usuario|La usuaria)(?= )")


def remainder(old: Memory | Put, put: Put) -> list[Put]:
    """Return a Put (a memory to store) for the clauses of an old statement that the new statement does not change.

    The Put is in a list, which is empty if there are no such clauses.
    """
    language = old.language if old.language in LANGUAGES else put.language if put.language in LANGUAGES else "en"
    clauses = clauses_of(old.text, phrases(language))
    changes = slots_of(put.text, key=put.key, language=put.language)
    kept = [
        clause for clause in clauses if _stays(clause, language, changes) and not change_in_words(clause.text, put.text, language)
    ]
    if not kept or len(kept) == len(clauses):
        return []
    return still_true(old, [_standing_alone(clause.text, old.text) for clause in kept])


def still_true(old: Memory | Put, claims: Sequence[str]) -> list[Put]:
    """Return a Put (a memory to store) for the claims of an old statement that still hold, in a list. Without claims, it is empty."""
    if not claims:
        return []
    text = " ".join(claim if claim.endswith((".", "!", "?")) else f"{claim}." for claim in claims)
    return [
        Put(
            scope=old.scope,
            kind=old.kind,
            text=text.removesuffix(".") if len(claims) == 1 else text,
            key=old.key,
            topic=old.topic,
            importance=old.importance,
            tags=old.tags,
            metadata=old.metadata,
            origin=old.origin,
            trust=old.trust,
            sources=old.sources,
            language=old.language,
            valid_from=old.valid_from,
            reason="the part of an older statement that still holds",
        )
    ]


def _stays(clause: SlotClause, language: str, changes: list[Slot]) -> bool:
    slots = [slot for slot in slots_of(clause.text, language=language) if slot.attribute != "*"]
    known = [slot for slot in slots if slot.attribute != "does"]
    return bool(known) and not any(retires(slot, change) for slot in known for change in changes)


def _standing_alone(clause: str, whole: str) -> str:
    """Return a clause as a sentence. A clause without a subject gets the subject of the whole text."""
    subject = _SUBJECT.match(whole)
    starts = _SUBJECT.match(clause) or clause.casefold().startswith(("my ", "our ", "mi ", "mis "))
    if subject is None or starts or clause == whole:
        return clause[:1].upper() + clause[1:]
    return f"{subject.group(0)} {clause}"
