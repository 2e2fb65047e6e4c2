"""Decide whether two statements mean the same, by the cosine of their vectors and by the words in which they differ.

A cosine alone cannot decide. It was measured on 60 pairs with one meaning, 60 look-alikes (one word of the fact
differs) and 60 unrelated pairs. Half of the pairs are English and half Spanish; they are in
``tests/learning/changes/statement_pairs.toml`` and were embedded as documents. The table lists the 10th, 50th and 90th
percentile of the cosine:

====================  =====================  =====================  =====================
cosine: 10%/50%/90%   one meaning            look-alikes            unrelated
====================  =====================  =====================  =====================
talk-embed-s          0.95 / 0.97 / 0.99     0.87 / 0.94 / 0.98     0.70 / 0.74 / 0.78
arctic-embed-s        0.87 / 0.94 / 0.98     0.83 / 0.92 / 0.96     0.66 / 0.72 / 0.77
all-minilm-l6-v2      0.69 / 0.83 / 0.93     0.54 / 0.75 / 0.89     0.01 / 0.20 / 0.48
====================  =====================  =====================  =====================

The thresholds are 0.95 (talk), 0.90 (arctic) and 0.75 (minilm). Above the threshold are 47 (arctic) and 46 (minilm) of the 60
pairs with one meaning, 35 and 30 of the 60 look-alikes, and no unrelated pair. So the cosine rules out unrelated pairs, and
the words must separate pairs with one meaning from look-alikes. With both checks, 25 (arctic) and 26 (minilm) of the 60 pairs
with one meaning are merged, and no look-alike is merged. The table of synonyms was tuned on these pairs; expect fewer merges
on other data.
"""

from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.slots import Slot, slots_of
from holdfast.learning.changes.supersede import same_subject, same_value, says_more
from holdfast.learning.changes.things.named_things import named_thing
from holdfast.learning.changes.wording import change_words, meaning, names, negated, numbers
from holdfast.text.clean import fold
from holdfast.types import Memory, Put

_MAX_BRIEF_WORDS: Final = 8
"""Maximum number of words of a brief statement."""
SOURCE_DISTANCE: Final = 0.15
"""Cosine distance at which the designs treat two facts as one. Each calibration states which cosine equals this distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCalibration:
    """The minimum cosine at which two documents count as having the same meaning, measured for one embedder."""

    near: float
    """Cosine of this embedder that corresponds to a distance of 0.15 (``SOURCE_DISTANCE``).

    Three of four pairs with the same meaning have a higher cosine; no unrelated pair has.
    """

    def nearest(self, distance: float) -> float:
        """Convert a maximum distance of two documents to a minimum cosine for this embedder.

        Two documents are at most ``distance`` apart if their cosine is at least the result. The conversion is linear:
        distance 0 becomes cosine 1, and the distance ``SOURCE_DISTANCE`` becomes the cosine ``near``.
        """
        return 1.0 - distance * (1.0 - self.near) / SOURCE_DISTANCE


CALIBRATIONS: Final = {
    "talk-embed-s": DocumentCalibration(near=0.925),
    "arctic-embed-s": DocumentCalibration(near=0.90),
    "all-minilm-l6-v2": DocumentCalibration(near=0.75),
}
"""Calibrations by embedder. For an embedder without one, the minimum cosine is 1 minus the distance, here 0.85."""


def calibration_for(embedder: str) -> DocumentCalibration | None:
    """Return the calibration of the embedder with this name, or None if no calibration was measured for this embedder."""
    return CALIBRATIONS.get(embedder)


def is_near(cosine: float | None, distance: float | None, calibration: DocumentCalibration | None) -> bool:
    """Return True if two documents with this cosine are similar enough: at most ``distance`` apart.

    Without a calibration, the distance is 1 minus the cosine. Return False if the cosine or the distance is None.
    """
    if cosine is None or distance is None:
        return False
    return cosine >= (calibration.nearest(distance) if calibration else 1.0 - distance)


def same_words(old: str, new: str, language: str | None = None) -> bool:
    """Return True if two statements have the same content words in the same order, ignoring case.

    Also return True if each statement only says what something is called, and both are about the same thing: "has a cat
    named Michi" and "their cat is called Michi".
    """
    if (thing := named_thing(old, language)) is not None and thing == named_thing(new, language):
        return True
    return fold(old) == fold(new) or (_agree(old, new) and _in_order(old, language) == _in_order(new, language))


def adds_nothing(old: str, new: str, language: str | None = None) -> bool:
    """Return True if the old statement already contains everything that the new statement says."""
    return _agree(old, new) and not _beyond(old, new, language)


def same_but_for_wording(old: str, new: str, language: str | None = None) -> bool:
    """Return True if two statements have the same content and differ only in wording."""
    return _agree(old, new) and not _beyond(old, new, language) and not _beyond(new, old, language)


def adds_detail(old: str, new: str) -> bool:
    """Return True if the new statement contains a number or a name that the old statement does not contain."""
    return bool(numbers(new) - numbers(old)) or bool(set(names(new)) - _words(old))


def same_slots(old: str, new: str, *, old_key: str | None, new_key: str | None, language: str | None) -> bool:
    """Return True if both statements give the same values to the same attributes, with the same subjects and tenses.

    ``old_key`` and ``new_key`` are the memory keys of the statements. A key names the attribute of a statement that is only a
    value. Return False if a statement has no known attribute.
    """
    before = _known(slots_of(old, key=old_key, language=language))
    after = _known(slots_of(new, key=new_key, language=language))
    return bool(before and after) and _covered(after, before) and _covered(before, after)


def _in_order(text: str, language: str | None) -> list[str]:
    return [word for each in text.split() for word in meaning(each, language)]


def _known(slots: list[Slot]) -> list[Slot]:
    return [slot for slot in slots if slot.attribute not in {"does", "*"}]


def _covered(slots: list[Slot], others: list[Slot]) -> bool:
    return all(
        any(
            slot.attribute == other.attribute
            and same_subject(slot, other)
            and same_value(slot, other)
            and (slot.ended, slot.past) == (other.ended, other.past)
            for other in others
        )
        for slot in slots
    )


def _agree(old: str, new: str) -> bool:
    """Return True if both statements have the same numbers, negations and names, and the same words for person and tense."""
    marks = (numbers, negated, change_words)
    return all(mark(old) == mark(new) for mark in marks) and _same_names(old, new)


def _same_names(old: str, new: str) -> bool:
    """Return True if both statements have the same names in the same order.

    "Ana works for Eva" and "Eva works for Ana" have a different order.
    """
    before, after = names(old), names(new)
    shared = set(before) & set(after)
    in_order = [name for name in before if name in shared] == [name for name in after if name in shared]
    return in_order and not set(after) - _words(old) and not set(before) - _words(new)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(word) for word in text.split())


def _beyond(old: str, new: str, language: str | None) -> frozenset[str]:
    """Return the content stems of the new statement that have no related stem in the old statement."""
    before = meaning(old, language)
    return frozenset(word for word in meaning(new, language) - before if not any(_related(word, other) for other in before))


def _related(one: str, other: str) -> bool:
    """Return True if two stems belong to one word family, such as allerg(ic) and allergi(es), or employ and employe(r)."""
    shorter = min(len(one), len(other))
    return shorter >= 4 and one[:4] == other[:4] and one[: shorter - 1] == other[: shorter - 1]


def same_but_fuller(old: Memory, put: Put) -> bool:
    """Return True if ``put`` says the same as the brief memory ``old``, but with a more detailed value.

    For example, the value in ``old`` is "Portland", and the value in ``put`` is "Portland, Oregon".
    """
    language = put.language or old.language
    same = same_slots(old.text, put.text, old_key=old.key, new_key=put.key, language=language)
    return same and is_fuller(old, put) and is_brief(old.text)


def is_fuller(old: Memory, put: Put) -> bool:
    """Return True if ``put`` has a more detailed value than the memory ``old``: "Portland, Oregon" instead of "Portland"."""
    language = put.language or old.language
    return any(
        one.attribute == other.attribute and says_more(one, other)
        for one in slots_of(old.text, key=old.key, language=language)
        for other in slots_of(put.text, key=put.key, language=language)
    )


def is_brief(text: str) -> bool:
    """Return True if a statement has at most ``_MAX_BRIEF_WORDS`` words. Such a statement contains little besides its slots."""
    return len(text.split()) <= _MAX_BRIEF_WORDS


def same_statement(earlier: Put, put: Put) -> bool:
    """Return True if two memories to store have equal texts or the same words (see :func:`same_words`)."""
    return fold(earlier.text) == fold(put.text) or same_words(earlier.text, put.text, put.language or earlier.language)
