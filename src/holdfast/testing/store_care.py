"""What every store owes its owner: transactions, work that is not lost, removal, checks, copies, separation."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.errors import StoreClosed
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
from holdfast.testing.store_search import embed_all, find, nearest, towards
from holdfast.types import Scope, UserProfile

_LEASE = timedelta(minutes=5)


class TransactionPromises:
    """All or nothing."""

    def test_an_exception_leaves_nothing(self, store: Store, row_counts: RowCounts | None) -> None:
        """Not a row of any kind."""
        before = row_counts() if row_counts else {}
        stats = {name: count for name, count in store.stats().items() if name != "bytes"}
        with pytest.raises(RuntimeError, match="half way"), store.write() as tx:
            tx.add_session(a_session())
            tx.add_message(a_message("soon gone"))
            memory = tx.add_revision(a_memory("soon gone"))
            tx.add_change(a_change(memory))
            tx.add_job(a_job("x"))
            tx.use_model("a")
            tx.set_user(UserProfile(user="ana", timezone="Europe/Madrid"))
            tx.set_setting("colour", "red")
            raise RuntimeError("half way")
        assert {name: count for name, count in store.stats().items() if name != "bytes"} == stats
        assert (row_counts() if row_counts else {}) == before
        assert find(store, "soon gone") == []

    def test_a_write_after_a_failed_one_works(self, store: Store) -> None:
        """The handle is not left in a broken state."""
        with pytest.raises(ZeroDivisionError), store.write():
            _ = 1 // 0
        remember(store, a_memory("fine"))
        assert [m.text for m in store.memories(MemoryFilter())] == ["fine"]

    def test_a_transaction_reads_what_it_wrote(self, store: Store) -> None:
        """Before anyone else can."""
        with store.write() as tx:
            tx.add_revision(a_memory("fresh"))
            assert [m.text for m in tx.memories(MemoryFilter())] == ["fresh"]
            assert store.memories(MemoryFilter()) == []

    def test_another_handle_sees_what_was_committed(self, store: Store, open_store: OpenStore) -> None:
        """In both directions."""
        other = open_store()
        remember(store, a_memory("from here"))
        assert find(other, "here") == ["from here"]
        remember(other, a_memory("from there"))
        assert find(store, "there") == ["from there"]

    def test_what_was_written_is_there_after_reopening(self, store: Store, open_store: OpenStore) -> None:
        """Closing loses nothing."""
        remember(store, a_memory("lasting"))
        with store.write(durable=False) as tx:
            tx.set_setting("colour", "red")
        store.close()
        again = open_store()
        assert [m.text for m in again.memories(MemoryFilter())] == ["lasting"]
        assert again.setting("colour") == "red"

    def test_threads_write_and_read_at_once_and_lose_nothing(self, store: Store) -> None:
        """Each message has a number of its own."""

        def talk(who: int) -> None:
            for n in range(10):
                say(store, a_message(f"{who} says {n}", session=f"ses_{who}"))
                store.messages(MessageFilter(session=f"ses_{who}"))

        threads = [threading.Thread(target=talk, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seqs = [message.seq for message in store.messages(MessageFilter())]
        assert len(seqs) == len(set(seqs)) == 40

    def test_a_closed_store_says_so(self, store: Store) -> None:
        """For reading, writing and searching; closing again is harmless."""
        store.close()
        store.close()
        with pytest.raises(StoreClosed):
            store.memories(MemoryFilter())
        with pytest.raises(StoreClosed), store.write():
            pass
        with pytest.raises(StoreClosed):
            find(store, "x")
        with pytest.raises(StoreClosed):
            store.check()


class JobPromises:
    """Durable work."""

    def test_the_same_effect_is_queued_once(self, store: Store) -> None:
        """Also after the first was done."""
        with store.write() as tx:
            assert tx.add_job(a_job("digest:1", id="first"))
            assert not tx.add_job(a_job("digest:1", id="second"))
            tx.set_job(replace(tx.jobs(ids=("first",))[0], state="done"))
            assert not tx.add_job(a_job("digest:1", id="third"))
        assert [job.id for job in store.jobs()] == ["first"]

    def test_a_job_comes_back_as_it_was_stored(self, store: Store, open_store: OpenStore) -> None:
        """Every field."""
        job = a_job(
            "x", payload={"session": "s", "n": 1}, priority=3, state="dead", attempt=5, cost=0.25, error="Boom: é",
            finished_at=AT + DAY, not_before=AT + DAY, worker="w", lease_until=AT,
        )  # fmt: skip
        with store.write() as tx:
            tx.add_job(job)
        assert open_store().jobs() == [job]

    def test_jobs_are_listed_oldest_first_by_state(self, store: Store) -> None:
        """With a limit."""
        with store.write() as tx:
            tx.add_job(a_job("late", at=AT + DAY, id="late"))
            tx.add_job(a_job("early", id="early"))
            tx.add_job(a_job("dead", id="dead", state="dead"))
        assert [job.id for job in store.jobs(states=("queued",))] == ["early", "late"]
        assert [job.id for job in store.jobs(states=("queued",), limit=1)] == ["early"]
        assert [job.id for job in store.jobs(states=("dead", "done"))] == ["dead"]

    def test_the_most_urgent_due_job_is_leased(self, store: Store) -> None:
        """By priority, then by when it was due; what is not due yet waits."""
        with store.write() as tx:
            tx.add_job(a_job("later", priority=9, not_before=AT + DAY))
            tx.add_job(a_job("low", not_before=AT - DAY))
            tx.add_job(a_job("high", priority=5))
            leased = [tx.lease_job(worker="w", now=AT, until=AT + _LEASE) for _ in range(3)]
        assert [job.effect if job else None for job in leased] == ["high", "low", None]

    def test_only_the_wanted_kinds_are_leased(self, store: Store) -> None:
        """A worker takes what it can do."""
        with store.write() as tx:
            tx.add_job(a_job("other", kind="other"))
            assert tx.lease_job(worker="w", now=AT, until=AT + _LEASE, kinds=("digest",)) is None
            assert tx.lease_job(worker="w", now=AT, until=AT + _LEASE, kinds=("other", "digest")) is not None

    def test_a_leased_job_is_taken_by_nobody_else(self, store: Store, open_store: OpenStore) -> None:
        """Until its lease ends."""
        with store.write() as tx:
            tx.add_job(a_job("x"))
            mine = tx.lease_job(worker="me", now=AT, until=AT + _LEASE)
        assert mine is not None
        assert (mine.state, mine.worker, mine.attempt, mine.lease_until) == ("running", "me", 1, AT + _LEASE)
        with open_store().write() as tx:
            assert tx.lease_job(worker="you", now=AT + _LEASE / 2, until=AT + DAY) is None

    def test_a_job_whose_lease_ran_out_is_taken_over(self, store: Store) -> None:
        """And the first worker can no longer finish it."""
        with store.write() as tx:
            tx.add_job(a_job("x"))
            mine = tx.lease_job(worker="me", now=AT, until=AT + _LEASE)
            assert mine is not None
            assert tx.holds_lease(mine)
            yours = tx.lease_job(worker="you", now=AT + _LEASE, until=AT + 2 * _LEASE)
            assert yours is not None
            assert yours.attempt == 2
            assert not tx.holds_lease(mine)
            assert tx.holds_lease(yours)

    def test_the_same_worker_does_not_hold_an_earlier_attempt(self, store: Store) -> None:
        """The attempt is part of the lease."""
        with store.write() as tx:
            tx.add_job(a_job("x"))
            first = tx.lease_job(worker="me", now=AT, until=AT)
            again = tx.lease_job(worker="me", now=AT, until=AT + _LEASE)
            assert first is not None
            assert again is not None
            assert not tx.holds_lease(first)

    def test_a_finished_job_is_held_and_leased_by_nobody(self, store: Store) -> None:
        """Nor a dead one."""
        with store.write() as tx:
            for state in ("done", "dead"):
                tx.add_job(a_job(state))
                job = tx.lease_job(worker="me", now=AT, until=AT + _LEASE)
                assert job is not None
                tx.set_job(replace(job, state=state))
                assert not tx.holds_lease(job)
            assert tx.lease_job(worker="you", now=AT + DAY, until=AT + 2 * DAY) is None


class RemovalPromises:
    """Gone means gone."""

    def test_a_removed_memory_leaves_no_row_in_any_table(self, store: Store, row_counts: RowCounts | None) -> None:
        """Revisions, changes, provenance, terms, vectors and queue."""
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
        """Terms, vectors, queue and what names it as a source."""
        before = self._settled(store, row_counts)
        message, waiting = say(store, a_message("a pangolin", session="kept"), a_message("not yet embedded", session="kept"))
        with store.write() as tx:
            tx.put_vectors("a", [(message.seq, 0)], towards(0))
            counts = tx.remove_messages([message.id, waiting.id])
        assert (counts["messages"], counts["vectors"]) == (2, 1)
        assert find(store, "pangolin embedded") == []
        assert "a pangolin" not in nearest(store, "a", 0)
        assert _differing(row_counts() if row_counts else {}, before) == {}

    def test_a_removed_session_takes_its_jobs_along(self, store: Store) -> None:
        """And no others."""
        with store.write() as tx:
            for id in ("ses_1", "ses_2"):
                tx.add_session(a_session(id))
                tx.add_job(a_job(f"digest:{id}", payload={"session": id}))
            counts = tx.remove_sessions(["ses_1"])
        assert (counts["sessions"], counts["jobs"]) == (1, 1)
        assert [session.id for session in store.sessions(SessionFilter())] == ["ses_2"]
        assert [job.payload["session"] for job in store.jobs()] == ["ses_2"]

    def test_a_removed_user_is_a_stranger_again(self, store: Store) -> None:
        """Others are not touched."""
        with store.write() as tx:
            tx.set_user(UserProfile(user="ana", timezone="Europe/Madrid"))
            tx.set_user(UserProfile(user="bob", timezone="Asia/Tokyo"))
            tx.remove_user("ana")
        assert store.user("ana") == UserProfile(user="ana")
        assert store.user("bob").timezone == "Asia/Tokyo"

    def test_removing_what_is_not_there_counts_nothing(self, store: Store) -> None:
        """Nor does removing nothing."""
        with store.write() as tx:
            for removed in (
                tx.remove_memories(["x"]),
                tx.remove_messages(["x"]),
                tx.remove_sessions(["x"]),
                tx.remove_memories([]),
            ):
                assert set(removed.values()) == {0}
            tx.remove_user("nobody")

    def test_many_rows_are_removed_at_once(self, store: Store) -> None:
        """More than a statement can bind, and nothing besides."""
        stored = remember(store, *(a_memory(f"number {n}") for n in range(600)))
        with store.write() as tx:
            counts = tx.remove_memories([memory.id for memory in stored[:-1]])
        assert counts["memories"] == 599
        assert store.memories(MemoryFilter()) == [stored[-1]]

    def test_scrubbing_succeeds_when_nobody_reads(self, store: Store) -> None:
        """And what is left still works."""
        gone, _ = remember(store, a_memory("a pangolin on the roof"), a_memory("a parrot"))
        with store.write() as tx:
            tx.remove_memories([gone.id])
        assert store.scrub([b"a pangolin on the roof"]) == (True, ())
        assert find(store, "parrot") == ["a parrot"]

    def _settled(self, store: Store, row_counts: RowCounts | None) -> Mapping[str, int]:
        """Use every table once, so that what stays by design (partitions, numbers) is there already."""
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


class CarePromises:
    """Counting, checking, copying."""

    def test_statistics_count_what_is_there(self, store: Store) -> None:
        """By kind and status too."""
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
        """After every sort of write."""
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
        """By its hash, naming the row; the quick check does not look."""
        if alter_text is None:
            pytest.skip("this store gives no way to alter a row behind its back")
        (altered,) = remember(store, a_memory("pays 100")) if table == "memory" else say(store, a_message("pays 100"))
        alter_text("pays 100", "pays 900")
        bad = [finding for finding in store.check() if not finding.ok]
        assert len(bad) == 1
        assert altered.id in bad[0].detail
        assert bad[0].remedy
        assert all(finding.ok for finding in store.check(deep=False))

    def test_a_backup_opens_as_a_store_with_all_there_is(self, store: Store, open_store: OpenStore, tmp_path: Path) -> None:
        """And the original knows of it."""
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

    def test_the_store_says_where_it_is(self, store: Store) -> None:
        """For messages to people."""
        assert store.location
        assert store.tenant == "default"


class TenantPromises:
    """Several owners in one place never meet."""

    def test_a_tenant_sees_nothing_of_another(self, store: Store, open_store: OpenStore) -> None:
        """By any question, also by id."""
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
            tx.set_setting("colour", "red")
        assert nearest(other, "a", 0, theirs) == []
        assert find(other, "pangolin", theirs)
        assert store.memories(MemoryFilter(statuses=None)) == []
        assert store.memories(MemoryFilter(ids=(memory.id,), statuses=None)) == []
        assert store.memories(MemoryFilter(items=(memory.item,), statuses=None)) == []
        assert store.memories(MemoryFilter(sources=("msg_t",), statuses=None)) == []
        assert store.messages(MessageFilter(ids=(message.id,))) == []
        assert store.session("ses_t") is None
        assert (store.revisions(memory.id), store.changes(memory=memory.id), store.jobs(ids=("job_t",))) == ([], [], [])
        assert (store.user("ana").timezone, store.setting("colour")) == ("UTC", None)
        assert find(store, "pangolin") == []
        assert (store.stats()["memories"], store.stats()["messages"], store.stats()["models"]) == (0, 0, [])

    def test_a_tenant_cannot_change_what_another_has(self, store: Store, open_store: OpenStore) -> None:
        """Removing by a foreign id does nothing."""
        other = open_store(tenant="other")
        (memory,) = remember(other, a_memory("theirs", scope=Scope(tenant="other")))
        with store.write() as tx:
            assert tx.remove_memories([memory.id])["memories"] == 0
            tx.touch([memory.id], used=AT + DAY)
            tx.set_expiry([memory.id], AT)
            assert tx.lease_job(worker="w", now=AT, until=AT + DAY) is None
        assert other.revisions(memory.id) == [memory]

    def test_tenants_may_use_the_same_ids(self, store: Store, open_store: OpenStore) -> None:
        """Each has its own."""
        other = open_store(tenant="other")
        remember(store, a_memory("ours", id="mem_same"))
        remember(other, a_memory("theirs", id="mem_same", scope=Scope(tenant="other")))
        for each in (store, other):
            with each.write() as tx:
                assert tx.add_job(a_job("same"))
        assert [m.text for m in store.memories(MemoryFilter(ids=("mem_same",)))] == ["ours"]
        assert [m.text for m in other.memories(MemoryFilter(ids=("mem_same",)))] == ["theirs"]

    def test_users_of_one_tenant_are_kept_apart_by_scope(self, store: Store) -> None:
        """The reader's scope decides, for rows and for words."""
        remember(store, a_memory("ana's parrot"), a_memory("bob's parrot", scope=BOB))
        assert find(store, "parrot", ANA) == ["ana's parrot"]
        assert find(store, "parrot", BOB) == ["bob's parrot"]


def _differing(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the tables whose number of rows changed."""
    return {table: (before[table], rows) for table, rows in now.items() if rows != before[table]}
