"""Keep the sentences and clauses of a superseded statement that are still true.

After a move, the job in "I live in Lyon and work at Acme" is kept, and so is the code in "Lives in Lyon. Locker code 4411."
"""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.learning.changes.parts.rest import Chance, is_changed, rest_of
from holdfast.learning.changes.phrases import LANGUAGES, phrases
from holdfast.learning.changes.slot_clauses import SlotClause, clauses_of
from holdfast.learning.changes.slots import Slot, slots_of
from holdfast.learning.changes.supersede import retires
from holdfast.learning.changes.wording import spoken_words
from holdfast.runtime.regex import regex
from holdfast.text.dictation import HE
from holdfast.text.sentences import split_sentences
from holdfast.types import SAID_LATER, Memory, Put

_POINTS_BACK: Final = regex(
    rf"\b(?:it|its|it's|there|that|that's|this|{HE}|she|they|them|him|her|his|their|ahí|allí|allá|eso|esto|él|ella|ellos|ellas)\b",
    re.IGNORECASE,
)
"""Matches a pronoun that refers to the previous sentence, as in "Loves it there."

If the previous sentence is outdated, so is a sentence with such a pronoun.
"""
_SUBJECT: Final = regex(r"(?:I|We|The user|User|El usuario|La usuaria)(?= )")


def remainder(old: Memory | Put, put: Put, chance: Chance | None = None) -> list[Put]:
    """Return the parts of an old statement that are still true after a new statement, as a list of at most one Put.

    A Put is a memory to store. Sentences that the new statement does not change are kept whole, unless a pronoun in them
    refers to an outdated sentence before ("Loves it there."). Of other sentences, only the parts about unchanged attributes
    are kept. The list is empty if nothing is kept, or if the new statement changes nothing. ``chance`` estimates which
    clause has changed if the words do not show it.
    """
    language = old.language if old.language in LANGUAGES else put.language if put.language in LANGUAGES else "en"
    changes = slots_of(put.text, key=put.key, language=put.language)
    before, words, after = spoken_words(old.text)
    sentences = _with_questions([each for each in split_sentences(words) if not before or not each.endswith("?")])
    kept: list[str] = []
    any_ended = follows_ended = False
    for sentence in sentences:
        points_back = follows_ended and _POINTS_BACK.search(sentence) is not None
        changed = _changes(sentence, put, changes, language)
        if len(sentences) > 1 and not points_back and not changed:
            kept.append(sentence)
            follows_ended = False
            continue
        rest = rest_of(sentence, put.text, language, chance) if changed and not points_back else []
        if rest and rest != [sentence]:
            follows_ended = any_ended = True
            kept += rest
            continue
        clauses = clauses_of(sentence, phrases(language))
        staying = [clause for clause in clauses if _stays(clause, put, changes, language)]
        follows_ended = len(staying) < len(clauses)
        any_ended = any_ended or follows_ended
        kept += [_standing_alone(clause.text, words) for clause in staying]
    if before and kept:
        kept = [f"{before}{' '.join(kept)}{after}"]
    return still_true(old, kept, put) if any_ended else []


def _with_questions(sentences: Sequence[str]) -> list[str]:
    """Return sentences with each question joined to the sentence after it, which answers it."""
    joined: list[str] = []
    for sentence in sentences:
        if joined and joined[-1].endswith("?"):
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined


def still_true(old: Memory | Put, claims: Sequence[str], put: Put) -> list[Put]:
    """Return a list with one Put (a memory to store) whose text is the given claims of an old statement.

    The other fields are those of the old statement. The list is empty if there are no claims. The rest is
    shown together with the message of ``put``, the new statement, because it is not certain that the right part was cut.
    """
    if not claims:
        return []
    linked = {SAID_LATER: [[put.sources[-1], 0]]} if put.sources and "conversation" not in put.metadata else {}
    text = " ".join(claim if claim.endswith((".", "!", "?", '"', "»")) else f"{claim}." for claim in claims)
    return [
        Put(
            scope=old.scope,
            kind=old.kind,
            text=text.removesuffix(".") if len(claims) == 1 else text,
            key=old.key,
            topic=old.topic,
            importance=old.importance,
            tags=old.tags,
            metadata={**old.metadata, **linked},
            origin=old.origin,
            trust=old.trust,
            sources=old.sources,
            language=old.language,
            valid_from=old.valid_from,
            reason="the part of an older statement that still holds",
        )
    ]


def _changes(sentence: str, put: Put, changes: Sequence[Slot], language: str) -> bool:
    """Return True if the new statement (``put``) changes something that a sentence says.

    ``changes`` are the slots that the new statement fills.
    """
    ended = any(retires(slot, change) for slot in slots_of(sentence, language=language) for change in changes)
    return ended or is_changed(sentence, put.text, language)


def _stays(clause: SlotClause, put: Put, changes: Sequence[Slot], language: str) -> bool:
    """Return True if a clause of an old statement is still true after a new statement.

    The clause must state an attribute that the rules recognize, such as a home city; an activity or a denial is not enough.
    The new statement must not change the clause. ``put`` is the new statement, and ``changes`` are the slots that it fills.
    """
    slots = [slot for slot in slots_of(clause.text, language=language) if slot.attribute != "*"]
    known = any(slot.attribute != "does" for slot in slots)
    return known and not _changes(clause.text, put, changes, language)


def _standing_alone(clause: str, whole: str) -> str:
    """Return a clause as a sentence. A clause without a subject gets the subject of the whole text."""
    subject = _SUBJECT.match(whole)
    starts = _SUBJECT.match(clause) or clause.casefold().startswith(("my ", "our ", "mi ", "mis "))
    if subject is None or starts or clause == whole:
        return clause[:1].upper() + clause[1:]
    return f"{subject.group(0)} {clause}"
