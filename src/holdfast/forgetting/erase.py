"""Erasure: remove rows, derived rows, full text, vectors, queue entries, caches, and the bytes on disk."""

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from holdfast.errors import NotFound, StoreError, StoreFull
from holdfast.forgetting import records
from holdfast.forgetting.needles import MIN_BYTES, make_needles
from holdfast.forgetting.rebuild import ReadAgain, clear_restated, rebuild
from holdfast.forgetting.records import Registry, new_receipt_id
from holdfast.forgetting.scrub import found_in_files, mark_erased, scrub
from holdfast.forgetting.targets import (
    MEMORIES_OF_APP,
    ErasureTargets,
    find_targets,
    follow_sources,
    messages_to_hide,
    owner_of,
    surviving_messages,
)
from holdfast.learning.capture import Extractor
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, MessageFilter, SentenceReader, Store, Transaction
from holdfast.runtime.priority import give_way
from holdfast.types import Author, Receipt, Scope
from holdfast.write import Writer

log = logging.getLogger("holdfast")
_STEP = 16
"""Number of rows that one transaction removes while the disk is full. If the disk has no room even for these, fewer are removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasing:
    """Options of one erasure."""

    now: datetime
    scope: Scope | None = None
    """Scope of the data to erase. Required if the target is a session, because a session id is unique only within its scope."""
    check: Callable[[Transaction], None] | None = None
    """Function that raises ``NotFound`` if the target no longer exists. It is called in the transaction that removes the target."""
    reader: SentenceReader | None = None
    """Sentence reader with which memories are extracted again from the remaining messages. None to use rules instead."""
    rewrite: bool = True
    """If True, rewrite the store's files after the erasure, then scan them.

    If False, only overwrite the removed bytes in place. This is faster, but the receipt is then not verified.
    """
    files: Callable[[], Sequence[Path]] = tuple
    """Function that removes erased data from files outside the store, such as topic pages. It returns the files to scan."""
    actor: str = "user"
    """Name of the person or program that erases, for the audit trail."""


def erase(store: Store, preset: Preset, target: Mapping[str, str], how: Erasing) -> Receipt:
    """Erase the data that ``target`` names, with everything derived from it. Then verify that the data is gone.

    ``target`` is, for example, ``{"memory": id}``, ``{"session": id}`` or ``{"user": name}``. ``how`` has the options of
    the erasure. The same data is also erased in known copies of the store. If ``how.rewrite`` is False, the copies are not
    changed, and the receipt is not verified.
    """
    return erase_and_scan(store, preset, target, how)[0]


def erase_and_scan(store: Store, preset: Preset, target: Mapping[str, str], how: Erasing) -> tuple[Receipt, list[bytes]]:
    """Erase as :func:`erase` does. Return the receipt and the needles, which are byte strings from the erased texts.

    If the receipt is pending, a later scan searches the files for the needles to complete it.
    """
    begun = _begin(store, preset, target, how)
    give_way()
    scrubbed = scrub(store, begun.needles, rewrite=how.rewrite, files=how.files())
    give_way()
    return _finish(store, preset, begun, *scrubbed), begun.needles


def erase_each(
    store: Store, preset: Preset, targets: Sequence[tuple[Mapping[str, str], Erasing]]
) -> list[tuple[Receipt, list[bytes]]]:
    """Erase several targets, each in its own transaction and with its own receipt, but overwrite and scan the files only once.

    A target that was already erased together with an earlier target is skipped. Files outside the store, such as topic pages,
    are also updated only once, by calling ``Erasing.files`` of the first target.
    """
    begun: list[_Begun] = []
    for target, how in targets:
        with suppress(NotFound):
            begun.append(_begin(store, preset, target, how))
    if not begun:
        return []
    needles = [needle for each in begun for needle in each.needles]
    scrubbed = scrub(store, needles, rewrite=any(each.how.rewrite for each in begun), files=begun[0].how.files())
    return [(_finish(store, preset, each, *scrubbed), each.needles) for each in begun]


def _begin(store: Store, preset: Preset, target: Mapping[str, str], how: Erasing) -> "_Begun":
    """Remove the rows of a target. This is the first half of an erasure: the bytes of the rows are not overwritten yet."""
    read = _read_again(store, preset, target, how)
    receipt = Receipt(id=new_receipt_id(how.now), target=dict(target), at=how.now, status="pending")
    give_way()
    try:
        removed = _remove(store, preset, target, how, receipt=receipt, read=read)
    except StoreFull:
        with store.room() as make_room:
            steps = _remove_in_steps(store, target, how, make_room)
            removed = _remove(store, preset, target, how, receipt=receipt, read=read, before=steps)
    if removed.stone is not None:
        Registry(store.location).add_tombstone(store.tenant, removed.stone)
    needles = make_needles([*removed.targets.texts, *owner_of(target).values()]) if how.rewrite else []
    return _Begun(target, how, receipt, removed, needles)


def _finish(store: Store, preset: Preset, begun: "_Begun", complete: bool, residue: tuple[str, ...]) -> Receipt:  # noqa: FBT001  (the result of scrub)
    """Finish an erasure after the scrub: erase the target in the copies of the store, and record the receipt.

    ``complete`` and ``residue`` are the two values that :func:`_scrub` returned.
    """
    target, how, removed = begun.target, begun.how, begun.removed
    copies = _erase_copies(store, preset, target, how, begun.receipt.id) if how.rewrite else _Copies()
    whole = complete and not found_in_files(residue)
    receipt = replace(
        begun.receipt,
        rebuilt=removed.rebuilt,
        status="erased" if whole else "pending",
        verified=whole and not residue and how.rewrite and not copies.kept and not _has_rows(store, removed.targets),
        residue=(*residue, *copies.problems),
        backups=copies.kept,
        missing=copies.missing,
    )
    receipt = records.counted(receipt, removed.counts)
    _note(store, receipt)
    return receipt


def _note(store: Store, receipt: Receipt) -> None:
    """Record the receipt of an erasure. On a full disk, use the store's reserved space."""
    try:
        records.update(store, receipt)
    except StoreFull:
        try:
            with store.room():
                records.update(store, receipt)
        except StoreFull as error:
            log.warning("The receipt %s could not be updated: %s. The next scrub updates it.", receipt.id, error)


@dataclass(frozen=True, slots=True)
class _Removed:
    """The data that an erasure removes from the store, and the number of rows removed so far."""

    targets: ErasureTargets
    hidden: Collection[str]
    """Ids of the remaining messages to hide, so that erased memories are not extracted from them again."""
    stone: records.Tombstone | None = None
    counts: Counter[str] = field(default_factory=Counter)
    rebuilt: int = 0


@dataclass(frozen=True, slots=True)
class _Begun:
    """An erasure whose rows are removed, but whose bytes are not overwritten yet."""

    target: Mapping[str, str]
    how: Erasing
    receipt: Receipt
    removed: _Removed
    needles: list[bytes]


def _remove(
    store: Store,
    preset: Preset,
    target: Mapping[str, str],
    how: Erasing,
    *,
    receipt: Receipt,
    read: ReadAgain,
    before: _Removed | None = None,
) -> _Removed:
    """Remove the rows of a target, rebuild the memories that also have other sources, and record the receipt.

    All of this is one transaction. ``read`` has the sentence reader's results for the messages from which memories are
    rebuilt.

    If the disk is too full for the transaction, the caller runs :func:`_remove_in_steps`, which removes most rows. It then
    calls this function again and passes the result of :func:`_remove_in_steps` as ``before``.
    """
    try:
        with store.write() as tx:
            if before is None and how.check is not None:
                how.check(tx)
            stone = records.tombstone(tx, receipt.id, target, how.scope)
            plan = before or _plan(tx, target, how.scope)
            targets, counts = plan.targets, Counter(plan.counts)
            survivors = surviving_messages(tx, targets)
            counts.update(tx.remove_memories(targets.memories | set(targets.mixed)))
            counts.update(tx.remove_messages(targets.messages))
            counts.update(tx.remove_sessions(targets.sessions))
            if owner := owner_of(target):
                tx.remove_scope(owner)
            tx.remove_stored_responses()  # any of them may contain erased data
            remove_traces(tx, target, targets)
            writer = Writer(tx=tx, preset=preset, author=Author(actor="erase"), now=how.now)
            tx.set_action(plan.hidden, "forgotten")
            clear_restated(writer, targets.restated.values(), targets.removed)
            rebuilt = rebuild(writer, targets.mixed.values(), survivors, read)
            mark_erased(tx, rewrite=how.rewrite)
            records.record(tx, records.counted(receipt, counts), stone, actor=how.actor)
    except StoreFull as error:
        if before is not None and before.counts:
            raise _partly_erased(before.counts) from error
        raise
    return replace(plan, stone=stone, counts=counts, rebuilt=len({memory.id for memory in rebuilt}))


def _read_again(store: Store, preset: Preset, target: Mapping[str, str], how: Erasing) -> ReadAgain:
    """Run the sentence reader on the messages from which memories must be derived again, and return the results.

    This is done before the transaction, because running the model takes time.
    """
    if how.reader is None or not isinstance(preset.extractor, Extractor):
        return ReadAgain()
    targets = find_targets(store, target, how.scope)
    return ReadAgain.of(preset.extractor, surviving_messages(store, targets), how.reader)


def _plan(tx: Transaction, target: Mapping[str, str], scope: Scope | None) -> _Removed:
    targets = find_targets(tx, target, scope)
    return _Removed(targets, messages_to_hide(tx, target, targets))


def _remove_in_steps(store: Store, target: Mapping[str, str], how: Erasing, make_room: Callable[[], object]) -> _Removed:
    """Remove most rows of a target in small transactions, because a full disk has no room for a large transaction.

    :func:`_remove` then removes the remaining rows and the memories that must be rebuilt. ``make_room`` frees reserved disk
    space and is called before each transaction.
    """
    with store.write() as tx:
        if how.check is not None:
            how.check(tx)
        plan = _plan(tx, target, how.scope)
    done = plan.counts
    for ids, remove in ((plan.targets.memories, "remove_memories"), (plan.targets.messages, "remove_messages")):
        left, size = sorted(ids), _STEP
        while left:
            make_room()
            try:
                with store.write() as tx:
                    removed = Counter(getattr(tx, remove)(left[:size]))
                    mark_erased(tx, rewrite=how.rewrite)
            except StoreFull as error:
                if size == 1:
                    if done:
                        raise _partly_erased(done) from error
                    raise
                size = max(1, size // 4)
            else:
                done.update(removed)
                left = left[size:]
    make_room()
    return plan


def _partly_erased(done: Mapping[str, int]) -> StoreFull:
    listed = ", ".join(f"{number} {what}" for what, number in done.items() if number)
    return StoreFull(
        f"The disk is full, and only a part was erased: {listed or 'nothing'}. The rest is still stored. Free some space and erase again."
    )


def remove_derived(tx: Transaction, preset: Preset, messages: Collection[str], now: datetime) -> None:
    """Remove messages and everything derived from them. The removed bytes are overwritten later, in the background.

    Memories that also have other sources are derived again from these sources. Stored responses are removed as well, because
    they can contain texts of the removed messages.
    """
    targets = ErasureTargets(messages=set(messages))
    follow_sources(tx, targets)
    survivors = surviving_messages(tx, targets)
    tx.remove_memories(targets.memories | set(targets.mixed))
    tx.remove_messages(targets.messages)
    tx.remove_stored_responses()
    tx.remove_traces(items=targets.removed)
    writer = Writer(tx=tx, preset=preset, author=Author(actor="erase"), now=now)
    clear_restated(writer, targets.restated.values(), targets.removed)
    rebuild(writer, targets.mixed.values(), survivors)
    mark_erased(tx, rewrite=bool(targets.memories or targets.mixed))


def remove_traces(tx: Transaction, target: Mapping[str, str], targets: ErasureTargets) -> None:
    """Remove the traces that list an erased memory or message.

    ``target`` is the target of the erasure, such as ``{"memory": id}``. ``targets`` has the ids and texts of all erased data.

    If a memory or message is erased by its id, also remove the traces whose question contains an erased text of at least
    ``MIN_BYTES`` bytes. If all memories of an app are erased, remove all traces of the app.

    The traces of an erased message, session or scope need no work here. They were removed together with the message, session
    or scope.
    """
    by_id = "memory" in target or "source" in target
    texts = [text for text in targets.texts if len(text.encode("utf-8", "replace")) >= MIN_BYTES] if by_id else ()
    owner = {"app": target[MEMORIES_OF_APP]} if MEMORIES_OF_APP in target else None
    tx.remove_traces(owner=owner, items=targets.removed, texts=texts)


def _has_rows(store: Store, targets: ErasureTargets) -> bool:
    """Return True if the store still contains a row that should have been erased."""
    return bool(
        store.memories(MemoryFilter(ids=list(targets.memories), statuses=None))
        or store.messages(MessageFilter(ids=list(targets.messages)))
        or any(store.session(id, scope) for id, scope in targets.sessions)
    )


@dataclass(frozen=True, slots=True)
class _Copies:
    """Result of an erasure in the copies of a store.

    ``kept`` lists the copies that may still contain erased data, ``missing`` the copies that were not found, and ``problems``
    the error messages.
    """

    kept: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def _erase_copies(store: Store, preset: Preset, target: Mapping[str, str], how: Erasing, id: str) -> _Copies:
    """Erase a target in all copies that Holdfast has made of a store. ``id`` is the id of the receipt.

    Return the copies that may still contain the data, the copies that were not found, and the error messages.
    """
    known = dict.fromkeys([*Registry(store.location).copies(), *map(Path, store.backups())])
    missing, problems = [], {}
    for path in known:
        if not path.exists():
            missing.append(str(path))
            continue
        try:
            copy = store.open_copy(path)
            try:
                residue = erase_in_copy(copy, preset, target, how, id=id)
            finally:
                copy.close()
        except (StoreError, OSError) as error:
            residue = (f"{path}: {error}",)
        if residue:
            problems[str(path)] = residue
    return _Copies(tuple(problems), tuple(missing), tuple(itertools.chain.from_iterable(problems.values())))


def erase_in_copy(copy: Store, preset: Preset, target: Mapping[str, str], how: Erasing, *, id: str) -> tuple[str, ...]:
    """Erase a target in a copy of a store, if the copy contains it. Return the files that still contain erased data.

    ``id`` is the id of the receipt. The copy records the erasure under this id, so that restoring the copy does not
    erase again.
    """
    targets = find_targets(copy, target, how.scope)
    known = {memory.id for memory in copy.memories(MemoryFilter(ids=list(targets.memories), statuses=None))}
    known |= {message.id for message in copy.messages(MessageFilter(ids=list(targets.messages)))}
    named = any(_matches(scope, owner_of(target)) for scope in copy.scopes()) if owner_of(target) else False
    if not known and not named and not any(copy.session(id, scope) for id, scope in targets.sessions):
        return ()
    how = replace(how, check=None, files=tuple, reader=None)
    receipt = Receipt(id=id, target=dict(target), at=how.now)
    removed = _remove(copy, preset, target, how, receipt=receipt, read=ReadAgain())
    needles = make_needles([*removed.targets.texts, *owner_of(target).values()])
    complete, residue = scrub(copy, needles, rewrite=True, files=())
    return residue if complete else (*residue, f"{copy.location}: another program reads it")


def _matches(scope: Scope, owner: Mapping[str, str]) -> bool:
    return all(getattr(scope, part) == name for part, name in owner.items())
