"""Reads and writes of access keys, and of the responses stored for repeated requests."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.stores.sql.connection import Connection, R, fetch, fetch_one, fetch_value, guarded, upsert
from holdfast.stores.sql.rows import dump, from_time, stamp, to_time
from holdfast.types import KeyRecord, StoredResponse

_KEY_COLUMNS = "id, hash, level, label, opens, user, app, agent, created_at, expires_at, revoked_at, last_used_at"
_RESPONSE_COLUMNS = "principal, key, request, at, status, headers, body"


class AccessReads:
    """The methods of a store that read access keys and stored responses."""

    tenant: str

    @property
    def connection(self) -> Connection:
        """The connection that the reads use."""
        raise NotImplementedError

    def guard(self, query: Callable[[], R]) -> R:
        """Call ``query`` and return its result. Database errors are raised as Holdfast errors."""
        raise NotImplementedError

    @guarded
    def access_key(self, id: str) -> KeyRecord | None:
        """Return the access key that this tenant stores under an id, or None if there is no such key."""
        row = fetch_one(self.connection, f"SELECT {_KEY_COLUMNS} FROM keys WHERE tenant = ? AND id = ?", (self.tenant, id))
        return None if row is None else _to_key(row)

    @guarded
    def access_keys(self) -> list[KeyRecord]:
        """List the access keys that this tenant stores, oldest first."""
        rows = fetch(self.connection, f"SELECT {_KEY_COLUMNS} FROM keys WHERE tenant = ? ORDER BY created_at, id", (self.tenant,))
        return [_to_key(row) for row in rows]

    @guarded
    def stored_response(self, principal: str, key: str) -> StoredResponse | None:
        """Return the stored response for an idempotency key of a principal, or None if there is none."""
        row = fetch_one(
            self.connection,
            f"SELECT {_RESPONSE_COLUMNS} FROM idempotency WHERE tenant = ? AND principal = ? AND key = ?",
            (self.tenant, principal, key),
        )
        return None if row is None else _to_response(row)

    @guarded
    def has_stored_responses(self, *, before: datetime) -> bool:
        """Return True if there are stored responses to requests before a given time."""
        sql = "SELECT EXISTS (SELECT 1 FROM idempotency WHERE tenant = ? AND at < ?)"
        return bool(fetch_value(self.connection, sql, (self.tenant, stamp(before))))


class AccessWrites(AccessReads):
    """The methods of a transaction that write access keys and stored responses."""

    def set_key(self, record: KeyRecord) -> None:
        """Store or replace an access key."""
        self.connection.execute(upsert("keys", _KEY_COLUMNS), (self.tenant, *_key_row(record)))

    def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """Record when access keys were last used. ``used`` maps key ids to times.

        Keys that no longer exist are ignored. A stored time is replaced only by a later time.
        """
        self.connection.executemany(
            "UPDATE keys SET last_used_at = ? WHERE tenant = ? AND id = ? AND coalesce(last_used_at, 0) < ?",
            [(stamp(moment), self.tenant, id, stamp(moment)) for id, moment in sorted(used.items())],
        )

    def remove_keys(self, owner: Mapping[str, str]) -> None:
        """Remove the access keys that are bound to a scope of this tenant. ``owner`` names the user, app or agent.

        Keys that open this tenant but are stored by another tenant are removed, too.
        """
        named = " AND ".join(f"{part} = ?" for part in owner)
        self.connection.execute(f"DELETE FROM keys WHERE opens = ? AND {named}", (self.tenant, *owner.values()))

    def add_stored_response(self, response: StoredResponse) -> None:
        """Claim an idempotency key: record that a request with this key has begun.

        An earlier claim of the same key is replaced, and the response stored for it is dropped.
        """
        self.connection.execute(upsert("idempotency", _RESPONSE_COLUMNS, key=2), (self.tenant, *_response_row(response)))

    def set_stored_response(self, response: StoredResponse) -> bool:
        """Store the response to a request that has claimed its idempotency key.

        If the claim no longer exists or already has a response, store nothing and return False.
        """
        principal, key, request, at, status, headers, body = _response_row(response)
        self.connection.execute(
            "UPDATE idempotency SET status = ?, headers = ?, body = ? "
            "WHERE tenant = ? AND principal = ? AND key = ? AND request = ? AND at = ? AND status IS NULL",
            (status, headers, body, self.tenant, principal, key, request, at),
        )
        return self.connection.changes() == 1

    def remove_stored_responses(
        self, *, before: datetime | None = None, principal: str | None = None, key: str | None = None
    ) -> int:
        """Remove the stored responses that match all given arguments, and return their number.

        ``before`` matches responses to requests before this time, ``principal`` matches responses to this principal, and
        ``key`` matches responses for this idempotency key. Without arguments, all stored responses are removed.
        """
        sql, values = "DELETE FROM idempotency WHERE tenant = ?", list[Any]([self.tenant])
        conditions = (("at < ?", from_time(before)), ("principal = ?", principal), ("key = ?", key))
        for clause, value in conditions:
            if value is not None:
                sql = f"{sql} AND {clause}"
                values.append(value)
        self.connection.execute(sql, values)
        return self.connection.changes()


def _key_row(record: KeyRecord) -> tuple[Any, ...]:
    return (
        record.id, record.hash, record.level, record.label, record.tenant, record.user or "", record.app or "",
        record.agent or "", stamp(record.created_at), from_time(record.expires_at), from_time(record.revoked_at),
        from_time(record.last_used_at),
    )  # fmt: skip


def _to_key(row: Sequence[Any]) -> KeyRecord:
    created_at = to_time(row[8])
    assert created_at is not None
    return KeyRecord(
        id=row[0], hash=row[1], level=row[2], label=row[3], tenant=row[4], user=row[5] or None, app=row[6] or None,
        agent=row[7] or None, created_at=created_at, expires_at=to_time(row[9]), revoked_at=to_time(row[10]),
        last_used_at=to_time(row[11]),
    )  # fmt: skip


def _response_row(response: StoredResponse) -> tuple[Any, ...]:
    headers = dump(dict(response.headers))
    return (response.principal, response.key, response.request, stamp(response.at), response.status, headers, response.body)


def _to_response(row: Sequence[Any]) -> StoredResponse:
    at = to_time(row[3])
    assert at is not None
    return StoredResponse(
        principal=row[0], key=row[1], request=row[2], at=at, status=row[4], headers=json.loads(row[5]), body=row[6]
    )
