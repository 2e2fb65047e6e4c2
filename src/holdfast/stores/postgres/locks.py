"""Advisory locks that serialize the writes that concern the same user, as SQLite's single writer does.

The engine reads in a transaction and writes what follows from it: a key that has one value, a text that is not stored
twice, the state of a session. So a write takes an advisory lock for each user it reads or writes, before it reads. What
it read stays true until it commits. The isolation level is READ COMMITTED: each statement sees everything committed
before the statement began. Different users do not wait for each other. Data that belongs to no user shares one lock, and
each setting, app, access key and stored response has its own.

SERIALIZABLE is not used: it can refuse a transaction at its end, and the store cannot repeat it, because the code of the
transaction belongs to the caller. If two writes take two locks in opposite order, the server detects the deadlock and
refuses one of them as busy.
"""

import hashlib
from collections.abc import Iterable

from holdfast.stores.postgres.session import PostgresSession

_MAX_LOCKS = 200
"""Maximum number of locks per write. A write that needs more locks the whole tenant; a server has room for a few thousand."""


class Locks:
    """The advisory locks of one transaction. The server releases them when it ends."""

    def __init__(self, session: PostgresSession, tenant: str) -> None:
        self._session = session
        self._tenant = tenant
        self._held: set[int] = set()
        self._whole = False

    def hold(self, names: Iterable[str]) -> bool:
        """Take the locks with these names, in a fixed order. Return True if any of them is new to the transaction."""
        wanted = {_number(self._tenant, name) for name in names} - self._held
        if not wanted or self._whole:
            return False
        if len(self._held) + len(wanted) > _MAX_LOCKS:
            self.hold_all()
            return True
        if not self._held:
            self._session.execute("SELECT pg_advisory_xact_lock_shared(?)", (_number(self._tenant),))
        self._session.execute("SELECT pg_advisory_xact_lock(number) FROM unnest(?::bigint[]) AS number", (sorted(wanted),))
        self._held |= wanted
        return True

    def hold_all(self) -> None:
        """Wait until no other write of this tenant is in progress, and block new ones."""
        if not self._whole:
            self._session.execute("SELECT pg_advisory_xact_lock(?)", (_number(self._tenant),))
            self._whole = True


def _number(*names: str) -> int:
    """Return the number of a lock. If two names hash to the same number, their writers wait for each other needlessly."""
    digest = hashlib.blake2b("\0".join(("holdfast", *names)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)
