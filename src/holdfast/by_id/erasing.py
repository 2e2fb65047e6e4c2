"""Erase one memory, session or message, or all data of a user, app or agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from holdfast.by_id.sessions import only_session
from holdfast.errors import InvalidInput, NotFound
from holdfast.forgetting import records
from holdfast.forgetting.erase import Erasing, erase_and_scan, erase_each
from holdfast.forgetting.needles import PendingScan
from holdfast.forgetting.preview import ErasureLosses, erasure_losses
from holdfast.forgetting.targets import MEMORIES_OF_APP
from holdfast.protocols import MemoryFilter, MessageFilter, Reads, Transaction
from holdfast.services import Services
from holdfast.text.clean import clean_name
from holdfast.topic_files.erasing import PagesToErase
from holdfast.types import Memory, Message, Receipt, Scope
from holdfast.types.translatable import translatable


def erase_target(
    services: Services,
    *,
    memory: str | None = None,
    session: str | None = None,
    source: str | None = None,
    owner: Mapping[str, str | None],
    reader: Scope | None = None,
    rewrite: bool = True,
) -> Receipt:
    """Erase one memory, session or message with everything derived from it, or all data of a user, app or agent.

    Give exactly one target. ``memory`` and ``session`` are ids. ``source`` is the id of a message or memory. ``owner``
    names the user, app or agent whose data is erased. If ``reader`` is given, data that this scope may not see is
    treated as missing.

    Normally, the files are rewritten and scanned. With ``rewrite=False``, the removed bytes are only overwritten in
    place.
    """
    target = _given(memory=memory, session=session, source=source)
    scope = _owner(owner)
    if len(target) + bool(scope) != 1:
        raise InvalidInput(
            "erase needs exactly one of id=, session=, source=, or a scope of user=, app=, agent=. Nothing was erased."
        )
    found_scope = _found(services.store, target, reader) if target else None
    _forget_unsaved(services)
    owner_parts = scope if found_scope is None else found_scope.owner
    pages = PagesToErase(services.store, services.clock, services.topic_files, owner_parts, whole=bool(scope))
    how = _erasing(services, target, found_scope, reader, rewrite=rewrite, files=pages.rewrite)
    receipt, needles = erase_and_scan(services.store, services.preset, target or scope, how)
    services.embedding.forget_queries()
    return _completed(services, receipt, needles, [pages])


def count_losses(
    services: Services,
    *,
    memory: str | None = None,
    session: str | None = None,
    source: str | None = None,
    owner: Mapping[str, str | None],
    reader: Scope | None = None,
    memories_of: str | None = None,
) -> ErasureLosses:
    """Count what :func:`erase_target` would remove with the same arguments. Nothing is changed.

    ``memories_of`` is the id of an app. With it, count what ``Apps.purge`` would remove: only the app's memories.
    """
    target, scope = _given(memory=memory, session=session, source=source), _owner(owner)
    with services.store.snapshot():
        found_scope = _found(services.store, target, reader) if target else None
        app = clean_name(memories_of, what="app")
        named = scope if app is None else {MEMORIES_OF_APP: app}
        return erasure_losses(services.store, target or named, found_scope)


def _owner(parts: Mapping[str, str | None]) -> dict[str, str]:
    """Return the parts of a scope that are not None. Invisible characters are removed from their names."""
    return _given(**{part: clean_name(name, what=part) for part, name in parts.items()})


def erase_memories(services: Services, ids: Sequence[str], *, reader: Scope | None = None) -> list[Receipt]:
    """Erase several memories with everything derived from them. The files are rewritten and scanned once, not once per memory.

    Return one receipt per memory. A memory that was already erased together with another memory has no receipt. If an id is
    unknown, raise ``NotFound`` and erase nothing.
    """
    targets = [({"memory": id}, _found(services.store, {"memory": id}, reader)) for id in dict.fromkeys(ids)]
    _forget_unsaved(services)
    owners = dict.fromkeys(tuple(scope.owner.items()) for _, scope in targets)
    pages = [PagesToErase(services.store, services.clock, services.topic_files, dict(owner), whole=False) for owner in owners]

    def rewrite_pages() -> list[Path]:
        return [path for each in pages for path in each.rewrite()]

    wanted = [(target, _erasing(services, target, scope, reader, rewrite=True, files=rewrite_pages)) for target, scope in targets]
    done = erase_each(services.store, services.preset, wanted)
    services.embedding.forget_queries()
    return [_completed(services, receipt, needles, pages) for receipt, needles in done]


def _forget_unsaved(services: Services) -> None:
    """Drop traces and records of use that this process has not saved yet, because they may contain erased data."""
    services.reader.uses.discard()
    services.reader.traces.discard()


def _erasing(
    services: Services,
    target: Mapping[str, str],
    scope: Scope | None,
    reader: Scope | None,
    *,
    rewrite: bool,
    files: Callable[[], Sequence[Path]],
) -> Erasing:
    return Erasing(
        now=services.clock.now(),
        scope=scope,
        check=(lambda tx: _check_unchanged(tx, target, reader, scope)) if target else None,
        reader=services.sentence_reader,
        rewrite=rewrite,
        files=files,
    )


def _completed(services: Services, receipt: Receipt, needles: list[bytes], pages: Sequence[PagesToErase]) -> Receipt:
    """Add problems with topic files to the receipt of an erasure, and return the receipt.

    ``pages`` are the topic files from which the data was erased, and ``needles`` are the erased byte strings. If the receipt
    is pending, the next scrub completes it: it searches the files for ``needles``. If the receipt lists remaining data, the
    scrub also rewrites the topic files again.
    """
    problems, missing = [line for each in pages for line in each.problems], [path for each in pages for path in each.missing]
    if problems or missing:
        receipt = replace(
            receipt,
            status="pending" if problems else receipt.status,
            verified=receipt.verified and not problems,
            residue=(*receipt.residue, *problems),
            missing=(*receipt.missing, *missing),
        )
        records.update(services.store, receipt)
    if receipt.status == "pending":
        unsolved = list(pages) if receipt.residue else []
        services.housekeeping.complete_later(receipt.id, PendingScan(needles, [each.try_again for each in unsolved]))
    return receipt


def _found(reads: Reads, target: Mapping[str, str], reader: Scope | None) -> Scope:
    """Return the scope of the data to erase. ``target`` names the data by type and id, such as ``{"memory": id}``.

    Raise ``NotFound`` if the data does not exist, or if the reader may not see it.
    """
    ((what, id),) = target.items()
    if what == "session":
        try:
            return only_session(reads, id, reader=reader).scope
        except NotFound:
            found: list[Memory | Message] = []
    else:
        found = _targets(reads, target)
    if not found or (reader is not None and not all(reader.sees(row.scope) for row in found)):
        raise _absent(target)
    return found[0].scope


def _check_unchanged(tx: Transaction, target: Mapping[str, str], reader: Scope | None, scope: Scope | None) -> None:
    """Check that the data to erase still exists, and that its scope is still ``scope``. Otherwise raise ``NotFound``.

    ``target`` names the data by type and id, such as ``{"memory": id}``. Data that ``reader`` may not see counts as
    missing.
    """
    if _found(tx, target, reader) != scope:
        raise _absent(target)


def _absent(target: Mapping[str, str]) -> NotFound:
    """Return the error for a target that does not exist, or that the caller may not see."""
    ((what, id),) = target.items()
    named = "message" if what == "source" else what
    return NotFound(translatable("absent.erase", "There is no {what} {id}. Nothing was erased.", what=named, id=id))


def _given(**parts: str | None) -> dict[str, str]:
    """Return the keyword arguments whose value is not None."""
    return {name: value for name, value in parts.items() if value is not None}


def _targets(reads: Reads, target: Mapping[str, str]) -> list[Memory | Message]:
    """Return the memories and messages that ``target`` names by type and id.

    For ``{"memory": id}``, this is a memory. For ``{"source": id}``, this is a message or a memory. If no message and
    no memory has the id of a source any more, return the memories that were derived from that source.
    """
    found: list[Memory | Message] = []
    if "memory" in target:
        found += reads.memories(MemoryFilter(ids=(target["memory"],), statuses=None))
    if "source" in target:
        found += reads.messages(MessageFilter(ids=(target["source"],)))
        found += reads.memories(MemoryFilter(ids=(target["source"],), statuses=None))
        found = found or [*reads.memories(MemoryFilter(sources=[target["source"]], statuses=None))]
    return found
