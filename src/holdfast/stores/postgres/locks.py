"""Which locks a write takes, so that writes about one user happen one after the other, as they do in SQLite.

The engine reads in a transaction and writes what follows from it: a key that has one value, a text that is not stored
twice, a session's state. SQLite has one writer at a time. Here a write takes an advisory lock for each user it reads or
writes of, before it reads; what it read stays true until it commits (READ COMMITTED: each statement sees what was
committed before it began). Users do not wait for each other; what belongs to no user has a lock of its own, and so have
single settings, apps, keys and kept answers.

SERIALIZABLE would refuse a write at its end that cannot be repeated from here: the block that made it is the caller's.
Two writes that take two locks in opposite order are told apart by the server, and one of them is refused as busy.
"""

import hashlib
from collections.abc import Iterable

from holdfast.stores.postgres.session import PostgresSession

_MAX_ROW_LOCKS = 200
"""So many users in one write are locked as the whole tenant: a server has room for some thousand locks."""


class Locks:
    """What one transaction holds. All of it is let go when the transaction ends."""

    def __init__(self, session: PostgresSession, tenant: str) -> None:
        self._session = session
        self._tenant = tenant
        self._held: set[int] = set()
        self._whole = False

    def hold(self, names: Iterable[str]) -> bool:
        """Take the locks of these names, in one order; tells whether any was not held before."""
        wanted = {_number(self._tenant, name) for name in names} - self._held
        if not wanted or self._whole:
            return False
        if len(self._held) + len(wanted) > _MAX_ROW_LOCKS:
            self.hold_all()
            return True
        if not self._held:
            self._session.execute("SELECT pg_advisory_xact_lock_shared(?)", (_number(self._tenant),))
        self._session.execute("SELECT pg_advisory_xact_lock(number) FROM unnest(?::bigint[]) AS number", (sorted(wanted),))
        self._held |= wanted
        return True

    def hold_all(self) -> None:
        """Wait until no other write of this tenant is under way, and keep others out."""
        if not self._whole:
            self._session.execute("SELECT pg_advisory_xact_lock(?)", (_number(self._tenant),))
            self._whole = True


def _number(*names: str) -> int:
    """Return the number of a lock; two names with one number would only wait for each other."""
    digest = hashlib.blake2b("\0".join(("holdfast", *names)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)
