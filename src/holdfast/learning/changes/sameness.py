"""Whether two statements say the same, by how near they lie and by the words in which they differ.

A cosine alone cannot tell. Measured on 60 pairs of one meaning, 60 look-alikes (one word of the fact differs) and 60
unrelated pairs, English and Spanish halves, in ``tests/learning/changes/statement_pairs.toml``, embedded as documents:

====================  =====================  =====================  =====================
cosine: 10%/50%/90%   one meaning            look-alikes            unrelated
====================  =====================  =====================  =====================
arctic-embed-s        0.87 / 0.94 / 0.98     0.83 / 0.92 / 0.96     0.66 / 0.72 / 0.77
all-minilm-l6-v2      0.69 / 0.83 / 0.93     0.54 / 0.75 / 0.89     0.01 / 0.20 / 0.48
====================  =====================  =====================  =====================

At 0.90 (arctic) and 0.75 (minilm) 47 and 46 pairs of one meaning are near, 35 and 30 look-alikes, no unrelated one.
So nearness rules out the unrelated, and the words decide between one meaning and a look-alike: with both, 25 and 26 of
the 60 are merged and no look-alike. (The table of synonyms was filled with these pairs in view; expect fewer elsewhere.)
"""

from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.slots import Slot, slots_of
from holdfast.learning.changes.supersede import same_subject, same_value
from holdfast.learning.changes.wording import change_words, meaning, names, negated, numbers
from holdfast.text.clean import fold

SOURCE_DISTANCE: Final = 0.15
"""The distance at which the sources of Holdfast's presets call two facts one; it is the unit of a calibration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCalibration:
    """How near two documents of one meaning lie under an embedder."""

    near: float
    """The cosine that stands for a distance of 0.15: three of four pairs with one meaning lie nearer, no unrelated one does."""

    def nearest(self, distance: float) -> float:
        """Return the cosine from which two documents lie within a distance on the sources' scale."""
        return 1.0 - distance * (1.0 - self.near) / SOURCE_DISTANCE


CALIBRATIONS: Final = {
    "arctic-embed-s": DocumentCalibration(near=0.90),
    "all-minilm-l6-v2": DocumentCalibration(near=0.75),
}
"""By embedder. One that is not here is taken at its word: a distance of 0.15 is a cosine of 0.85."""


def calibration_for(embedder: str) -> DocumentCalibration | None:
    """Return the measured calibration of an embedder, or None when it was not measured."""
    return CALIBRATIONS.get(embedder)


def is_near(cosine: float | None, distance: float | None, calibration: DocumentCalibration | None) -> bool:
    """Tell whether a cosine lies within a distance; with no cosine or no distance nothing is near."""
    if cosine is None or distance is None:
        return False
    return cosine >= (calibration.nearest(distance) if calibration else 1.0 - distance)


def same_words(old: str, new: str, language: str | None = None) -> bool:
    """Tell whether two statements use the same words in the same order, but for case and words that carry nothing."""
    return fold(old) == fold(new) or (_agree(old, new) and _in_order(old, language) == _in_order(new, language))


def adds_nothing(old: str, new: str, language: str | None = None) -> bool:
    """Tell whether all that the new statement says is in the old one already."""
    return _agree(old, new) and not _beyond(old, new, language)


def same_but_for_wording(old: str, new: str, language: str | None = None) -> bool:
    """Tell whether neither of two statements names anything that the other does not."""
    return _agree(old, new) and not _beyond(old, new, language) and not _beyond(new, old, language)


def same_slots(old: str, new: str, *, old_key: str | None, new_key: str | None, language: str | None) -> bool:
    """Tell whether both were understood and fill the same slots with the same values."""
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
    """Tell whether numbers, denials, persons, tenses and names are the same in both: where they differ, so do the facts."""
    marks = (numbers, negated, change_words)
    return all(mark(old) == mark(new) for mark in marks) and _same_names(old, new)


def _same_names(old: str, new: str) -> bool:
    """Compare the names and, as "Ana works for Eva" can be turned round, their order."""
    before, after = names(old), names(new)
    shared = set(before) & set(after)
    in_order = [name for name in before if name in shared] == [name for name in after if name in shared]
    return in_order and not set(after) - _words(old) and not set(before) - _words(new)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(word) for word in text.split())


def _beyond(old: str, new: str, language: str | None) -> frozenset[str]:
    """Return the meaning words of the new statement that the old one has in no form."""
    before = meaning(old, language)
    return frozenset(word for word in meaning(new, language) - before if not any(_related(word, other) for other in before))


def _related(one: str, other: str) -> bool:
    """Tell whether two stems are of one family: allerg(ic) and allergi(es), employ and employe(r)."""
    shorter = min(len(one), len(other))
    return shorter >= 4 and one[:4] == other[:4] and one[: shorter - 1] == other[: shorter - 1]
