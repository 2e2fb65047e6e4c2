"""Overwrite the bytes of erased rows, and record what is still to be overwritten, in the store and in receipts."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from holdfast.errors import StoreClosed, StoreError
from holdfast.forgetting import records
from holdfast.protocols import SCRUB, Store, Transaction, Unreachable
from holdfast.recall.caches import count_erasure, erasures

log = logging.getLogger("holdfast")


def scrub(store: Store, needles: Sequence[bytes], *, rewrite: bool, files: Sequence[Path]) -> tuple[bool, tuple[str, ...]]:
    """Overwrite the erased bytes on disk, and search the store's files and ``files`` for the needles.

    Return two values. The first is True if all erased bytes were overwritten. The second lists the files in which a
    needle was found, and the places that could not be overwritten or searched. With ``rewrite=False``, the store's
    files are rewritten only if a needle is found in them.

    A failed scrub raises no error, because the rows are already removed: the first value is False, the second has the
    error message, and the receipt stays pending. Only ``StoreClosed`` is raised.
    """
    try:
        count = erasures(store)
        complete, residue = store.scrub(needles, rewrite=rewrite, files=files, when="later")
        note_scrubbed(store, complete=complete, rewrite=rewrite, count=count)
    except StoreClosed:
        raise
    except StoreError as error:
        log.warning("The rows are erased, but their bytes could not be overwritten yet: %s", error)
        return False, (str(error),)
    return complete, residue


def mark_erased(tx: Transaction, *, rewrite: bool = True) -> None:
    """Record that erased bytes must still be overwritten, and that caches must be cleared.

    The record is written in the transaction that removes the rows. So the bytes are overwritten later even if the
    process is killed now. ``rewrite`` is True if overwriting them requires that the store's files are rewritten. If
    ``rewrite`` is False, emptying the store's write-ahead log is enough.
    """
    if rewrite or tx.setting(SCRUB) != "pending":
        tx.set_setting(SCRUB, "pending" if rewrite else "log")
    count_erasure(tx)


def note_scrubbed(store: Store, *, complete: bool, rewrite: bool, count: str | None = None) -> None:
    """Record after a scrub whether another scrub is needed.

    Another scrub is needed in three cases: this scrub was incomplete, or the files must be rewritten but this scrub did not
    rewrite them (``rewrite=False``), or more data was erased after this scrub began. ``count`` is the number of erasures when
    this scrub began. If it is None, the third case is not checked.
    """
    with store.write() as tx:
        if complete and (rewrite or tx.setting(SCRUB) == "log"):
            if count in (None, erasures(tx)):
                tx.set_setting(SCRUB, "done")
        elif not complete:
            tx.set_setting(SCRUB, "pending")


def complete_receipts(store: Store, residue: Sequence[str], *, pending: Collection[str], scanned: Collection[str]) -> None:
    """Update receipts after a scrub: their status, and whether they are verified.

    ``residue`` lists the files in which the scrub found erased bytes, and the places that could not be searched. ``scanned``
    has the ids of the receipts whose texts the scrub searched for. ``pending`` has the ids of the receipts that were pending
    when the scrub began. All other receipts stay as they are.

    The status becomes ``pending`` if the scrub found erased bytes in a file, otherwise ``erased``. A receipt becomes verified
    only if its id is in ``scanned``, ``residue`` is empty, and no copy of the store can still contain the texts.
    """
    updated = []
    for receipt in records.receipts(store):
        if receipt.id in scanned or (receipt.id in pending and receipt.status == "pending"):
            left = (*residue, *receipt.residue) if receipt.id not in scanned else tuple(residue)
            verified = receipt.id in scanned and not left and not receipt.backups
            status: Literal["erased", "pending"] = "pending" if found_in_files(residue) else "erased"
            updated.append(replace(receipt, verified=verified, residue=left, status=status))
    records.update(store, *updated)


def found_in_files(residue: Sequence[str]) -> bool:
    """Return True if ``residue``, the result of a scan, names a file in which erased bytes were found.

    ``residue`` also names places that could not be searched. These do not count.
    """
    return any(not isinstance(line, Unreachable) for line in residue)
