"""Access keys, principals (authenticated callers), and the authorization rule that every interface applies.

A key opens one tenant at a level: read, write or admin. A key can be bound to a user, an app or an agent. If a request
names no user, app or agent, the one that the key is bound to is the default. A request for another user's data gets the
same response as a request for data that does not exist. Keys are stored as hashes in the operator's tenant, which is
the tenant the server was opened with.
"""

import hashlib
import hmac
import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias, TypedDict, get_args

from holdfast.errors import Conflict, Forbidden, InvalidInput, NotFound, Unauthorized
from holdfast.protocols import Clock, Store
from holdfast.runtime import forks
from holdfast.runtime.clock import as_utc
from holdfast.text.clean import clean_name
from holdfast.types import KeyLevel, KeyRecord, Scope
from holdfast.types.translatable import translatable

Right: TypeAlias = KeyLevel
"""The level that an operation requires: read, write or admin."""
LEVELS: tuple[KeyLevel, ...] = get_args(KeyLevel)
PARTS: tuple[Literal["user", "app", "agent"], ...] = ("user", "app", "agent")
KEYS_NEEDED = "access"
"""Name of the setting that makes access keys mandatory.

It is set when the first key is created. From then on every request needs a key, even after all keys are revoked.
"""
_ID_LENGTH = 16
_SECRET_LENGTH = 43
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_NO_HASH = bytes(32)


class ScopeParts(TypedDict):
    """The user, app and agent of a scope, as keyword arguments for the engine's methods."""

    user: str | None
    app: str | None
    agent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The caller of a request: the holder of an access key, or a local caller without a key."""

    level: KeyLevel
    tenant: str
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    key: str | None = None
    """Id of the access key; None for a local caller without one."""
    keyless: bool = False

    @classmethod
    def local(
        cls,
        tenant: str,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        level: KeyLevel = "admin",
    ) -> "Principal":
        """Return the principal for a local caller: the command line, or a program on this machine."""
        return cls(level=level, tenant=tenant, user=user, app=app, agent=agent, keyless=True)

    @property
    def name(self) -> str:
        """Name of the caller: ``key ID``, or ``keyless``. Rate limits and stored responses are kept per name."""
        return f"key {self.key}" if self.key else "keyless"

    @property
    def is_bound(self) -> bool:
        """True if the principal is limited to a user, app or agent."""
        return any(getattr(self, part) is not None for part in PARTS)


def authorize(
    principal: Principal,
    right: Right,
    *,
    user: str | None = None,
    app: str | None = None,
    agent: str | None = None,
    whole: bool = False,
) -> ScopeParts:
    """Check that a principal may run an operation, and return the user, app and agent to run it for.

    Every operation must call this function first. ``right`` is the level that the operation needs. ``user``, ``app``
    and ``agent`` are the names in the request. If the request leaves out a name, the name that the key is bound to is
    returned, or None.

    Set ``whole`` for an operation on the whole tenant, such as listing jobs. A bound key cannot run an operation on the
    whole tenant. Raise ``Forbidden`` or ``NotFound`` if the principal is not allowed to run the operation.
    """
    if LEVELS.index(principal.level) < LEVELS.index(right):
        raise Forbidden(
            translatable(
                "key.level",
                "This needs a key with the level {needed}; this one has {level}.",
                needed=right,
                level=principal.level,
            )
        )
    if whole and principal.is_bound:
        raise Forbidden(
            translatable(
                "key.bound", "This affects the whole tenant, and this key is bound to a user, app or agent. Use an unbound key."
            )
        )
    return {
        "user": _within(principal.user, user, "user"),
        "app": _within(principal.app, app, "app"),
        "agent": _within(principal.agent, agent, "agent"),
    }


def _within(bound: str | None, named: str | None, what: str) -> str | None:
    """Return the user, app or agent that a request names. If it names none, return the one that the key is bound to.

    ``named`` is the name in the request, and ``bound`` is the name that the key is bound to. ``what`` is the word for
    error messages: ``user``, ``app`` or ``agent``. Raise ``NotFound`` if both names are given and differ.
    """
    cleaned = clean_name(named, what=what)
    if bound is None or cleaned is None:
        return bound if cleaned is None else cleaned
    if cleaned != bound:
        raise NotFound(translatable("absent.owner", "There is no {what} {name!r}.", what=what, name=cleaned))
    return bound


def may_see(principal: Principal, scope: Scope, *, also_apps: Collection[str] = ()) -> bool:
    """Return True if the principal may read data of this scope: the principal's own data, or data shared with everyone.

    ``also_apps`` are the apps that share their memories with the principal's app.
    """
    if scope.tenant != principal.tenant:
        return False
    if scope.app is not None and scope.app in also_apps:
        scope = replace(scope, app=None)
    return all(getattr(principal, part) is None or getattr(scope, part) in (None, getattr(principal, part)) for part in PARTS)


def may_change(principal: Principal, scope: Scope) -> bool:
    """Return True if the principal may change data of this scope. A bound principal may not change shared data."""
    return scope.tenant == principal.tenant and all(getattr(principal, part) in (None, getattr(scope, part)) for part in PARTS)


def check_found(principal: Principal, right: Right, scope: Scope, *, absent: str, also_apps: Collection[str] = ()) -> None:
    """Check that the principal may use data that was found by its id. ``scope`` is the scope of the data.

    If the principal may not see the data, raise ``NotFound`` with the message ``absent``, as for an id that does not
    exist. If the principal may read the data but not change it, and ``right`` is not ``read``, raise ``Forbidden``.
    ``also_apps`` are the apps that share their memories with the principal's app.
    """
    if not may_see(principal, scope, also_apps=also_apps):
        raise NotFound(absent)
    if right != "read" and not may_change(principal, scope):
        raise Forbidden(
            translatable(
                "key.shared",
                "This is shared with others, and this key is bound to a user, app or agent. Use an unbound key to change it.",
            )
        )


def bearer_of(header: str | None) -> str | None:
    """Return the key in an ``Authorization`` header, or None without a header. A malformed header raises ``Unauthorized``."""
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.casefold() != "bearer" or not token.strip():
        raise Unauthorized(
            translatable("key.malformed", "The Authorization header is malformed. Write it like: Authorization: Bearer hf_...")
        )
    return token.strip()


class Gate:
    """Creates, lists and revokes access keys, and authenticates requests."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._uses: dict[str, datetime] = {}
        self._lock = threading.Lock()
        forks.register(self)

    def after_fork(self) -> None:
        """Reset the state in a forked child process.

        Create a new lock. Drop the times of last use that are not in the store yet, because the parent process saves
        them.
        """
        self._lock = threading.Lock()
        self._uses = {}

    @property
    def tenant(self) -> str:
        """The operator's tenant: the tenant that the server was opened with. It stores the keys of all tenants."""
        return self._store.tenant

    def create_key(
        self,
        *,
        level: KeyLevel,
        label: str | None = None,
        tenant: str | None = None,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        expires_at: datetime | str | None = None,
        by: Principal | None = None,
    ) -> tuple[KeyRecord, str]:
        """Create a key. Return its record and the key itself, which cannot be shown again.

        ``by`` is the principal that creates the key, or None for trusted code. A new key never has more access than its
        creator.

        Once a key exists, every request needs a key. So the first key that a principal creates must be an unbound admin
        key of the operator's tenant. With any other first key, nobody could administer the server.
        """
        if level not in LEVELS:
            raise InvalidInput(f"The level of a key must be {', '.join(LEVELS[:-1])} or {LEVELS[-1]}, not {level!r}.")
        now = self._clock.now()
        expiry = None if expires_at is None else as_utc(expires_at, what="expires_at")
        if expiry is not None and expiry <= now:
            raise InvalidInput(translatable("key.past", "expires_at is in the past. No key was created; give a later time."))
        creator = by or Principal.local(self.tenant)
        parts = authorize(creator, "admin", user=user, app=app, agent=agent)
        chosen = self._tenant_for(creator, tenant)
        if by is not None and not self.keys_needed() and (level != "admin" or chosen != self.tenant or any(parts.values())):
            raise Conflict(
                translatable(
                    "keys.first",
                    "The first key must be an admin key that is not bound to a user, app, agent or other tenant: from then on every request needs a key. No key was created. Run: holdfast keys create --scope admin",
                )
            )
        id = "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
        token = f"hf_{id}_{secrets.token_urlsafe(32)}"
        record = KeyRecord(
            id=id,
            hash=_hash(token),
            level=level,
            label=clean_name(label, what="label"),
            tenant=chosen,
            created_at=now,
            expires_at=expiry,
            **parts,
        )
        with self._store.write() as tx:
            tx.set_key(record)
            tx.set_setting(KEYS_NEEDED, "keys")
        return record, token

    def list_keys(self, *, by: Principal | None = None) -> list[KeyRecord]:
        """List the keys, oldest first, including expired and revoked ones.

        ``by`` is the principal that makes the request, or None for trusted code. Only the keys that this principal may
        administer are listed. Raise ``Forbidden`` if the principal is no admin.
        """
        if by is not None:
            authorize(by, "admin")
        return [record for record in self._store.access_keys() if self._reaches(by, record)]

    def revoke(self, id: str, *, by: Principal | None = None) -> KeyRecord:
        """Revoke a key. Takes effect at once in every process.

        ``by`` is the principal that makes the request, or None for trusted code. Raise ``Forbidden`` if the principal
        is no admin. Raise ``NotFound`` if the key does not exist, or if the principal may not administer it.
        """
        if by is not None:
            authorize(by, "admin")
        with self._store.write() as tx:
            record = tx.access_key(id)
            if record is None or not self._reaches(by, record):
                raise NotFound(translatable("absent.key", "There is no key {id}.", id=id))
            if record.revoked_at is None:
                record = replace(record, revoked_at=self._clock.now())
                tx.set_key(record)
        return record

    def disable_keys(self) -> int:
        """Revoke every key, and allow local access without a key again. Returns the number of keys revoked."""
        now = self._clock.now()
        with self._store.write() as tx:
            valid = [record for record in tx.access_keys() if record.works(now)]
            for record in valid:
                tx.set_key(replace(record, revoked_at=now))
            tx.set_setting(KEYS_NEEDED, "none")
        return len(valid)

    def has_keys(self) -> bool:
        """Return True if there is a valid key."""
        now = self._clock.now()
        return any(record.works(now) for record in self._store.access_keys())

    def keys_needed(self) -> bool:
        """Return True if every request needs a key, even a request from this machine."""
        return self._store.setting(KEYS_NEEDED) == "keys"

    def identify(self, bearer: str | None, *, loopback: bool) -> Principal:
        """Return the principal that a key belongs to. Raise ``Unauthorized`` if the key is unknown, expired or revoked.

        ``bearer`` is the key, or None if the request has no key. ``loopback`` is True for a request from this machine.
        A request without a key is accepted only from this machine, and only if keys are not required.

        The store is read each time, so a revoked key is rejected at once. The response time is the same for known and
        unknown keys, so that it does not reveal whether a key exists.
        """
        if bearer is None:
            if not loopback or self.keys_needed():
                raise Unauthorized(
                    translatable(
                        "key.needed",
                        "This request needs an access key. Send the header `Authorization: Bearer hf_...`; `holdfast keys create` creates a key.",
                    )
                )
            return Principal.local(self.tenant)
        record = self._store.access_key(_id_of(bearer))
        expected = _NO_HASH if record is None else record.hash
        if not hmac.compare_digest(_hash(bearer), expected) or record is None:
            raise Unauthorized(
                translatable("key.invalid", "This key is not valid. Check it, or create a new one with `holdfast keys create`.")
            )
        now = self._clock.now()
        if not record.works(now):
            raise Unauthorized(
                translatable("key.expired", "This key has expired.")
                if record.revoked_at is None
                else translatable("key.revoked", "This key has been revoked.")
            )
        with self._lock:
            self._uses[record.id] = now
        return Principal(
            level=record.level, tenant=record.tenant, user=record.user, app=record.app, agent=record.agent, key=record.id
        )

    def flush_uses(self) -> None:
        """Write the time of each key's last use to the store. Called periodically, not per request."""
        with self._lock:
            uses, self._uses = self._uses, {}
        if uses:
            with self._store.write(durable=False) as tx:
                tx.touch_keys(uses)

    def _is_operator(self, by: Principal | None) -> bool:
        """Return True if ``by`` is an unbound admin of the operator's tenant, or None, which stands for trusted code.

        The operator's tenant is the tenant that the server was opened with.
        """
        return by is None or (by.tenant == self.tenant and not by.is_bound and by.level == "admin")

    def _reaches(self, by: Principal | None, record: KeyRecord) -> bool:
        scope = Scope(tenant=record.tenant, user=record.user, app=record.app, agent=record.agent)
        return by is None or self._is_operator(by) or may_change(by, scope)

    def _tenant_for(self, creator: Principal, named: str | None) -> str:
        tenant = clean_name(named, what="tenant") or creator.tenant
        if tenant != creator.tenant and not self._is_operator(creator):
            raise NotFound(f"There is no tenant {tenant!r}.")
        return tenant


def _hash(token: str) -> bytes:
    """Return the hash of an access key. Only this hash is stored. A fast hash is safe, because the secret has 256 random bits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _id_of(token: str) -> str:
    """Return the id part of a key. For a malformed key, return ``-``, which is never an id."""
    prefix, _, rest = token.partition("_")
    id, _, secret = rest.partition("_")
    fits = prefix == "hf" and len(id) == _ID_LENGTH and len(secret) == _SECRET_LENGTH and token.isascii()
    return id if fits else "-"
