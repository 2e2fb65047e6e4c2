"""Compare new facts with known facts: refresh a repeated fact, supersede a changed fact, and add the rest.

Nothing is written here. The input is Puts (memories to store). A Put that repeats a memory becomes a refresh of that memory.
A Put that supersedes memories lists them in ``replaces``. Any other Put is returned unchanged. In doubt, a Put is also
returned unchanged: a duplicate can be merged later, but a memory retired by mistake is lost to recall.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Literal

from holdfast.learning.changes.compare_claims import ClaimComparer, common_words, is_guess
from holdfast.learning.changes.end_reason import comparable, end_reason_for_memory, end_reason_for_put, is_outdated, may_retire
from holdfast.learning.changes.key_owner import key_of_owner
from holdfast.learning.changes.keys import canonical_key, same_key
from holdfast.learning.changes.parts.remainder import remainder, still_true
from holdfast.learning.changes.retired import Retired, certain_or_only, likelier, reason_of
from holdfast.learning.changes.sameness import (
    DocumentCalibration,
    adds_detail,
    adds_nothing,
    is_brief,
    is_fuller,
    is_near,
    same_but_for_wording,
    same_but_fuller,
    same_slots,
    same_statement,
    same_words,
)
from holdfast.learning.changes.supersede import (
    Correction,
    amended,
    correction_of,
    corrects,
)
from holdfast.learning.changes.things.other_things import have_other_owners
from holdfast.learning.changes.wording import meaning, spoken_words
from holdfast.protocols import SentenceReader
from holdfast.types import Memory, Put

__all__ = ["Neighbor", "ReconcileRules", "reconcile"]

_MIN_REPEAT_COSINE: Final = 0.9
"""Minimum cosine of two statements for the sentence reader to decide whether one repeats the other.

With a lower cosine, a new fact could be lost as a repetition.
"""
_MIN_PLAUSIBLE: Final = 0.1
"""Minimum probability that the sentence reader must give to a change found by rules. A less probable change is ignored.

Clear moves are an exception (see ``_is_clear_move``).
"""
_MIN_NAMED_WORDS: Final = 2
"""Two statements name the same thing if they have at least this many words in common, such as "meeting" and "cooperative"."""
_CORRECTION_WINDOW: Final = timedelta(hours=2)
"""Maximum age of a statement that a correction can refer to, if the correction does not name the old value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
    """An existing memory of the same scope. It is possibly about the same thing as a new memory."""

    memory: Memory
    cosine: float | None = None
    close: bool = True
    """True if the memory is one of the most similar memories, which the sentence reader compares with the new statement."""
    nearest: bool = False
    """True if the memory is the best match for the new statement: the nearest by meaning, or the one that shares the most words."""
    said: str = ""
    """The user's sentence that the memory comes from. It is known only for the nearest memory and otherwise empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileRules:
    """A preset's settings for comparing new facts with known facts."""

    supersede: bool = True
    same_distance: float | None = 0.15
    """Maximum cosine distance at which two facts can count as the same. None disables the check.

    The embedder's calibration converts this distance to a cosine (see ``DocumentCalibration``).
    """
    merge_same: Literal["refresh", "replace"] = "refresh"
    """What to do with a fact that repeats a known one. ``refresh`` keeps the old memory, ``replace`` stores the new one instead."""
    normalize_keys: bool = False


def reconcile(
    puts: Sequence[Put],
    related: Sequence[Sequence[Neighbor]],
    rules: ReconcileRules,
    *,
    calibration: DocumentCalibration | None,
    reader: SentenceReader | None = None,
    said: Mapping[str, str] | None = None,
) -> list[Put]:
    """Decide how new Puts (memories to store) relate to known memories, and return the resulting Puts, in order.

    ``related`` contains, for each Put, the known memories that are possibly about the same thing. If the rules find no change,
    the sentence reader compares the claims. Without a reader, only the rules decide. ``said`` maps message ids to texts, so
    that the reader can also compare the whole message that a Put comes from.
    """
    stated = frozenset().union(*(meaning(put.text, put.language) for put in puts))
    batch = _Batch(rules=rules, calibration=calibration, reader=reader, said=said or {}, stated=stated)
    for put, found in zip(puts, related, strict=True):
        live = [neighbor for neighbor in found if neighbor.memory.status == "live" and neighbor.memory.scope == put.scope]
        batch.add(put, live)
    return batch.puts


class _Batch:
    """The Puts (memories to store) that have been decided so far, and the ids of the memories that they retire."""

    def __init__(
        self,
        *,
        rules: ReconcileRules,
        calibration: DocumentCalibration | None,
        reader: SentenceReader | None,
        said: Mapping[str, str],
        stated: frozenset[str],
    ) -> None:
        self.puts: list[Put] = []
        self._stated = stated
        self._rules = rules
        self._calibration = calibration
        self._reader = reader
        self._comparer = None if reader is None else ClaimComparer(reader)
        self._chance = None if self._comparer is None else self._comparer.chance
        self._said = said
        self._retired: set[str] = set()

    def add(self, put: Put, found: Sequence[Neighbor]) -> None:
        """Decide how to store one new Put (a memory to store), and add the result to the batch.

        ``found`` are the known memories that are possibly about the same thing.
        """
        if put.id is not None:
            self.puts.append(put)
            return
        found = [neighbor for neighbor in found if neighbor.memory.id not in self._retired]
        if self._rules.normalize_keys and put.key is not None:
            key = key_of_owner(put.key, put.text, put.language)
            put = replace(put, key=canonical_key(key, self._known_keys(put, found)))
        correction = correction_of(put.text, put.language) if self._rules.supersede and not _is_summary(put) else None
        if correction is not None:
            put = self._corrected(put, correction, found)
        if not put.replaces:
            same = next((neighbor for neighbor in found if self._is_same(neighbor, put)), None)
            if same is not None and (self._rules.merge_same == "refresh" or not may_retire(put, same.memory, by_slot=False)):
                self.puts.append(_refreshed(same.memory, put))
                return
            put = self._superseding(put, found, same)
        elif correction is None:  # the model named the memories
            self.puts += self._unstated_rest(put, found)
        self._append(put)

    def _unstated_rest(self, put: Put, found: Sequence[Neighbor]) -> list[Put]:
        """Return those parts of the replaced memories that are still true, as new Puts (memories to store).

        The replaced memories are those of the known memories in ``found`` whose ids a model listed in ``put.replaces``.
        Parts that another new Put already states are left out.
        """
        replaced = [neighbor.memory for neighbor in found if neighbor.memory.id in put.replaces]
        rest = [each for memory in replaced for each in remainder(memory, put, self._chance)]
        return [each for each in rest if not meaning(each.text, each.language) <= self._stated]

    def _append(self, put: Put) -> None:
        """Add a Put (a memory to store) to the batch, and drop those earlier Puts of the batch that the new Put supersedes.

        If a part of a dropped Put is still true, it is added as a separate Put.

        If an earlier Put of the same scope, kind and key says the same, the new Put is not added, but its sources are added
        to the earlier Put. This does not apply if the earlier Put has an id, or if the new Put replaces stored memories.
        """
        for at, earlier in enumerate(self.puts):
            if earlier.id is not None or (earlier.scope, earlier.kind) != (put.scope, put.kind):
                continue
            if not put.replaces and same_key(earlier.key, put.key) and same_statement(earlier, put):
                sources = tuple(dict.fromkeys((*earlier.sources, *put.sources)))
                self.puts[at] = replace(earlier, sources=sources)
                return
        for earlier in self._ended_in_batch(put):
            self.puts.remove(earlier)
            self.puts += remainder(earlier, put, self._chance)
            put = _merge_into(earlier, put)
        self._retired.update(put.replaces)
        self.puts.append(put)

    def _ended_in_batch(self, put: Put) -> list[Put]:
        """Return those earlier Puts (memories to store) of the batch that the new Put certainly supersedes.

        If no Put is certainly superseded, and exactly one is possibly superseded, return that Put.
        """
        if not self._rules.supersede:
            return []
        ended = [
            (earlier, why[1])
            for earlier in self.puts
            if earlier.id is None
            and (earlier.scope, earlier.kind) == (put.scope, put.kind)
            and put.trust >= earlier.trust
            and (why := end_reason_for_put(earlier, put)) is not None
        ]
        certain = [earlier for earlier, is_certain in ended if is_certain]
        return certain or ([earlier for earlier, _ in ended] if len(ended) == 1 else [])

    def _known_keys(self, put: Put, found: Sequence[Neighbor]) -> list[str]:
        keys = [neighbor.memory.key for neighbor in found] + [other.key for other in self.puts if other.scope == put.scope]
        return [key for key in dict.fromkeys(keys) if key is not None]

    def _is_same(self, neighbor: Neighbor, put: Put) -> bool:
        old = neighbor.memory
        if old.kind != put.kind or not (same_key(old.key, put.key) or None in {old.key, put.key}):
            return False
        language = put.language or old.language
        if same_words(old.text, put.text, language):
            return True
        near = is_near(neighbor.cosine, self._rules.same_distance, self._calibration)
        alike = same_but_for_wording if self._rules.merge_same == "replace" else adds_nothing
        if near and alike(old.text, put.text, language):
            return end_reason_for_memory(old, put) is None
        comparer = self._comparer_for(neighbor, put)
        if comparer is not None and _is_similar(neighbor) and comparer.repeats(old.text, put.text):
            return not adds_detail(old.text, put.text)
        understood = same_slots(old.text, put.text, old_key=old.key, new_key=put.key, language=language)
        return understood and not is_fuller(old, put) and is_brief(put.text)

    def _superseding(self, put: Put, found: Sequence[Neighbor], same: Neighbor | None) -> Put:
        """Return the Put (a memory to store) with ``replaces`` set to the memories that the Put supersedes.

        ``found`` are the known memories that are possibly about the same thing. ``same`` is the memory that the Put repeats,
        if any. The Put replaces that memory, too. If nothing is superseded, the Put is returned unchanged.

        Clauses of the replaced memories that are still true are added to the batch as separate Puts. They are not added if
        the Put is doubtful and one of the memories was not learned automatically. The Put then becomes a proposal, and
        nothing is retired yet.
        """
        ended = certain_or_only(list(self._ended(put, found))) if self._rules.supersede and not _is_summary(put) else []
        if self._rules.supersede and not any(each.certain for each in ended):
            ended = likelier(ended, certain_or_only(list(self._ended_by_reader(put, found))))
        if same is not None and all(each.memory.id != same.memory.id for each in ended):
            ended.append(Retired(memory=same.memory, why="stated again", certain=True))
        if not ended:
            return put
        if put.doubtful and any(each.memory.origin != "auto" for each in ended):
            return replace(put, replaces=tuple(each.memory.id for each in ended))  # becomes a proposal; nothing is retired yet
        for each in ended:
            self.puts += (
                remainder(each.memory, put, self._chance) if each.kept is None else still_true(each.memory, each.kept, put)
            )
        reason = "; ".join(reason_of(each, put) for each in ended)
        return replace(put, replaces=tuple(each.memory.id for each in ended), reason=reason)

    def _ended(self, put: Put, found: Sequence[Neighbor]) -> Iterator[Retired]:
        for neighbor in found:
            old = neighbor.memory
            if is_outdated(put, old):
                yield Retired(memory=old, why="older than a known memory", certain=True)
                continue
            if not comparable(old.kind, put.kind) or not may_retire(put, old, by_slot=True):
                continue
            why = end_reason_for_memory(old, put)
            if why is not None and (self._is_plausible(neighbor, put) or self._is_clear_move(why, old, put)):
                yield Retired(memory=old, why=why[0], certain=why[1])
            elif old.kind == put.kind and same_but_fuller(old, put):
                yield Retired(memory=old, why="stated again, with more detail", certain=True)

    def _is_plausible(self, neighbor: Neighbor, put: Put) -> bool:
        """Return False if the sentence reader is almost sure that a memory is still valid after a Put (a memory to store).

        Otherwise, and without a sentence reader, return True. This check corrects the rules, which can be wrong about the person
        that a statement is about: "she retired two years ago" does not end the user's job.
        """
        if self._chance is None:
            return True
        olds = [text for text in (spoken_words(neighbor.memory.text)[1], neighbor.said) if text]
        news = [text for text in (spoken_words(put.text)[1], self._message_of(put)) if text]
        return any(self._chance(old, new) >= _MIN_PLAUSIBLE for old in olds for new in news)

    def _is_clear_move(self, why: tuple[str, bool], old: Memory, put: Put) -> bool:
        """Return True if the rules are certain that something moved, and it is clear who or what moved.

        This is clear if the new statement is about the user, or if both statements name the same thing. ``why`` is the result of
        the rules: the reason, and whether it is certain. Such a move counts even if :meth:`_is_plausible` returns False. The
        sentence reader may not know the name of a place, or may mistake a meeting on another day for a second meeting.
        """
        if self._reader is None or why != ("moved", True):
            return False
        named = common_words(old.text, put.text) >= _MIN_NAMED_WORDS and not have_other_owners(old.text, put.text)
        return named or self._reader.read(put.text).owner == "user"

    def _ended_by_reader(self, put: Put, found: Sequence[Neighbor]) -> Iterator[Retired]:
        """Yield the memories that a Put (a memory to store) supersedes according to the sentence reader."""
        for neighbor in found:
            old, comparer = neighbor.memory, self._comparer_for(neighbor, put)
            if comparer is None or not may_retire(put, old, by_slot=True):
                continue
            if self._says_more(neighbor, put):
                yield Retired(memory=old, why="stated again, with more detail", certain=True, kept=())
                continue
            whole = self._message_of(put)
            change = comparer.change(old.text, put.text, nearest=neighbor.nearest, said=neighbor.said, whole=whole)
            if change is not None and not is_guess(change, old, put.text, whole):
                cosine = neighbor.cosine or 0.0
                yield Retired(
                    memory=old, why="changed", certain=change.certain, kept=change.kept, cosine=cosine, chance=change.chance
                )

    def _message_of(self, put: Put) -> str:
        """Return the text of the message that a Put (a memory to store) comes from.

        Return an empty text if the Put summarizes a conversation.
        """
        return self._said.get(put.sources[-1], "") if put.sources and not _is_summary(put) else ""

    def _says_more(self, neighbor: Neighbor, put: Put) -> bool:
        """Return True if a Put (a memory to store) repeats a memory of the same kind and adds details.

        The sentence reader decides whether the Put repeats the memory.
        """
        old = neighbor.memory
        comparer = self._comparer_for(neighbor, put)
        if comparer is None or old.kind != put.kind or old.origin == "explicit":
            return False
        fuller = adds_detail(old.text, put.text) and not adds_detail(put.text, old.text)
        return fuller and _is_similar(neighbor) and comparer.repeats(old.text, put.text)

    def _comparer_for(self, neighbor: Neighbor, put: Put) -> ClaimComparer | None:
        """Return the comparer for a memory and a Put (a memory to store).

        Return None if the two are too dissimilar, or if their kinds cannot be compared.
        """
        return self._comparer if neighbor.close and comparable(neighbor.memory.kind, put.kind) else None

    def _corrected(self, put: Put, correction: Correction, found: Sequence[Neighbor]) -> Put:
        """Return a Put (a memory to store) whose text is a known statement with the correction applied.

        The known statement is an earlier Put of the batch, or one of the known memories in ``found``. If it is an earlier
        Put, that Put is removed from the batch. If it is a known memory, the returned Put replaces the memory.

        Return ``put`` unchanged if the correction matches no known statement, or if it must not replace the known memory.
        """
        for at, earlier in reversed(list(enumerate(self.puts))):
            if earlier.id is None and earlier.scope == put.scope and corrects(earlier.text, correction):
                del self.puts[at]
                sources = tuple(dict.fromkeys((*earlier.sources, *put.sources)))
                text = amended(earlier.text, correction)
                return replace(earlier, text=text, sources=sources, valid_from=put.valid_from, reason="corrected")
        for old in sorted((neighbor.memory for neighbor in found), key=lambda memory: memory.valid_from, reverse=True):
            recent = put.valid_from is None or put.valid_from - old.valid_from <= _CORRECTION_WINDOW
            certain = correction.old is not None or (recent and old.origin != "explicit")
            if certain and corrects(old.text, correction) and may_retire(put, old, by_slot=True):
                text = amended(old.text, correction)
                return replace(put, text=text, kind=old.kind, key=old.key, replaces=(old.id,), reason="corrected")
        return put


def _is_summary(put: Put) -> bool:
    """Return True if a Put (a memory to store) summarizes a conversation.

    The rules cannot compare a summary, because they expect a single statement. The sentence reader compares it claim by
    claim.
    """
    return "conversation" in put.metadata


def _is_similar(neighbor: Neighbor) -> bool:
    """Return True if a known memory and the Put (a memory to store) that it is compared with have similar vectors.

    If they do not, the sentence reader is not asked whether the Put repeats the memory.
    """
    return neighbor.cosine is not None and neighbor.cosine >= _MIN_REPEAT_COSINE


def _refreshed(old: Memory, put: Put) -> Put:
    """Return a Put (a memory to store) that the writer stores as a refresh of the old memory."""
    importance = put.importance if put.importance is not None and put.importance > old.importance else None
    return Put(
        scope=old.scope,
        kind=old.kind,
        text=old.text,
        key=old.key,
        importance=importance,
        origin=old.origin,
        trust=old.trust,
        sources=put.sources,
        language=old.language,
        valid_from=old.valid_from,
        expires_at=put.expires_at,
        reason="stated again",
    )


def _merge_into(earlier: Put, put: Put) -> Put:
    """Return ``put``, changed so that it also replaces the memories that ``earlier`` would have replaced.

    Both arguments are Puts (memories to store) of the same batch, and ``put`` supersedes ``earlier``. ``earlier`` was
    never stored, so it need not be retired.
    """
    return replace(put, replaces=tuple(dict.fromkeys((*earlier.replaces, *put.replaces))), reason="changed in the same batch")
