"""Conformance tests for memories with their revisions and changes.

A handle is an open store object. Several handles can be open on the same store.
"""

from dataclasses import replace

import pytest

from holdfast.errors import InvalidInput
from holdfast.protocols import MemoryFilter, SessionFilter, Store
from holdfast.testing.samples import ANA, AT, BOB, DAY, SHARED, OpenStore, a_change, a_memory, remember
from holdfast.types import Scope


class MemoryPromises:
    """Tests that every store must pass for memory records and their revisions."""

    def test_a_memory_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """Every field of a memory is read back unchanged through another handle (a second open store object)."""
        memory = a_memory(
            "prefers tea",
            scope=Scope(app="kitchen", user="ana", agent="chef"),
            key="drink",
            topic="taste",
            importance=7.5,
            tags=("a", "ñ"),
            metadata={"s": "x", "i": 1, "f": 1.5, "b": True, "n": None, "l": ["x", 1]},
            origin="import",
            trust=0.4,
            sources=("msg_1", "mem_9"),
            pinned=True,
            language="en",
            valid_from=AT - DAY,
            valid_to=AT + DAY,
            expires_at=AT + 2 * DAY,
            last_used_at=AT,
            last_seen_at=AT,
            reason="because",
            content_hash="00ff",
        )
        (stored,) = remember(store, memory)
        assert stored == replace(memory, item=stored.item)
        assert open_store().memories(MemoryFilter(ids=(memory.id,))) == [stored]

    def test_memories_are_read_in_pages_by_id(self, store: Store) -> None:
        """With ``after_id``, memories are listed in the order of their ids, starting after this id.

        Only the current revision of each memory is listed.
        """
        remember(store, *(a_memory(id, id=id, scope=scope) for id, scope in (("mem_c", BOB), ("mem_a", ANA), ("mem_b", ANA))))
        remember(store, a_memory("revised", id="mem_a"))
        every = MemoryFilter(after_id="", statuses=None)
        assert [(m.id, m.revision) for m in store.memories(every)] == [("mem_a", 2), ("mem_b", 1), ("mem_c", 1)]
        assert [m.id for m in store.memories(replace(every, after_id="mem_a", limit=1))] == ["mem_b"]
        assert [m.id for m in store.memories(replace(every, owner={"user": "bob"}))] == ["mem_c"]

    def test_the_first_stored_revision_keeps_its_number(self, store: Store) -> None:
        """An imported memory without its earlier revisions keeps its revision number. The next revision has the next number."""
        first, second = remember(store, a_memory("one", id="mem_a", revision=7), a_memory("two", id="mem_a"))
        assert (first.revision, second.revision) == (7, 8)

    def test_a_change_adds_a_revision_and_ends_the_previous_one(self, store: Store) -> None:
        """After a change, only the current revision is listed; ``revisions`` returns both."""
        (first,) = remember(store, a_memory("lives in Lyon"))
        (second,) = remember(store, replace(first, text="lives in Porto", recorded_at=AT + DAY, updated_at=AT + DAY))
        assert second.revision == 2
        assert [m.text for m in store.memories(MemoryFilter())] == ["lives in Porto"]
        assert [(m.text, m.recorded_to) for m in store.revisions(first.id)] == [
            ("lives in Lyon", AT + DAY),
            ("lives in Porto", None),
        ]

    def test_known_at_returns_the_revision_of_that_time(self, store: Store) -> None:
        """With ``known_at``, a read returns the revision that was current at that time."""
        (first,) = remember(store, a_memory("lives in Lyon"))
        remember(store, replace(first, text="lives in Porto", recorded_at=AT + DAY))
        for moment, texts in (
            (AT - DAY, []),
            (AT, ["lives in Lyon"]),
            (AT + DAY, ["lives in Porto"]),
            (AT + 2 * DAY, ["lives in Porto"]),
        ):
            assert [m.text for m in store.memories(MemoryFilter(known_at=moment))] == texts

    def test_as_of_returns_memories_that_were_valid_then(self, store: Store) -> None:
        """``as_of`` selects memories with ``valid_from <= time < valid_to``. Memories that had expired by then are left out."""
        remember(store, a_memory("Lyon", valid_to=AT + DAY, status="superseded"), a_memory("Porto", valid_from=AT + DAY))
        remember(store, a_memory("today only", expires_at=AT + DAY))
        for moment, texts in ((AT - DAY, set()), (AT, {"Lyon", "today only"}), (AT + DAY, {"Porto"})):
            assert {m.text for m in store.memories(MemoryFilter(as_of=moment, statuses=["live", "superseded"]))} == texts

    def test_only_live_memories_are_listed_unless_asked(self, store: Store) -> None:
        """Retired memories are listed only if ``statuses`` includes their status."""
        (memory,) = remember(store, a_memory("old news"))
        remember(store, replace(memory, status="forgotten", retired_at=AT + DAY, recorded_at=AT + DAY))
        assert store.memories(MemoryFilter()) == []
        assert [m.text for m in store.memories(MemoryFilter(statuses=("forgotten",)))] == ["old news"]
        assert [m.text for m in store.memories(MemoryFilter(statuses=None))] == ["old news"]

    def test_a_reader_sees_shared_and_own_memories(self, store: Store) -> None:
        """A reader sees a memory if each part of the memory's scope is empty or equals that part of the reader's scope."""
        scopes = [
            Scope(app=app, user=user, agent=agent)
            for app in (None, "kitchen", "hall")
            for user in (None, "ana", "bob")
            for agent in (None, "chef")
        ]
        remember(store, *(a_memory(repr(scope), scope=scope) for scope in scopes))
        for reader in scopes:
            seen = {m.text for m in store.memories(MemoryFilter(reader=reader))}
            assert seen == {repr(scope) for scope in scopes if reader.sees(scope)}

    def test_exactly_and_owner_filter_by_scope(self, store: Store) -> None:
        """``exactly`` selects memories with exactly this scope.

        ``owner`` names some parts of a scope (user, app, agent) and selects memories that match these parts.
        """
        kitchen = Scope(user="ana", app="kitchen")
        remember(store, a_memory("general"), a_memory("kitchen", scope=kitchen), a_memory("shared", scope=SHARED))
        assert [m.text for m in store.memories(MemoryFilter(exactly=ANA))] == ["general"]
        assert {m.text for m in store.memories(MemoryFilter(owner={"user": "ana"}))} == {"general", "kitchen"}
        assert [m.text for m in store.memories(MemoryFilter(owner={"app": "kitchen", "user": "ana"}))] == ["kitchen"]

    def test_memories_are_filtered_by_each_condition(self, store: Store) -> None:
        """Each filter of ``MemoryFilter`` works on its own."""
        (one, two) = remember(
            store,
            a_memory("one", key="drink", topic="taste", pinned=True, content_hash="aa", sources=("msg_1",)),
            a_memory("two", kind="event", expires_at=AT + DAY, retired_at=AT, at=AT + DAY),
        )
        for filters, expected in (
            (MemoryFilter(key="drink"), [one]),
            (MemoryFilter(topic="taste"), [one]),
            (MemoryFilter(pinned=True), [one]),
            (MemoryFilter(pinned=False), [two]),
            (MemoryFilter(content_hash="aa"), [one]),
            (MemoryFilter(sources=("msg_1", "msg_2")), [one]),
            (MemoryFilter(kinds=("event",)), [two]),
            (MemoryFilter(items=(two.item,)), [two]),
            (MemoryFilter(expired_by=AT + DAY), [two]),
            (MemoryFilter(unexpired_at=AT + DAY), [one]),
            (MemoryFilter(retired_before=AT + DAY), [two]),
            (MemoryFilter(limit=1), [two]),
            (MemoryFilter(limit=1, offset=1), [one]),
            (MemoryFilter(newest_first=False), [one, two]),
            (MemoryFilter(ids=()), []),
        ):
            assert store.memories(filters) == expected, filters

    def test_learned_memories_that_were_never_used_can_be_selected(self, store: Store) -> None:
        """``unused_since`` selects extracted, unpinned memories that were neither used nor stated again since the given time."""
        remember(
            store,
            a_memory("idle", origin="auto"),
            a_memory("told", origin="explicit"),
            a_memory("pinned", origin="auto", pinned=True),
            a_memory("used", origin="auto", last_used_at=AT + 2 * DAY),
            a_memory("said again", origin="auto", last_seen_at=AT + 2 * DAY),
        )
        found = store.memories(MemoryFilter(unused_since=AT + DAY))
        assert [memory.text for memory in found] == ["idle"]
        assert store.memories(MemoryFilter(unused_since=AT)) == []

    @pytest.mark.parametrize("limit", [-1, 2**63])
    def test_a_limit_out_of_range_is_refused(self, store: Store, limit: int) -> None:
        """Every store raises ``InvalidInput`` for a negative limit, and for a limit that does not fit in 64 bits."""
        with pytest.raises(InvalidInput, match=f"limit is {limit}"):
            store.memories(MemoryFilter(limit=limit))
        with pytest.raises(InvalidInput, match=f"limit is {limit}"):
            store.sessions(SessionFilter(limit=limit))
        with pytest.raises(InvalidInput, match=f"limit is {limit}"):
            store.jobs(limit=limit)

    def test_keys_are_listed_once_and_several_can_be_selected(self, store: Store) -> None:
        """``keys()`` lists each key of a scope once. The filter ``keys`` selects the memories with one of several keys."""
        for text, key, scope in (
            ("tea", "drink", ANA),
            ("milk", "drink", ANA),
            ("rye", "bread", ANA),
            ("no key", None, ANA),
            ("b", "car", BOB),
        ):
            remember(store, a_memory(text, key=key, scope=scope))
        assert store.keys(MemoryFilter(exactly=ANA)) == ["bread", "drink"]
        found = store.memories(MemoryFilter(keys=["bread", "car"]))
        assert {memory.text for memory in found} == {"rye", "b"}
        assert store.memories(MemoryFilter(keys=[])) == []

    def test_counting_equals_listing_without_its_limit(self, store: Store) -> None:
        """``count_memories`` ignores the limit, so that a paged list can show the total."""
        remember(store, *(a_memory(f"number {n}") for n in range(5)))
        assert store.count_memories(MemoryFilter(reader=ANA, limit=2)) == 5

    def test_last_use_and_last_statement_are_updated_in_place(self, store: Store) -> None:
        """``touch`` records when memories were last used or stated. It adds no revision, and changes no other memory."""
        one, two = remember(store, a_memory("one"), a_memory("two"))
        with store.write(durable=False) as tx:
            tx.touch([one.id], used=AT + DAY)
            tx.touch([one.id], seen=AT + 2 * DAY)
        assert store.revisions(one.id) == [replace(one, last_used_at=AT + DAY, last_seen_at=AT + 2 * DAY)]
        assert store.revisions(two.id) == [two]

    def test_expiry_is_changed_in_place(self, store: Store) -> None:
        """``set_expiry`` changes the expiry time without adding a revision."""
        (one,) = remember(store, a_memory("one", expires_at=AT))
        with store.write() as tx:
            tx.set_expiry([one.id], AT + DAY)
        assert store.revisions(one.id) == [replace(one, expires_at=AT + DAY)]

    def test_changes_are_listed_by_memory_batch_and_id_with_their_revision(self, store: Store) -> None:
        """Changes are listed oldest first. The field ``after`` is the revision that the change produced."""
        (first,) = remember(store, a_memory("one"))
        (second,) = remember(store, replace(first, text="two", recorded_at=AT + DAY))
        created = a_change(first, reason="said so")
        revised = a_change(second, batch="bat_2", action="revised", at=AT + DAY)
        with store.write() as tx:
            tx.add_change(revised)
            tx.add_change(created)
        history = store.changes(memory=first.id)
        assert [(c.id, c.action, c.reason) for c in history] == [
            (created.id, "created", "said so"),
            (revised.id, "revised", None),
        ]
        assert [c.after.text for c in history if c.after] == ["one", "two"]
        assert [c.id for c in store.changes(batch="bat_2")] == [revised.id]
        assert [c.id for c in store.changes(id=created.id)] == [created.id]
        assert store.changes(memory="mem_absent") == []
