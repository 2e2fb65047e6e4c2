"""Tests of access keys, the authorization rule, and stored responses."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.access.idempotency import StoredResponses
from holdfast.access.keys import Gate, Principal, authorize, bearer_of, check_found, may_change, may_see
from holdfast.errors import Conflict, Forbidden, HoldfastError, InvalidInput, NotFound, Unauthorized
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.testing.samples import AT
from holdfast.types import KeyLevel, KeyRecord, Scope
from tests.runtime.forking import in_a_forked_child

ANA = Principal(level="write", tenant="default", user="ana", key="k")
EVERYONE = Principal(level="admin", tenant="default", key="k")


@pytest.fixture
def gate(memory: Engine) -> Gate:
    return Gate(services(memory).store, services(memory).clock)


@pytest.fixture
def answers(memory: Engine) -> StoredResponses:
    return StoredResponses(services(memory).store, services(memory).clock)


def refusal(bearer: str | None, gate: Gate, *, loopback: bool = False) -> str:
    with pytest.raises(Unauthorized) as refused:
        gate.identify(bearer, loopback=loopback)
    return str(refused.value)


# Keys


@pytest.mark.ledger("X8")
def test_a_key_identifies_the_principal_it_was_created_for(gate: Gate) -> None:
    record, key = gate.create_key(level="read", label="phone", tenant="acme", user="ana", app="kitchen", agent="cook")
    principal = gate.identify(key, loopback=False)
    assert principal == Principal(level="read", tenant="acme", user="ana", app="kitchen", agent="cook", key=record.id)
    assert gate.list_keys() == [record]
    assert (key.startswith(f"hf_{record.id}_"), len(key.split("_", 2)[2])) == (True, 43)


def test_keys_differ_and_are_kept_as_hashes_only(gate: Gate, files_with: Callable[[str], list[str]]) -> None:
    keys = {gate.create_key(level="read")[1] for _ in range(20)}
    assert len(keys) == 20
    assert [files_with(key.split("_", 2)[2]) for key in keys] == [[]] * 20
    assert "hash" not in repr(gate.list_keys()[0])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"),
        lambda key: key[:-1],
        lambda key: key + "A",
        lambda key: "hf_" + "0" * 16 + key[19:],
        lambda key: key.upper(),
        lambda key: key.split("_", 2)[2],
        lambda key: "",
        lambda key: "hf_",
        lambda key: "ñ" * 70,
        lambda key: "\ud800" * 62,
        lambda key: key + "\x00",
        lambda key: "hf_%_" + "x" * 43,
    ],
)
def test_every_invalid_key_is_refused_with_the_same_message(gate: Gate, spoil: Callable[[str], str]) -> None:
    _, key = gate.create_key(level="admin")
    assert refusal(spoil(key), gate) == "This key is not valid. Check it, or create a new one with `holdfast keys create`."
    assert (
        refusal(spoil(key), gate, loopback=True)
        == "This key is not valid. Check it, or create a new one with `holdfast keys create`."
    )


def test_a_revoked_key_is_refused_at_once_in_other_processes_too(gate: Gate, open_memory: Callable[..., Engine]) -> None:
    other = open_memory()
    elsewhere = Gate(services(other).store, services(other).clock)
    record, key = gate.create_key(level="admin")
    assert elsewhere.identify(key, loopback=False).key == record.id
    revoked = gate.revoke(record.id)
    assert revoked.revoked_at is not None
    assert "revoked" in refusal(key, elsewhere)
    assert gate.revoke(record.id) == revoked
    with pytest.raises(NotFound):
        gate.revoke("absent")


def test_an_expired_key_is_refused(gate: Gate, clock: FrozenClock) -> None:
    _, key = gate.create_key(level="admin", expires_at="2026-03-02")
    gate.identify(key, loopback=False)
    assert gate.has_keys()
    clock.advance(timedelta(days=1))
    assert "expired" in refusal(key, gate)
    assert not gate.has_keys()


def test_a_key_with_a_past_expiry_or_an_unknown_level_is_not_created(gate: Gate) -> None:
    wrong: Any = "root"
    for values in ({"level": wrong}, {"level": "read", "expires_at": "2026-02-01"}, {"level": "read", "user": ""}):
        with pytest.raises(InvalidInput):
            gate.create_key(**values)
    assert gate.list_keys() == []


@pytest.mark.ledger("A13")
def test_without_any_key_only_local_callers_are_administrators(gate: Gate) -> None:
    here = gate.identify(None, loopback=True)
    assert (here.level, here.keyless, here.tenant, here.is_bound) == ("admin", True, "default", False)
    assert "needs an access key" in refusal(None, gate)
    record, _ = gate.create_key(level="read")
    assert "needs an access key" in refusal(None, gate, loopback=True)
    gate.revoke(record.id)
    assert "needs an access key" in refusal(None, gate, loopback=True)
    assert gate.disable_keys() == 0
    assert gate.identify(None, loopback=True) == here


def test_identifying_a_key_writes_nothing_until_its_uses_are_flushed(gate: Gate, memory: Engine, clock: FrozenClock) -> None:
    record, key = gate.create_key(level="read")
    for _ in range(3):
        clock.advance(timedelta(seconds=1))
        gate.identify(key, loopback=False)
    assert gate.list_keys() == [record]
    gate.flush_uses()
    assert gate.list_keys() == [replace(record, last_used_at=clock.now())]


def test_a_use_that_is_flushed_late_does_not_undo_a_revocation(gate: Gate) -> None:
    record, key = gate.create_key(level="read")
    gate.identify(key, loopback=False)
    gate.revoke(record.id)
    gate.flush_uses()
    assert "revoked" in refusal(key, gate)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_forked_process_leaves_the_recorded_uses_to_its_parent(gate: Gate) -> None:
    record, key = gate.create_key(level="read")
    gate.identify(key, loopback=False)

    def flush() -> bytes:
        gate.flush_uses()
        return str(gate.list_keys()[0].last_used_at).encode()

    assert in_a_forked_child(flush) == b"None"
    gate.flush_uses()
    assert gate.list_keys() != [record]


# Keys created by holders of a key


@pytest.mark.parametrize("part", ["user", "app", "agent"])
def test_a_bound_admin_key_reaches_only_keys_of_its_own_scope(gate: Gate, part: str) -> None:
    bound: dict[str, Any] = {part: "ours"}
    foreign: dict[str, Any] = {part: "theirs"}
    gate.create_key(level="admin")
    own, token = gate.create_key(level="admin", **bound)
    others = [gate.create_key(level="read", **foreign)[0], gate.create_key(level="read")[0]]
    admin = gate.identify(token, loopback=False)
    assert [record.id for record in gate.list_keys(by=admin)] == [own.id]
    for other in others:
        with pytest.raises(NotFound):
            gate.revoke(other.id, by=admin)
    assert all(record.revoked_at is None for record in gate.list_keys())


def test_a_local_caller_can_be_bound_to_a_user_an_app_and_an_agent() -> None:
    bound = Principal.local("acme", user="ana", app="kitchen", agent="cook", level="read")
    assert (bound.tenant, bound.user, bound.app, bound.agent, bound.level) == ("acme", "ana", "kitchen", "cook", "read")
    assert (bound.keyless, bound.is_bound) == (True, True)


def test_a_key_of_an_earlier_version_still_works(gate: Gate, memory: Engine) -> None:
    token = "hf_0123456789abcdef_" + "b" * 43
    digest = hashlib.sha256(token.encode()).digest()
    old = KeyRecord(id="0123456789abcdef", hash=digest, level="write", tenant="default", created_at=AT, user="ana")
    with services(memory).store.write() as tx:
        tx.set_key(old)
    found = gate.identify(token, loopback=False)
    assert (found.level, found.user, found.key) == ("write", "ana", old.id)


@pytest.mark.parametrize("id", ["\ud800", "é", "x" * 65, "", "ab\x00"])
def test_a_malformed_key_is_refused_like_an_unknown_one(gate: Gate, id: str) -> None:
    gate.create_key(level="admin")
    assert refusal(f"hf_{id}_{'a' * 43}", gate) == refusal(f"hf_{'y' * 16}_{'a' * 43}", gate)


def test_a_key_cannot_create_a_key_with_a_wider_scope(gate: Gate) -> None:
    gate.create_key(level="admin")
    acme = Principal(level="admin", tenant="acme", user="ana", key="k")
    made, _ = gate.create_key(level="admin", app="kitchen", by=acme)
    assert (made.tenant, made.user, made.app) == ("acme", "ana", "kitchen")
    for foreign in ({"user": "bob"}, {"tenant": "default"}, {"tenant": "other"}):
        with pytest.raises(NotFound):
            gate.create_key(level="read", by=acme, **foreign)
    with pytest.raises(Forbidden):
        gate.create_key(level="read", by=replace(acme, level="write"))


def test_a_key_lists_and_revokes_only_what_is_within_its_reach(gate: Gate) -> None:
    made = {
        name: gate.create_key(level="read", tenant=tenant, user=user)[0].id
        for name, tenant, user in (("a", "acme", "ana"), ("b", "acme", "bob"), ("c", "acme", None), ("d", "default", None))
    }

    def seen(by: Principal) -> set[str]:
        return {name for name, id in made.items() if id in {record.id for record in gate.list_keys(by=by)}}

    assert seen(Principal(level="admin", tenant="acme", user="ana")) == {"a"}
    assert seen(Principal(level="admin", tenant="acme")) == {"a", "b", "c"}
    assert seen(Principal(level="admin", tenant="default")) == {"a", "b", "c", "d"}
    with pytest.raises(NotFound, match=f"There is no key {made['b']}"):
        gate.revoke(made["b"], by=Principal(level="admin", tenant="acme", user="ana"))
    for level in ("read", "write"):
        with pytest.raises(Forbidden):
            gate.list_keys(by=Principal(level=level, tenant="default"))
        with pytest.raises(Forbidden):
            gate.revoke(made["b"], by=Principal(level=level, tenant="default"))


# Authorization


@pytest.mark.parametrize(
    ("level", "rights"), [("read", ["read"]), ("write", ["read", "write"]), ("admin", ["read", "write", "admin"])]
)
def test_a_permission_level_includes_the_lower_levels(level: KeyLevel, rights: list[KeyLevel]) -> None:
    for right in ("read", "write", "admin"):
        principal = Principal(level=level, tenant="default")
        if right in rights:
            authorize(principal, right)
        else:
            with pytest.raises(Forbidden):
                authorize(principal, right)


@pytest.mark.ledger("X8")
def test_a_bound_key_implies_its_user_app_and_agent_and_finds_no_others() -> None:
    bound = replace(ANA, app="kitchen")
    assert authorize(bound, "read") == {"user": "ana", "app": "kitchen", "agent": None}
    assert authorize(bound, "read", user="ana", agent="cook") == {"user": "ana", "app": "kitchen", "agent": "cook"}
    assert authorize(bound, "read", user=" ana ")["user"] == "ana"
    for other in ({"user": "bob"}, {"app": "hall"}, {"user": "Ana"}):
        with pytest.raises(NotFound):
            authorize(bound, "read", **other)  # type: ignore[arg-type]
    assert authorize(EVERYONE, "read", user="bob") == {"user": "bob", "app": None, "agent": None}


def test_a_bound_key_may_not_run_operations_on_the_whole_tenant() -> None:
    authorize(EVERYONE, "read", whole=True)
    for part in ("user", "app", "agent"):
        with pytest.raises(Forbidden):
            authorize(Principal(level="admin", tenant="default", **{part: "x"}), "read", whole=True)  # type: ignore[arg-type]


def test_by_id_a_caller_may_read_own_and_shared_data_and_change_only_own_data() -> None:
    own, shared, in_app = Scope(user="ana"), Scope(), Scope(user="ana", app="kitchen")
    foreign, elsewhere = Scope(user="bob"), Scope(tenant="other", user="ana")
    assert [may_see(ANA, scope) for scope in (own, shared, in_app, foreign, elsewhere)] == [True, True, True, False, False]
    assert [may_change(ANA, scope) for scope in (own, shared, in_app, foreign, elsewhere)] == [True, False, True, False, False]
    assert [may_see(EVERYONE, scope) for scope in (own, shared, foreign, elsewhere)] == [True, True, True, False]
    cook = Principal(level="read", tenant="default", app="kitchen")
    assert (may_see(cook, Scope(app="hall")), may_see(cook, Scope(app="hall"), also_apps=("hall",))) == (False, True)


def test_an_id_of_another_scope_gets_the_same_answer_as_an_unknown_id(memory: Engine) -> None:
    bobs = memory.remember("prefers coffee", user="bob")
    with pytest.raises(NotFound) as absent:
        memory.get("mem_absent")
    with pytest.raises(NotFound) as foreign:
        check_found(ANA, "read", bobs.scope, absent=f"There is no memory {bobs.id}.")
    assert str(foreign.value) == str(absent.value).replace("mem_absent", bobs.id)
    with pytest.raises(Forbidden):
        check_found(ANA, "write", Scope(), absent="")
    check_found(ANA, "write", Scope(user="ana"), absent="")


def test_the_key_is_read_from_its_header() -> None:
    assert bearer_of(None) is None
    assert bearer_of("Bearer hf_x") == bearer_of("bearer  hf_x ") == "hf_x"
    for header in ("Basic aGk6aGk=", "hf_x", "Bearer", "Bearer  ", ""):
        with pytest.raises(Unauthorized):
            bearer_of(header)


# Erasing


def test_no_tenant_keeps_an_access_key_of_an_erased_user(
    gate: Gate, open_memory: Callable[..., Engine], files_with: Callable[[str], list[str]]
) -> None:
    _, anas = gate.create_key(level="write", tenant="acme", user="anastasia-quux", label="anastasia-quux's phone")
    _, bobs = gate.create_key(level="write", tenant="acme", user="bob")
    receipt = open_memory(tenant="acme").erase(user="anastasia-quux")
    assert receipt.verified
    assert files_with("anastasia-quux") == []
    assert refusal(anas, gate) == "This key is not valid. Check it, or create a new one with `holdfast keys create`."
    assert gate.identify(bobs, loopback=False).user == "bob"
    assert gate.keys_needed()


def test_erasing_removes_stored_responses_that_may_contain_erased_data(
    memory: Engine, answers: StoredResponses, files_with: Callable[[str], list[str]]
) -> None:
    kept = memory.remember("collects antique astrolabes", user="ana")
    claim = answers.claim(EVERYONE, "retry", b"POST /v1/undo")
    answers.save(claim, status=200, headers={}, body=b'{"text": "collects antique astrolabes"}')
    late = answers.claim(EVERYONE, "late", b"POST /v1/recall")
    assert memory.erase(id=kept.id).verified
    answers.save(late, status=200, headers={}, body=b'{"text": "collects antique astrolabes"}')
    assert files_with("astrolabes") == []
    assert answers.claim(EVERYONE, "late", b"POST /v1/recall").status is None


# Stored responses


def test_a_request_that_is_sent_again_gets_its_first_answer(answers: StoredResponses) -> None:
    claim = answers.claim(ANA, "retry", b"POST /v1/memories {}")
    assert claim.status is None
    answers.save(claim, status=201, headers={"content-type": "application/json"}, body="{ñ}".encode())
    again = answers.claim(ANA, "retry", b"POST /v1/memories {}")
    assert (again.status, again.headers, again.body) == (201, {"content-type": "application/json"}, "{ñ}".encode())
    assert answers.claim(replace(ANA, key="other"), "retry", b"POST /v1/memories {}").status is None


def test_another_request_under_the_same_key_is_a_conflict(answers: StoredResponses) -> None:
    claim = answers.claim(ANA, "retry", b"one")
    for request in (b"two", b"one"):  # the second one is still running
        with pytest.raises(Conflict):
            answers.claim(ANA, "retry", request)
    answers.save(claim, status=200, headers={}, body=b"")
    with pytest.raises(Conflict):
        answers.claim(ANA, "retry", b"two")


def test_a_request_that_failed_or_whose_process_died_may_be_sent_again(answers: StoredResponses, clock: FrozenClock) -> None:
    failed = answers.claim(ANA, "failed", b"one")
    answers.release(failed)
    assert answers.claim(ANA, "failed", b"one").status is None
    died = answers.claim(ANA, "died", b"one")
    clock.advance(timedelta(minutes=3))
    taken_over = answers.claim(ANA, "died", b"one")
    answers.save(died, status=500, headers={}, body=b"")  # from the process that was thought dead
    answers.release(died)
    answers.save(taken_over, status=200, headers={}, body=b"")
    assert answers.claim(ANA, "died", b"one").status == 200


def test_stored_responses_are_removed_after_a_day(memory: Engine, answers: StoredResponses, clock: FrozenClock) -> None:
    answers.save(answers.claim(ANA, "retry", b"one"), status=200, headers={}, body=b"astrolabe")
    clock.advance(timedelta(hours=23))
    memory.purge_expired()
    assert answers.claim(ANA, "retry", b"one").status == 200
    clock.advance(timedelta(hours=1))
    assert answers.claim(ANA, "retry", b"one").status is None
    clock.advance(timedelta(hours=25))
    memory.purge_expired()
    assert not services(memory).store.has_stored_responses(before=clock.now() + timedelta(days=1))


def test_every_refusal_has_a_stable_code() -> None:
    codes: list[type[HoldfastError]] = [Unauthorized, Forbidden]
    assert [error.code for error in codes] == ["unauthorized", "forbidden"]
