"""Advisory locks that serialize writes for the same user. SQLite needs none: it has a single writer.

What a transaction writes depends on the rows that it has read. For example, the engine stores a text only if it found no
equal text. So a transaction locks each user whose data it reads or changes, before it reads the rows. Other transactions
cannot change these rows until it commits. Writes for different users do not wait for each other. All data without a user
shares one lock. Each setting, app, access key and stored response has its own lock.

The isolation level is READ COMMITTED: each statement sees everything that was committed before the statement began.
SERIALIZABLE is not used, because it can reject a transaction at COMMIT. The store could not repeat the transaction, since
its code belongs to the caller.

If two writes take two locks in opposite order, the server detects the deadlock, and one of the writes fails as busy.
"""

import hashlib
from collections.abc import Iterable

from holdfast.stores.postgres.session import PostgresSession

_MAX_LOCKS = 200
"""Maximum number of locks per write; a server has only a few thousand. If a write needs more, it locks the whole tenant."""


class Locks:
    """The advisory locks of one transaction. The server releases them when the transaction ends."""

    def __init__(self, session: PostgresSession, tenant: str) -> None:
        self._session = session
        self._tenant = tenant
        self._held: set[int] = set()
        self._whole = False

    def hold(self, names: Iterable[str]) -> bool:
        """Take the locks with these names, in a fixed order. Return True if at least one of them is new to this transaction.

        If the result is True, read the rows again: they may have changed before the lock was taken.
        """
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
        """Lock the whole tenant: wait until its other writes have ended, and block new writes."""
        if not self._whole:
            self._session.execute("SELECT pg_advisory_xact_lock(?)", (_number(self._tenant),))
            self._whole = True


def _number(*names: str) -> int:
    """Return the key of an advisory lock. ``names`` are the tenant and the name of the lock.

    For the lock of the whole tenant, ``names`` is only the tenant. The key is a hash. If two locks have the same key, their
    writers wait for each other needlessly.
    """
    digest = hashlib.blake2b("\0".join(("holdfast", *names)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)
