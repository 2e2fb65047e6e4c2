"""Conformance tests for access keys and for stored responses to idempotent requests."""

from dataclasses import replace

from holdfast.protocols import Store
from holdfast.testing.samples import AT, DAY, OpenStore
from holdfast.types import KeyRecord, StoredResponse

KEY = KeyRecord(id="k1", hash=bytes(range(32)), level="read", tenant="default", created_at=AT)
CLAIM = StoredResponse(principal="key k1", key="retry-1", request=b"\x00hash", at=AT)


class AccessPromises:
    """Tests that every store must pass for access keys and for stored responses to idempotent requests."""

    def test_a_key_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """Every field of a key is read back after the store is opened again. Storing a key again replaces the old key.

        Other tenants do not see the key.
        """
        full = KeyRecord(
            id="k2",
            hash=b"\xff" * 32,
            level="admin",
            label="Küche 🔑",
            tenant="acme",
            user="ana",
            app="kitchen",
            agent="cook",
            created_at=AT + DAY,
            expires_at=AT + 2 * DAY,
            revoked_at=AT + DAY,
            last_used_at=AT + DAY,
        )
        with store.write() as tx:
            tx.set_key(replace(full, label="old"))
            tx.set_key(full)
            tx.set_key(KEY)
            assert tx.access_key("k2") == full
        assert open_store().access_keys() == [KEY, full]
        assert store.access_key("absent") is None
        for tenant in ("other", "acme"):
            other = open_store(tenant=tenant)
            assert (other.access_keys(), other.access_key("k2")) == ([], None)

    def test_recording_a_use_does_not_restore_a_removed_key(self, store: Store, open_store: OpenStore) -> None:
        """``touch_keys`` records when a key was last used. It neither creates a key nor changes another tenant's key."""
        with store.write() as tx:
            tx.set_key(KEY)
            tx.touch_keys({"k1": AT + DAY, "absent": AT})
            tx.touch_keys({"k1": AT})
        with open_store(tenant="other").write() as tx:
            tx.touch_keys({"k1": AT + 2 * DAY})
        assert store.access_keys() == [replace(KEY, last_used_at=AT + DAY)]

    def test_removing_a_scope_removes_the_keys_bound_to_it(self, store: Store, open_store: OpenStore) -> None:
        """Removing a scope removes the keys bound to it, including those stored by another tenant. Other keys stay."""
        anas = replace(KEY, id="ana", tenant="acme", user="ana")
        in_app = replace(anas, id="app", app="kitchen")
        bobs, elsewhere = replace(anas, id="bob", user="bob"), replace(anas, id="elsewhere", tenant="default")
        acme = open_store(tenant="acme")
        with store.write() as tx:
            for record in (KEY, anas, in_app, bobs, elsewhere):
                tx.set_key(record)
        with acme.write() as tx:
            tx.remove_scope({"user": "ana", "app": "kitchen"})
        assert {record.id for record in store.access_keys()} == {"k1", "ana", "bob", "elsewhere"}
        with acme.write() as tx:
            tx.set_key(replace(anas, id="own"))
            tx.remove_scope({"user": "ana"})
        assert {record.id for record in store.access_keys()} == {"k1", "bob", "elsewhere"}
        assert acme.access_keys() == []

    def test_a_response_is_stored_for_its_claim_and_read_back_complete(self, store: Store, open_store: OpenStore) -> None:
        """A stored response is found by its principal and idempotency key, with its exact bytes.

        Other tenants do not find the response.
        """
        answer = replace(CLAIM, status=201, headers={"content-type": "a/b"}, body=b"\xff\x00{}")
        with store.write() as tx:
            tx.add_stored_response(CLAIM)
            assert tx.stored_response("key k1", "retry-1") == CLAIM
            assert tx.set_stored_response(answer)
        assert open_store().stored_response("key k1", "retry-1") == answer
        assert (store.stored_response("key k2", "retry-1"), store.stored_response("key k1", "retry-2")) == (None, None)
        assert open_store(tenant="other").stored_response("key k1", "retry-1") is None

    def test_a_response_is_stored_only_while_its_own_claim_exists(self, store: Store) -> None:
        """A response is stored only once, and only while its own request holds the claim on the idempotency key.

        A request claims its key when it begins. If there is no claim, or a later request has claimed the key, the response is
        not stored.
        """
        later = replace(CLAIM, at=AT + DAY)
        with store.write() as tx:
            assert not tx.set_stored_response(replace(CLAIM, status=200))
            tx.add_stored_response(later)
            assert not tx.set_stored_response(replace(CLAIM, status=200))
            assert not tx.set_stored_response(replace(later, request=b"other", status=200))
            assert tx.set_stored_response(replace(later, status=200))
            assert not tx.set_stored_response(replace(later, status=201))
        kept = store.stored_response(CLAIM.principal, CLAIM.key)
        assert kept is not None
        assert kept.status == 200

    def test_responses_are_removed_by_age_by_key_or_all(self, store: Store, open_store: OpenStore) -> None:
        """Stored responses can be removed by age, by principal and idempotency key, or all at once.

        Other tenants' responses stay.
        """
        other = open_store(tenant="other")
        with other.write() as tx:
            tx.add_stored_response(CLAIM)
        with store.write() as tx:
            for number in range(4):
                tx.add_stored_response(replace(CLAIM, key=f"retry-{number}", at=AT + number * DAY))
        assert store.has_stored_responses(before=AT + DAY)
        with store.write() as tx:
            assert tx.remove_stored_responses(before=AT + DAY) == 1
            assert tx.remove_stored_responses(principal=CLAIM.principal, key="retry-2") == 1
        assert not store.has_stored_responses(before=AT + DAY)
        assert (store.stored_response("key k1", "retry-1") is None, store.stored_response("key k1", "retry-2")) == (False, None)
        with store.write() as tx:
            assert tx.remove_stored_responses() == 2
        assert other.stored_response(CLAIM.principal, CLAIM.key) == CLAIM
