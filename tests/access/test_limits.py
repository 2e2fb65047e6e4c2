"""Edge cases of access control: when keys and idempotency keys expire, the first key, and the rights to manage keys."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.access.idempotency import RETENTION, StoredResponses
from holdfast.access.keys import Gate, Principal, authorize, bearer_of, may_change, may_see
from holdfast.errors import Conflict, Forbidden, InvalidInput, NotFound, Unauthorized
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Scope

SECOND = timedelta(seconds=1)
ANA = Principal(level="write", tenant="default", user="ana", key="k")


@pytest.fixture
def gate(memory: Engine) -> Gate:
    return Gate(services(memory).store, services(memory).clock)


def test_a_key_works_until_the_moment_it_expires(gate: Gate, clock: FrozenClock) -> None:
    _, key = gate.create_key(level="read", expires_at=clock.now() + 2 * SECOND)
    clock.advance(SECOND)
    assert gate.identify(key, loopback=False).level == "read"
    assert gate.has_keys()
    clock.advance(SECOND)
    with pytest.raises(Unauthorized, match="has expired"):
        gate.identify(key, loopback=False)
    assert not gate.has_keys()


def test_a_key_that_expires_now_is_not_created(gate: Gate, clock: FrozenClock) -> None:
    with pytest.raises(InvalidInput, match="expires_at"):
        gate.create_key(level="read", expires_at=clock.now())
    assert (gate.list_keys(), gate.keys_needed()) == ([], False)


def test_a_revoked_key_is_refused_as_revoked_and_keeps_its_first_revocation_time(gate: Gate, clock: FrozenClock) -> None:
    record, key = gate.create_key(level="read")
    first = gate.revoke(record.id).revoked_at
    clock.advance(SECOND)
    assert gate.revoke(record.id).revoked_at == first
    with pytest.raises(Unauthorized, match="been revoked"):
        gate.identify(key, loopback=False)
    with pytest.raises(NotFound, match="absent"):
        gate.revoke("absent")


def test_disabling_all_keys_returns_the_number_of_valid_ones_and_lets_local_callers_in_again(
    gate: Gate, clock: FrozenClock
) -> None:
    records = [gate.create_key(level="admin")[0] for _ in range(3)]
    gate.revoke(records[0].id)
    clock.advance(SECOND)
    assert gate.disable_keys() == 2
    assert {each.revoked_at for each in gate.list_keys()} == {clock.now() - SECOND, clock.now()}
    assert not gate.keys_needed()
    assert gate.identify(None, loopback=True) == Principal.local("default")
    with pytest.raises(Unauthorized, match="access key"):
        gate.identify(None, loopback=False)


@pytest.mark.parametrize(
    ("wrong", "given"),
    [("level", {"level": "write"}), ("user", {"user": "ana"}), ("app", {"app": "a"}), ("agent", {"agent": "b"}), ("tenant", {"tenant": "c"})],
)  # fmt: skip
def test_the_first_key_is_an_admin_key_bound_to_nothing(gate: Gate, wrong: str, given: dict[str, Any]) -> None:
    local = Principal.local(gate.tenant)
    with pytest.raises(Conflict, match="first key"):
        gate.create_key(**{"level": "admin", **given}, by=local)
    assert not gate.keys_needed(), wrong
    gate.create_key(level="admin", by=local)
    assert gate.create_key(**{"level": "admin", **given}, by=local)[0].revoked_at is None


def test_a_new_key_records_its_scope_its_level_and_its_times(gate: Gate, clock: FrozenClock) -> None:
    until = clock.now() + timedelta(days=1)
    record, _ = gate.create_key(level="write", label="phone", user="ana", app="a", agent="b", expires_at=until)
    assert (record.level, record.label, record.tenant, record.user, record.app, record.agent) == (
        "write", "phone", "default", "ana", "a", "b",
    )  # fmt: skip
    assert (record.created_at, record.expires_at, record.revoked_at) == (clock.now(), until, None)
    assert len(record.id) == 16


def test_only_the_operator_reaches_other_tenants(gate: Gate) -> None:
    of_acme = Principal(level="admin", tenant="acme", key="k")
    assert gate.create_key(level="admin", by=Principal(level="admin", tenant="default", key="k2"), tenant="default")
    other, _ = gate.create_key(level="read", tenant="acme")
    assert gate.create_key(level="read", by=of_acme)[0].tenant == "acme"
    with pytest.raises(NotFound, match="tenant 'default'"):
        gate.create_key(level="read", by=of_acme, tenant="default")
    assert {each.tenant for each in gate.list_keys(by=of_acme)} == {"acme"}
    assert gate.revoke(other.id, by=of_acme).revoked_at is not None
    own = next(each for each in gate.list_keys() if each.tenant == "default")
    with pytest.raises(NotFound):
        gate.revoke(own.id, by=of_acme)
    with pytest.raises(Forbidden):
        gate.list_keys(by=ANA)
    with pytest.raises(Forbidden):
        gate.revoke(own.id, by=ANA)
    with pytest.raises(Forbidden):
        gate.create_key(level="read", by=ANA)


@pytest.mark.parametrize("header", ["Bearer", "Bearer   ", "Basic abc", "hf_x", ""])
def test_a_malformed_header_says_how_to_write_it(header: str) -> None:
    with pytest.raises(Unauthorized, match="Authorization: Bearer"):
        bearer_of(header)


@pytest.mark.parametrize("part", ["user", "app", "agent"])
def test_a_key_can_be_bound_to_a_user_an_app_or_an_agent_alone(part: str) -> None:
    mine: dict[str, Any] = {part: "mine"}
    other: dict[str, Any] = {part: "other"}
    bound = Principal(level="admin", tenant="default", key="k", **mine)
    none = {"user": None, "app": None, "agent": None}
    assert bound.is_bound
    assert authorize(bound, "read") == authorize(bound, "read", **mine) == {**none, **mine}
    with pytest.raises(NotFound, match=f"There is no {part} 'other'"):
        authorize(bound, "read", **other)
    with pytest.raises(Forbidden, match="whole tenant"):
        authorize(bound, "read", whole=True)
    scopes = (Scope(**mine), Scope(**other), Scope())
    assert [may_see(bound, scope) for scope in scopes] == [True, False, True]
    assert [may_change(bound, scope) for scope in scopes] == [True, False, False]
    assert not may_see(bound, Scope(tenant="acme", **mine))
    assert not may_change(bound, Scope(tenant="acme", **mine))


def test_an_app_that_shares_is_seen_and_not_changed() -> None:
    bound = Principal(level="write", tenant="default", app="a", user="ana", key="k")
    assert may_see(bound, Scope(app="b", user="ana"), also_apps=("b",))
    assert not may_see(bound, Scope(app="b", user="bob"), also_apps=("b",))
    assert not may_see(bound, Scope(app="c", user="ana"), also_apps=("b",))
    assert not may_change(bound, Scope(app="b", user="ana"))


def test_a_claimed_idempotency_key_is_blocked_until_the_claim_expires(memory: Engine, clock: FrozenClock) -> None:
    answers = StoredResponses(services(memory).store, services(memory).clock)
    first = answers.claim(ANA, "retry", b"one")
    clock.advance(timedelta(minutes=2) - SECOND)
    with pytest.raises(Conflict, match="still running"):
        answers.claim(ANA, "retry", b"one")
    clock.advance(SECOND)
    taken = answers.claim(ANA, "retry", b"one")
    assert (taken.status, taken.at > first.at) == (None, True)
    answers.save(taken, status=200, headers={}, body=b"x")
    clock.advance(RETENTION - SECOND)
    with pytest.raises(Conflict, match="different request"):
        answers.claim(ANA, "retry", b"two")
    assert answers.claim(ANA, "retry", b"one").body == b"x"
    clock.advance(SECOND)
    assert answers.claim(ANA, "retry", b"two").status is None
