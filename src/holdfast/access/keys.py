"""Who may do what: keys, who they stand for, and the one rule that every surface asks.

A key has a level and opens one tenant; it may be bound to a user, an app or an agent. A bound part is implied where
none is named. Naming another, or the id of something that is another's, answers exactly like what does not exist.
Keys are kept as hashes in the rows of the tenant the server was opened with, the operator's.
"""

import hashlib
import hmac
import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias, TypedDict, get_args

from holdfast.errors import Forbidden, InvalidInput, NotFound, Unauthorized
from holdfast.protocols import Clock, Store
from holdfast.runtime import forks
from holdfast.runtime.clock import as_utc
from holdfast.text.clean import clean_name
from holdfast.types import KeyLevel, KeyRecord, Scope

Right: TypeAlias = KeyLevel
"""What an operation needs: to read, to write, or to administer."""
LEVELS: tuple[KeyLevel, ...] = get_args(KeyLevel)
PARTS: tuple[Literal["user", "app", "agent"], ...] = ("user", "app", "agent")
KEYS_NEEDED = "access"
"""The operator's setting that says keys were made: from then on nobody comes in without one, even when all are revoked."""
_SECRET_LENGTH = 43
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_NO_HASH = bytes(32)


class ScopeParts(TypedDict):
    """Whose memories are meant, as the engine's methods take it."""

    user: str | None
    app: str | None
    agent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks: the bearer of a key, or without one a person at this very machine."""

    level: KeyLevel
    tenant: str
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    key: str | None = None
    """The id of the key."""
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
        """Return who works at the machine itself, by the command line or a program they started."""
        return cls(level=level, tenant=tenant, user=user, app=app, agent=agent, keyless=True)

    @property
    def name(self) -> str:
        """A name for what is counted or kept by who asked."""
        return f"key {self.key}" if self.key else "keyless"

    @property
    def is_bound(self) -> bool:
        """Whether it stands for a part of the tenant only."""
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
    """Return the scope in which a principal may do what it asks, or raise. Asked before anything else happens.

    ``whole`` is for what concerns the whole tenant, such as its jobs: a bound key has no right to it.
    """
    if LEVELS.index(principal.level) < LEVELS.index(right):
        raise Forbidden(f"This needs a key that may {right}; this one may {principal.level}.")
    if whole and principal.is_bound:
        raise Forbidden("This concerns everyone; this key is bound to a user, app or agent.")
    return {
        "user": _within(principal.user, user, "user"),
        "app": _within(principal.app, app, "app"),
        "agent": _within(principal.agent, agent, "agent"),
    }


def _within(bound: str | None, named: str | None, what: str) -> str | None:
    """Return the part that is meant: the one named, or the one a key is bound to."""
    cleaned = clean_name(named, what=what)
    if bound is None or cleaned is None:
        return bound if cleaned is None else cleaned
    if cleaned != bound:
        raise NotFound(f"There is no {what} {cleaned!r}.")
    return bound


def may_see(principal: Principal, scope: Scope, *, also_apps: Collection[str] = ()) -> bool:
    """Tell whether something that was found by its id may be shown: its own, or what all share.

    ``also_apps`` are those that share their memories with the principal's app.
    """
    if scope.tenant != principal.tenant:
        return False
    if scope.app is not None and scope.app in also_apps:
        scope = replace(scope, app=None)
    return all(getattr(principal, part) is None or getattr(scope, part) in (None, getattr(principal, part)) for part in PARTS)


def may_change(principal: Principal, scope: Scope) -> bool:
    """Tell whether something that was found by its id may be changed: who is bound changes nothing that all share."""
    return scope.tenant == principal.tenant and all(getattr(principal, part) in (None, getattr(scope, part)) for part in PARTS)


def check_found(principal: Principal, right: Right, scope: Scope, *, absent: str, also_apps: Collection[str] = ()) -> None:
    """Refuse something that was found by its id: what may not be seen is absent, in the words for what is absent."""
    if not may_see(principal, scope, also_apps=also_apps):
        raise NotFound(absent)
    if right != "read" and not may_change(principal, scope):
        raise Forbidden("This belongs to others as well; a key that is bound to a user, app or agent may not change it.")


def bearer_of(header: str | None) -> str | None:
    """Return the key in an ``Authorization`` header, or None where there is none."""
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.casefold() != "bearer" or not token.strip():
        raise Unauthorized("The Authorization header must be: Bearer hf_...")
    return token.strip()


class Gate:
    """Makes, lists and revokes keys, and tells who comes in with one."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._uses: dict[str, datetime] = {}
        self._lock = threading.Lock()
        forks.register(self)

    def after_fork(self) -> None:
        """Make a new lock; what was noted is the parent's to write down."""
        self._lock = threading.Lock()
        self._uses = {}

    @property
    def tenant(self) -> str:
        """The operator's tenant, in whose rows keys are kept."""
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
        """Make a key; returns its record and the key itself, which nobody can show again.

        ``by`` is who asks, None being the operator: a key reaches no further than the one that made it.
        """
        if level not in LEVELS:
            raise InvalidInput(f"A key may {', '.join(LEVELS[:-1])} or {LEVELS[-1]}, not {level!r}.")
        now = self._clock.now()
        until = None if expires_at is None else as_utc(expires_at, what="expires_at")
        if until is not None and until <= now:
            raise InvalidInput("expires_at is in the past.")
        maker = by or Principal.local(self.tenant)
        parts = authorize(maker, "admin", user=user, app=app, agent=agent)
        id = "".join(secrets.choice(_ALPHABET) for _ in range(16))
        token = f"hf_{id}_{secrets.token_urlsafe(32)}"
        record = KeyRecord(
            id=id, hash=_hash(token), level=level, label=clean_name(label, what="label"), tenant=self._tenant_for(maker, tenant),
            created_at=now, expires_at=until, **parts,
        )  # fmt: skip
        with self._store.write() as tx:
            tx.set_key(record)
            tx.set_setting(KEYS_NEEDED, "keys")
        return record, token

    def list_keys(self, *, by: Principal | None = None) -> list[KeyRecord]:
        """List keys, oldest first, also those that no longer work."""
        if by is not None:
            authorize(by, "admin")
        return [record for record in self._store.access_keys() if self._reaches(by, record)]

    def revoke(self, id: str, *, by: Principal | None = None) -> KeyRecord:
        """Make a key worthless at once, in every process."""
        if by is not None:
            authorize(by, "admin")
        with self._store.write() as tx:
            record = tx.access_key(id)
            if record is None or not self._reaches(by, record):
                raise NotFound(f"There is no key {id}.")
            if record.revoked_at is None:
                record = replace(record, revoked_at=self._clock.now())
                tx.set_key(record)
        return record

    def disable_keys(self) -> int:
        """Revoke every key, and let this machine in without one again; returns how many worked until now."""
        now = self._clock.now()
        with self._store.write() as tx:
            working = [record for record in tx.access_keys() if record.works(now)]
            for record in working:
                tx.set_key(replace(record, revoked_at=now))
            tx.set_setting(KEYS_NEEDED, "none")
        return len(working)

    def has_keys(self) -> bool:
        """Tell whether there is a key that works."""
        now = self._clock.now()
        return any(record.works(now) for record in self._store.access_keys())

    def keys_needed(self) -> bool:
        """Tell whether even this machine needs a key: once one was made, until they are given up."""
        return self._store.setting(KEYS_NEEDED) == "keys"

    def identify(self, bearer: str | None, *, loopback: bool) -> Principal:
        """Return who comes with a key, or on the loopback address of a server without keys. Reads only, and never a cache.

        Each key costs the same work, whether it is known or not.
        """
        if bearer is None:
            if not loopback or self.keys_needed():
                raise Unauthorized("A key is needed: Authorization: Bearer hf_... (`holdfast keys create` makes one).")
            return Principal.local(self.tenant)
        record = self._store.access_key(_id_of(bearer))
        expected = _NO_HASH if record is None else record.hash
        if not hmac.compare_digest(_hash(bearer), expected) or record is None:
            raise Unauthorized("This key is not valid.")
        now = self._clock.now()
        if not record.works(now):
            raise Unauthorized(f"This key has {'expired' if record.revoked_at is None else 'been revoked'}.")
        with self._lock:
            self._uses[record.id] = now
        return Principal(
            level=record.level, tenant=record.tenant, user=record.user, app=record.app, agent=record.agent, key=record.id
        )

    def flush_uses(self) -> None:
        """Write down when keys were last used: now and then, not with each request."""
        with self._lock:
            uses, self._uses = self._uses, {}
        if uses:
            with self._store.write(durable=False) as tx:
                tx.touch_keys(uses)

    def _commands_all(self, by: Principal | None) -> bool:
        """Tell whether someone is the operator: an administrator of all of the operator's tenant."""
        return by is None or (by.tenant == self.tenant and not by.is_bound and by.level == "admin")

    def _reaches(self, by: Principal | None, record: KeyRecord) -> bool:
        scope = Scope(tenant=record.tenant, user=record.user, app=record.app, agent=record.agent)
        return by is None or self._commands_all(by) or may_change(by, scope)

    def _tenant_for(self, maker: Principal, named: str | None) -> str:
        tenant = clean_name(named, what="tenant") or maker.tenant
        if tenant != maker.tenant and not self._commands_all(maker):
            raise NotFound(f"There is no tenant {tenant!r}.")
        return tenant


def _hash(token: str) -> bytes:
    """Return what is kept of a key. Its secret has 256 random bits: no slow hash is needed to keep it from being guessed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _id_of(token: str) -> str:
    """Return the id a key names; one of another form names none that exists."""
    prefix, _, rest = token.partition("_")
    id, _, secret = rest.partition("_")
    fits = prefix == "hf" and len(secret) == _SECRET_LENGTH and len(id) <= 64 and token.isascii()
    return id if fits else "-"
