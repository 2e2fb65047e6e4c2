"""Conformance tests for removal, snapshots, checks, backups, and the separation of tenants.

A conformance test is one that every implementation of the ``Store`` protocol must pass.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter, Store
from holdfast.testing.samples import (
    ANA,
    AT,
    BOB,
    DAY,
    Alter,
    OpenStore,
    RowCounts,
    a_change,
    a_job,
    a_memory,
    a_message,
    a_session,
    remember,
    say,
)
from holdfast.testing.store_search import find
from holdfast.testing.store_vectors import embed_all, nearest, towards
from holdfast.types import Scope, UserProfile


class RemovalPromises:
    """Tests that every store must pass for removal: a removed record leaves no row in any table."""

    def test_a_removed_memory_leaves_no_row_in_any_table(self, store: Store, row_counts: RowCounts | None) -> None:
        """Removing a memory also removes its revisions, changes, sources, terms, vectors and queue entries."""
        before = self._settled(store, row_counts)
        (first,) = remember(store, a_memory("a pangolin", sources=("msg_1",)))
        embed_all(store, "a", {"a pangolin": 0})
        (second,) = remember(store, replace(first, text="two pangolins", recorded_at=AT + DAY))
        with store.write() as tx:
            tx.add_change(a_change(first))
            tx.add_change(a_change(second))
            counts = tx.remove_memories([first.id])
        assert (counts["memories"], counts["revisions"], counts["vectors"]) == (1, 2, 1)
        assert (store.revisions(first.id), store.changes(memory=first.id)) == ([], [])
        assert find(store, "pangolin", spaces=("memory", "archive")) == []
        assert "a pangolin" not in nearest(store, "a", 0, spaces=("memory", "archive"))
        assert store.memories(MemoryFilter(sources=("msg_1",), statuses=None)) == []
        assert _differing(row_counts() if row_counts else {}, before) == {}

    def test_a_removed_message_leaves_no_row_in_any_table(self, store: Store, row_counts: RowCounts | None) -> None:
        """Removing a message also removes its terms, vectors and queue entries."""
        before = self._settled(store, row_counts)
        message, waiting = say(store, a_message("a pangolin", session="kept"), a_message("not yet embedded", session="kept"))
        with store.write() as tx:
            tx.put_vectors("a", [(message.seq, 0)], towards(0))
            counts = tx.remove_messages([message.id, waiting.id])
        assert (counts["messages"], counts["vectors"]) == (2, 1)
        assert find(store, "pangolin embedded") == []
        assert "a pangolin" not in nearest(store, "a", 0)
        assert _differing(row_counts() if row_counts else {}, before) == {}

    def test_removing_a_session_removes_its_jobs(self, store: Store) -> None:
        """Removing a session also removes the jobs of that session. The jobs of other sessions stay."""
        with store.write() as tx:
            for id in ("ses_1", "ses_2"):
                tx.add_session(a_session(id))
                tx.add_job(a_job(f"digest:{id}", payload={"session": id}))
            counts = tx.remove_sessions([("ses_1", ANA)])
        assert (counts["sessions"], counts["jobs"]) == (1, 1)
        assert [session.id for session in store.sessions(SessionFilter())] == ["ses_2"]
        assert [job.payload["session"] for job in store.jobs()] == ["ses_2"]

    def test_a_removed_user_has_the_default_profile_again(self, store: Store) -> None:
        """A removed user has the default profile again. Other users keep their profiles."""
        with store.write() as tx:
            tx.set_user(UserProfile(user="ana", timezone="Europe/Madrid"))
            tx.set_user(UserProfile(user="bob", timezone="Asia/Tokyo"))
            tx.remove_scope({"user": "ana"})
        assert store.user("ana") == UserProfile(user="ana")
        assert store.user("bob").timezone == "Asia/Tokyo"

    def test_removing_missing_rows_reports_zero(self, store: Store) -> None:
        """Removing unknown ids, or an empty list, reports zero removed rows."""
        with store.write() as tx:
            for removed in (
                tx.remove_memories(["x"]),
                tx.remove_messages(["x"]),
                tx.remove_sessions([("x", ANA)]),
                tx.remove_memories([]),
            ):
                assert set(removed.values()) == {0}
            tx.remove_scope({"user": "nobody"})

    def test_many_rows_can_be_removed_at_once(self, store: Store) -> None:
        """A removal works for more ids than one SQL statement accepts as parameters, and removes no other rows."""
        stored = remember(store, *(a_memory(f"number {n}") for n in range(600)))
        with store.write() as tx:
            counts = tx.remove_memories([memory.id for memory in stored[:-1]])
        assert counts["memories"] == 599
        assert store.memories(MemoryFilter()) == [stored[-1]]

    def test_scrubbing_succeeds_when_nobody_reads(self, store: Store) -> None:
        """Scrubbing removes the bytes of a removed memory. The other memories are still found."""
        gone, _ = remember(store, a_memory("a pangolin on the roof"), a_memory("a parrot"))
        with store.write() as tx:
            tx.remove_memories([gone.id])
        assert store.scrub([b"a pangolin on the roof"]) == (True, ())
        assert find(store, "parrot") == ["a parrot"]

    def _settled(self, store: Store, row_counts: RowCounts | None) -> Mapping[str, int]:
        """Write to every table once, and return the row count of each table. Tests compare these counts with later counts.

        A store may keep some rows forever, such as partitions and counters. These rows must exist before the first count.
        """
        with store.write() as tx:
            tx.use_model("a")
            tx.add_session(a_session("kept"))
        (memory,) = remember(store, a_memory("first", sources=("msg_0",)))
        say(store, a_message("first", session="kept"))
        embed_all(store, "a", {"first": 90})
        remember(store, replace(memory, text="first", importance=1.0, recorded_at=AT + DAY))
        remember(store, replace(memory, text="second", recorded_at=AT + DAY))
        embed_all(store, "a", {"second": 90})
        return row_counts() if row_counts else {}


class OverviewPromises:
    """Tests that every store must pass for lists of its settings and scopes."""

    def test_settings_are_listed_by_prefix(self, store: Store) -> None:
        """Only settings whose names start with the prefix are listed."""
        with store.write() as tx:
            for name in ("erasure 2", "erasure 1", "erasures", "era"):
                tx.set_setting(name, name.upper())
        assert store.settings("erasure ") == {"erasure 1": "ERASURE 1", "erasure 2": "ERASURE 2"}

    def test_scopes_with_data_are_listed(self, store: Store) -> None:
        """Each scope with memories or messages is listed."""
        remember(store, a_memory("one"))
        say(store, a_message("two", scope=replace(ANA, app="kitchen")))
        assert {ANA, replace(ANA, app="kitchen")} <= set(store.scopes())


class SnapshotPromises:
    """Tests that every store must pass for snapshots: all reads in a snapshot are consistent."""

    def test_a_snapshot_sees_earlier_writes(self, store: Store, open_store: OpenStore) -> None:
        """A snapshot sees what another handle (a second open store object) wrote earlier.

        A nested snapshot is part of the outer snapshot.
        """
        remember(store, a_memory("one"))
        other = open_store()
        with other.snapshot(), other.snapshot():
            assert [memory.text for memory in other.memories(MemoryFilter())] == ["one"]
            assert other.count_memories(MemoryFilter()) == 1

    def test_an_error_in_a_snapshot_leaves_the_store_usable(self, store: Store, open_store: OpenStore) -> None:
        """Reads and new snapshots work after an exception inside a snapshot."""
        with pytest.raises(ZeroDivisionError), store.snapshot():
            raise ZeroDivisionError
        remember(open_store(), a_memory("later"))
        with store.snapshot():
            assert [memory.text for memory in store.memories(MemoryFilter())] == ["later"]


class MaintenancePromises:
    """Tests that every store must pass for statistics, checks and backups."""

    def test_statistics_count_stored_data(self, store: Store) -> None:
        """``stats()`` counts what is stored. Live memories are also counted by kind, and retired memories by status."""
        _, two = remember(store, a_memory("one"), a_memory("two", kind="event", scope=Scope(user="bob", app="kitchen")))
        remember(store, replace(two, status="forgotten", recorded_at=AT + DAY))
        say(store, a_message("three"))
        with store.write() as tx:
            tx.use_model("a")
            tx.add_job(a_job("x"))
        stats = store.stats()
        assert (stats["memories"], stats["memories_by_kind"], stats["retired"]) == (1, {"fact": 1}, {"forgotten": 1})
        assert (stats["messages"], stats["sessions"], stats["jobs"]) == (1, {"open": 1}, {"queued": 1})
        assert (stats["users"], stats["apps"], stats["models"]) == (2, 1, ["a"])
        assert stats["vectors"] == 0
        assert stats["waiting_for_vectors"] == 3
        assert stats["bytes"] > 0

    def test_a_healthy_store_passes_its_check(self, store: Store) -> None:
        """``check()`` finds no problem after all kinds of writes."""
        with store.write() as tx:
            tx.use_model("a")
        one, two = remember(store, a_memory("one"), a_memory("two"))
        embed_all(store, "a", {"one": 0, "two": 90})
        say(store, a_message("three"))
        remember(store, replace(one, status="forgotten", recorded_at=AT + DAY), replace(two, text="four", recorded_at=AT + DAY))
        with store.write() as tx:
            tx.touch([two.id], used=AT, seen=AT)
            tx.set_expiry([two.id], AT + DAY)
            tx.remove_memories([one.id])
        assert [finding for finding in store.check() if not finding.ok] == []

    @pytest.mark.parametrize("table", ["memory", "message"])
    def test_the_check_finds_an_altered_row(self, store: Store, alter_text: Alter | None, table: str) -> None:
        """The deep check compares each row with its stored hash and names an altered row. The quick check verifies no hashes."""
        if alter_text is None:
            pytest.skip("this store has no alter_text fixture")
        (altered,) = remember(store, a_memory("pays 100")) if table == "memory" else say(store, a_message("pays 100"))
        alter_text("pays 100", "pays 900")
        bad = [finding for finding in store.check() if not finding.ok]
        assert len(bad) == 1
        assert altered.id in bad[0].detail
        assert bad[0].remedy
        assert all(finding.ok for finding in store.check(deep=False))

    def test_a_backup_opens_as_a_complete_store(self, store: Store, open_store: OpenStore, tmp_path: Path) -> None:
        """A backup opens as a complete store. The original store lists the backup among its backups."""
        with store.write() as tx:
            tx.use_model("a")
        remember(store, a_memory("one"))
        say(store, a_message("two"))
        embed_all(store, "a", {"one": 0, "two": 90})
        target = tmp_path / "copies" / "copy.db"
        store.backup(target)
        copy = open_store(path=target)
        assert find(copy, "one") == ["one"]
        assert nearest(copy, "a", 90, limit=1) == ["two"]
        assert [finding for finding in copy.check() if not finding.ok] == []
        assert store.backups() == [str(target.resolve())]

    def test_the_store_has_a_location(self, store: Store) -> None:
        """The store's ``location`` is not empty, because messages to people show it."""
        assert store.location
        assert store.tenant == "default"


class TenantPromises:
    """Tests that every store must pass for the separation of tenants."""

    def test_a_tenant_sees_no_data_of_another(self, store: Store, open_store: OpenStore) -> None:
        """No read returns another tenant's rows, not even by id."""
        other = open_store(tenant="other")
        theirs = Scope(tenant="other", user="ana")
        with other.write() as tx:
            tx.use_model("a")
            tx.add_session(a_session("ses_t", scope=theirs))
            memory = tx.add_revision(a_memory("their pangolin", scope=theirs, sources=("msg_t",)))
            message = tx.add_message(a_message("their pangolin", scope=theirs, session="ses_t"))
            tx.add_change(a_change(memory))
            tx.add_job(a_job("x", id="job_t"))
            tx.set_user(UserProfile(user="ana", timezone="Asia/Tokyo"))
            tx.set_setting("color", "red")
        assert nearest(other, "a", 0, theirs) == []
        assert find(other, "pangolin", theirs)
        assert store.memories(MemoryFilter(statuses=None)) == []
        assert store.memories(MemoryFilter(ids=(memory.id,), statuses=None)) == []
        assert store.memories(MemoryFilter(items=(memory.item,), statuses=None)) == []
        assert store.memories(MemoryFilter(sources=("msg_t",), statuses=None)) == []
        assert store.messages(MessageFilter(ids=(message.id,))) == []
        assert store.session("ses_t") is None
        assert (store.revisions(memory.id), store.changes(memory=memory.id), store.jobs(ids=("job_t",))) == ([], [], [])
        assert (store.user("ana").timezone, store.setting("color")) == ("UTC", None)
        assert find(store, "pangolin") == []
        assert (store.stats()["memories"], store.stats()["messages"], store.stats()["models"]) == (0, 0, [])

    def test_a_tenant_cannot_change_data_of_another(self, store: Store, open_store: OpenStore) -> None:
        """Writes with another tenant's ids change nothing."""
        other = open_store(tenant="other")
        (memory,) = remember(other, a_memory("theirs", scope=Scope(tenant="other")))
        with store.write() as tx:
            assert tx.remove_memories([memory.id])["memories"] == 0
            tx.touch([memory.id], used=AT + DAY)
            tx.set_expiry([memory.id], AT)
            assert tx.lease_job(worker="w", now=AT, until=AT + DAY) is None
        assert other.revisions(memory.id) == [memory]

    def test_removing_a_scope_does_not_affect_another_tenant(self, store: Store, open_store: OpenStore) -> None:
        """Two tenants can each have a user of the same name. Removing one of these users removes no row of the other."""
        other = open_store(tenant="other")
        for each in (store, other):
            scope = Scope(tenant=each.tenant, user="ana")
            remember(each, a_memory("a parrot", scope=scope))
            with each.write() as tx:
                tx.add_job(a_job("x", payload={"user": "ana"}))
                tx.set_user(UserProfile(user="ana", timezone="Asia/Tokyo"))
        with store.write() as tx:
            tx.remove_memories([memory.id for memory in tx.memories(MemoryFilter())])
            tx.remove_scope({"user": "ana"})
        assert (store.jobs(), store.user("ana").timezone) == ([], "UTC")
        assert ([job.effect for job in other.jobs()], other.user("ana").timezone) == (["x"], "Asia/Tokyo")
        assert find(other, "parrot", Scope(tenant="other", user="ana")) == ["a parrot"]

    def test_tenants_may_use_the_same_ids(self, store: Store, open_store: OpenStore) -> None:
        """Two tenants can each have a memory with the same id, and a job with the same effect."""
        other = open_store(tenant="other")
        remember(store, a_memory("ours", id="mem_same"))
        remember(other, a_memory("theirs", id="mem_same", scope=Scope(tenant="other")))
        for each in (store, other):
            with each.write() as tx:
                assert tx.add_job(a_job("same"))
        assert [m.text for m in store.memories(MemoryFilter(ids=("mem_same",)))] == ["ours"]
        assert [m.text for m in other.memories(MemoryFilter(ids=("mem_same",)))] == ["theirs"]

    def test_users_of_one_tenant_are_separated_by_scope(self, store: Store) -> None:
        """A search returns only rows that the reader's scope may see."""
        remember(store, a_memory("ana's parrot"), a_memory("bob's parrot", scope=BOB))
        assert find(store, "parrot", ANA) == ["ana's parrot"]
        assert find(store, "parrot", BOB) == ["bob's parrot"]


def _differing(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the tables whose row count changed, with the old and the new count."""
    return {table: (before[table], rows) for table, rows in now.items() if rows != before[table]}
