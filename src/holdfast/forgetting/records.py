"""Records of erasures: an audit trail, receipts that can be read later, and tombstones. They contain no erased content.

The store keeps one record per erasure. A file next to the store also contains the tombstones, and lists the copies that
Holdfast has made of the store. Restoring a backup replaces the store, but not this file.

A tombstone identifies the erased data, so that the data can be erased again if a backup is restored. Ids of memories and
messages are random, so they are stored unchanged. Names are stored as hashes with a secret of the store, so the record alone
does not reveal a name.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.protocols import Reads, Store, Transaction
from holdfast.runtime.ids import new_id
from holdfast.runtime.private_files import FILE_MODE
from holdfast.types import Receipt, Scope

log = logging.getLogger("holdfast")
ERASED = "(erased)"
"""Placeholder for the erased name in the target of a stored receipt."""
_PREFIX = "erasure "
_PARTS = ("user", "app", "agent")
_IDS = ("memory", "source")
_RECEIPTS_PER_WRITE = 100
"""Maximum number of receipts to update in one transaction, so that other writers do not wait for long."""
_COUNTS = ("memories", "revisions", "messages", "sessions", "jobs", "vectors", "rebuilt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """Identifies the data that an erasure removed, without naming it.

    ``id`` is the id of the receipt. ``kinds`` says what was erased, such as ``("memory",)`` or ``("user", "app")``. ``mark``
    is the id of the erased memory or message. For an erased session, user, app or agent, ``mark`` is a hash of the name or
    names.
    """

    id: str
    kinds: tuple[str, ...]
    mark: str

    @property
    def is_exact(self) -> bool:
        """True if ``mark`` is an id, False if ``mark`` is a hash of names."""
        return self.kinds[0] in _IDS


def tombstone(reads: Reads, id: str, target: Mapping[str, str], scope: Scope | None) -> Tombstone:
    """Return the tombstone for the target of an erasure. ``id`` is the id of the receipt.

    If the target is a session, ``scope`` is the scope of the session.
    """
    kinds = tuple(sorted(target))
    return Tombstone(id=id, kinds=kinds, mark=mark_of(reads.setting("secret") or "", target, scope))


def mark_of(secret: str, target: Mapping[str, str], scope: Scope | None) -> str:
    """Return the mark for a tombstone: the id of an erased memory or message, or else a hash of the names in ``target``.

    The hash can be computed only with ``secret``, the store's secret. If the target is a session, ``scope`` is the scope of
    the session and is part of the hash.
    """
    if len(target) == 1 and (ids := [target[kind] for kind in _IDS if kind in target]):
        return ids[0]
    parts = [getattr(scope, part) for part in _PARTS] if scope is not None and "session" in target else []
    named = json.dumps([sorted(target.items()), parts], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(named, key=bytes.fromhex(secret) if secret else b"", digest_size=16).hexdigest()


def record(tx: Transaction, receipt: Receipt, stone: Tombstone, *, actor: str) -> None:
    """Store the receipt and the tombstone of an erasure, in the transaction that removes the rows.

    ``actor`` is the name of the person or program that erases.
    """
    value = {"actor": actor, "kinds": stone.kinds, "mark": stone.mark, **_state(receipt)}
    tx.set_setting(_PREFIX + receipt.id, json.dumps(value))


def update(store: Store, *receipts: Receipt) -> None:
    """Store the current state of receipts, such as their status and the result of the scan."""
    for first in range(0, len(receipts), _RECEIPTS_PER_WRITE):
        with store.write() as tx:
            for receipt in receipts[first : first + _RECEIPTS_PER_WRITE]:
                stored = tx.setting(_PREFIX + receipt.id)
                if stored is not None:
                    tx.set_setting(_PREFIX + receipt.id, json.dumps({**json.loads(stored), **_state(receipt)}))


def receipts(reads: Reads) -> list[Receipt]:
    """Return all stored receipts, oldest first. They contain no names of erased people."""
    found = [_receipt(name.removeprefix(_PREFIX), json.loads(value)) for name, value in reads.settings(_PREFIX).items()]
    return sorted(found, key=lambda receipt: (receipt.at, receipt.id))


def tombstones(reads: Reads) -> list[Tombstone]:
    """Return the tombstones of all recorded erasures."""
    stored = {name.removeprefix(_PREFIX): json.loads(value) for name, value in reads.settings(_PREFIX).items()}
    return [Tombstone(id=id, kinds=tuple(value["kinds"]), mark=value["mark"]) for id, value in stored.items()]


def new_receipt_id(now: datetime) -> str:
    """Return the id of a new receipt."""
    return new_id("era", now)


def _state(receipt: Receipt) -> dict[str, Any]:
    return {
        "at": receipt.at.timestamp(),
        "counts": {name: getattr(receipt, name) for name in _COUNTS},
        "status": receipt.status,
        "verified": receipt.verified,
        "residue": receipt.residue,
        "backups": receipt.backups,
        "missing": receipt.missing,
    }


def _receipt(id: str, value: Mapping[str, Any]) -> Receipt:
    exact = value["kinds"][0] in _IDS
    return Receipt(
        id=id,
        target=dict.fromkeys(value["kinds"], value["mark"] if exact else ERASED),
        at=datetime.fromtimestamp(value["at"], UTC),
        status=value["status"],
        verified=value["verified"],
        residue=tuple(value["residue"]),
        backups=tuple(value["backups"]),
        missing=tuple(value["missing"]),
        **value["counts"],
    )


class Registry:
    """A file next to a store. It lists the copies of the store and the tombstones. A store on a server has no such file."""

    def __init__(self, location: str) -> None:
        self.path = None if "://" in location else Path(f"{location}.registry.jsonl")

    def add_copy(self, path: Path) -> None:
        """Record the path of a copy that Holdfast has made of the store."""
        self._append({"copy": str(path.absolute())})

    def add_tombstone(self, tenant: str, stone: Tombstone) -> None:
        """Record the tombstone of an erasure."""
        self._append({"tenant": tenant, "erasure": stone.id, "kinds": stone.kinds, "mark": stone.mark})

    def copies(self) -> list[Path]:
        """Return the paths of the recorded copies of the store, oldest first."""
        return list(dict.fromkeys(Path(line["copy"]) for line in self._lines() if "copy" in line))

    def tenants(self) -> set[str]:
        """Return the tenants that have recorded tombstones."""
        return {line["tenant"] for line in self._lines() if "erasure" in line}

    def tombstones(self, tenant: str) -> list[Tombstone]:
        """Return the recorded tombstones of a tenant."""
        return [
            Tombstone(id=line["erasure"], kinds=tuple(line["kinds"]), mark=line["mark"])
            for line in self._lines()
            if line.get("tenant") == tenant and "erasure" in line
        ]

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)
            with os.fdopen(handle, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:  # on a full disk, the record in the store must do
            log.warning("%s could not be written: %s. Copies of the store may not be found by later erasures.", self.path, error)

    def _lines(self) -> Iterator[dict[str, Any]]:
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text("utf-8", errors="replace").splitlines():
            try:
                found = json.loads(line)
            except ValueError:  # cut off by a power failure
                continue
            if isinstance(found, dict):
                yield found


def counted(receipt: Receipt, counts: Mapping[str, int]) -> Receipt:
    """Return a copy of a receipt with the numbers of removed rows."""
    known: dict[str, Any] = {name: number for name, number in counts.items() if name in _COUNTS}
    return replace(receipt, **known)
