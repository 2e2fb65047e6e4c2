"""Conformance tests for transactions and jobs."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import StoreClosed
from holdfast.protocols import MemoryFilter, MessageFilter, Store, Transaction
from holdfast.testing.samples import AT, DAY, OpenStore, RowCounts, a_change, a_job, a_memory, a_message, a_session, remember, say
from holdfast.testing.store_search import find
from holdfast.types import UserProfile

_LEASE = timedelta(minutes=5)


class TransactionPromises:
    """Tests that every store must pass for transactions, which are atomic and durable."""

    def test_an_exception_leaves_no_rows(self, store: Store, row_counts: RowCounts | None) -> None:
        """A transaction that raises leaves no row in any table."""
        before = row_counts() if row_counts else {}
        stats = {name: count for name, count in store.stats().items() if name != "bytes"}
        with pytest.raises(RuntimeError, match="half way"), store.write() as tx:  # noqa: PT012  (the whole block must be rolled back)
            tx.add_session(a_session())
            tx.add_message(a_message("soon gone"))
            memory = tx.add_revision(a_memory("soon gone"))
            tx.add_change(a_change(memory))
            tx.add_job(a_job("x"))
            tx.use_model("a")
            tx.set_user(UserProfile(user="ana", timezone="Europe/Madrid"))
            tx.set_setting("color", "red")
            raise RuntimeError("half way")
        assert {name: count for name, count in store.stats().items() if name != "bytes"} == stats
        assert (row_counts() if row_counts else {}) == before
        assert find(store, "soon gone") == []

    def test_a_write_after_a_failed_one_works(self, store: Store) -> None:
        """The same handle (open store object) can be used after a failed transaction."""
        with pytest.raises(ZeroDivisionError), store.write():
            _ = 1 // 0
        remember(store, a_memory("fine"))
        assert [m.text for m in store.memories(MemoryFilter())] == ["fine"]

    def test_messages_written_together_are_stored_and_found_like_single_ones(self, store: Store) -> None:
        """Messages of ``add_messages`` have ascending numbers, are found by their words, and are queued for embedding."""
        with store.write() as tx:
            tx.add_session(a_session())
            tx.use_model("a")
            single = tx.add_message(a_message("a heron by the pond"))
            numbers = tx.new_seqs(single.scope, 120)
            many = [replace(a_message(f"heron number {seq}"), seq=seq) for seq in numbers]
            tx.add_messages(many)
        assert list(numbers) == sorted(set(numbers))
        assert single.seq < numbers[0]
        stored = store.messages(MessageFilter())
        assert [(message.seq, message.text) for message in stored] == [(each.seq, each.text) for each in (single, *many)]
        assert find(store, f"number {numbers[60]}")[0] == f"heron number {numbers[60]}"
        assert store.count_missing_vectors("a", reader=single.scope) == 121

    def test_a_transaction_sees_its_own_writes(self, store: Store) -> None:
        """A transaction sees its own writes. Others see them only after the commit."""
        with store.write() as tx:
            tx.add_revision(a_memory("fresh"))
            assert [m.text for m in tx.memories(MemoryFilter())] == ["fresh"]
            assert store.memories(MemoryFilter()) == []

    def test_another_handle_sees_commits(self, store: Store, open_store: OpenStore) -> None:
        """Two handles (open store objects) on one store see each other's commits."""
        other = open_store()
        remember(store, a_memory("from here"))
        assert find(other, "here") == ["from here"]
        remember(other, a_memory("from there"))
        assert find(store, "there") == ["from there"]

    def test_written_data_is_there_after_reopening(self, store: Store, open_store: OpenStore) -> None:
        """Data is still there after closing and reopening the store, even if written with ``durable=False``."""
        remember(store, a_memory("lasting"))
        with store.write(durable=False) as tx:
            tx.set_setting("color", "red")
        store.close()
        again = open_store()
        assert [m.text for m in again.memories(MemoryFilter())] == ["lasting"]
        assert again.setting("color") == "red"

    def test_threads_write_and_read_at_once_and_lose_nothing(self, store: Store) -> None:
        """Messages written by concurrent threads are all stored, with distinct sequence numbers."""

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

    def test_using_a_closed_store_raises_store_closed(self, store: Store) -> None:
        """Reads, writes and searches on a closed store raise ``StoreClosed``. Closing it again is harmless."""
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
    """Tests that every store must pass for durable jobs and their leases."""

    def test_a_job_with_the_same_effect_is_queued_once(self, store: Store) -> None:
        """A second job with the same effect is refused, even if the first job is done."""
        with store.write() as tx:
            assert tx.add_job(a_job("digest:1", id="first"))
            assert not tx.add_job(a_job("digest:1", id="second"))
            tx.set_job(replace(tx.jobs(ids=("first",))[0], state="done"))
            assert not tx.add_job(a_job("digest:1", id="third"))
        assert [job.id for job in store.jobs()] == ["first"]

    def test_a_job_is_read_back_unchanged(self, store: Store, open_store: OpenStore) -> None:
        """Every field of a job is read back unchanged through another handle (a second open store object)."""
        job = a_job(
            "x",
            payload={"session": "s", "n": 1},
            priority=3,
            state="dead",
            attempt=5,
            cost=0.25,
            error="Boom: é",
            finished_at=AT + DAY,
            not_before=AT + DAY,
            worker="w",
            lease_until=AT,
        )
        with store.write() as tx:
            tx.add_job(job)
        assert open_store().jobs() == [job]

    def test_jobs_are_listed_oldest_first_by_state(self, store: Store) -> None:
        """Jobs in one of the given ``states`` are listed oldest first. With ``limit``, only the oldest are listed."""
        with store.write() as tx:
            tx.add_job(a_job("late", at=AT + DAY, id="late"))
            tx.add_job(a_job("early", id="early"))
            tx.add_job(a_job("dead", id="dead", state="dead"))
        assert [job.id for job in store.jobs(states=["queued"])] == ["early", "late"]
        assert [job.id for job in store.jobs(states=["queued"], limit=1)] == ["early"]
        assert [job.id for job in store.jobs(states=("dead", "done"))] == ["dead"]
        assert [job.id for job in store.jobs(kinds=["other"])] == []
        assert [job.id for job in store.jobs(states=["queued"], kinds=["digest", "other"], limit=1)] == ["early"]

    def test_the_most_urgent_due_job_is_leased(self, store: Store) -> None:
        """Due jobs are leased by priority, then by due time. A job that is not yet due is not leased."""
        with store.write() as tx:
            tx.add_job(a_job("later", priority=9, not_before=AT + DAY))
            tx.add_job(a_job("low", not_before=AT - DAY))
            tx.add_job(a_job("high", priority=5))
        next_one = store.next_job(now=AT)
        with store.write() as tx:
            leased = [tx.lease_job(worker="w", now=AT, until=AT + _LEASE) for _ in range(3)]
        assert [job.effect if job else None for job in (next_one, *leased)] == ["high", "high", "low", None]
        assert store.next_job(now=AT) is None
        expired = store.next_job(now=AT + _LEASE)
        assert expired is not None
        assert expired.effect == "high", "its lease has expired"

    def test_only_the_wanted_kinds_are_leased(self, store: Store) -> None:
        """``kinds`` limits the jobs that a worker leases."""
        with store.write() as tx:
            tx.add_job(a_job("other", kind="other"))
            assert tx.next_job(now=AT, kinds=("digest",)) is None
            assert tx.lease_job(worker="w", now=AT, until=AT + _LEASE, kinds=("digest",)) is None
            assert tx.lease_job(worker="w", now=AT, until=AT + _LEASE, kinds=("other", "digest")) is not None

    def test_a_leased_job_cannot_be_leased_by_another_worker(self, store: Store, open_store: OpenStore) -> None:
        """Until a job's lease expires, no other worker can lease the job."""
        with store.write() as tx:
            tx.add_job(a_job("x"))
            mine = tx.lease_job(worker="me", now=AT, until=AT + _LEASE)
        assert mine is not None
        assert (mine.state, mine.worker, mine.attempt, mine.lease_until) == ("running", "me", 1, AT + _LEASE)
        with open_store().write() as tx:
            assert tx.lease_job(worker="you", now=AT + _LEASE / 2, until=AT + DAY) is None

    def test_one_job_of_an_exclusive_kind_is_leased_per_scope(self, store: Store) -> None:
        """While a job of an exclusive kind runs, the other jobs of exclusive kinds in the same scope wait.

        Jobs of other scopes or other kinds do not wait.
        """

        def lease(tx: Transaction) -> str | None:
            job = tx.lease_job(worker="me", now=AT, until=AT + _LEASE, exclusive=("digest", "compact"))
            return None if job is None else job.effect

        ana: dict[str, Any] = {"user": "ana", "app": None, "agent": None}
        with store.write() as tx:
            tx.add_job(replace(a_job("first"), kind="digest", payload=ana))
            assert lease(tx) == "first"
            tx.add_job(replace(a_job("second"), kind="compact", payload=ana))
            assert tx.next_job(now=AT, exclusive=("digest", "compact")) is None
            assert lease(tx) is None
            tx.add_job(replace(a_job("topic"), kind="topic", payload=ana))
            tx.add_job(replace(a_job("bob"), kind="digest", payload={**ana, "user": "bob"}))
            tx.add_job(replace(a_job("nobody"), kind="digest", payload={**ana, "user": None}))
            assert {lease(tx), lease(tx), lease(tx)} == {"topic", "bob", "nobody"}
            assert lease(tx) is None
            (first,) = [job for job in tx.jobs() if job.effect == "first"]
            tx.set_job(replace(first, state="done"))
            assert lease(tx) == "second"

    def test_a_job_whose_lease_ran_out_is_taken_over(self, store: Store) -> None:
        """After the lease of a job expires, another worker can lease the job. The first worker then no longer holds the lease."""
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
        """A lease is valid for one attempt. If a worker leases a job again, its earlier lease is no longer valid."""
        with store.write() as tx:
            tx.add_job(a_job("x"))
            first = tx.lease_job(worker="me", now=AT, until=AT)
            again = tx.lease_job(worker="me", now=AT, until=AT + _LEASE)
            assert first is not None
            assert again is not None
            assert not tx.holds_lease(first)

    def test_a_finished_job_has_no_lease_and_cannot_be_leased(self, store: Store) -> None:
        """A done or dead job has no valid lease and cannot be leased again."""
        with store.write() as tx:
            for state in ("done", "dead"):
                tx.add_job(a_job(state))
                job = tx.lease_job(worker="me", now=AT, until=AT + _LEASE)
                assert job is not None
                tx.set_job(replace(job, state=state))
                assert not tx.holds_lease(job)
            assert tx.lease_job(worker="you", now=AT + DAY, until=AT + 2 * DAY) is None
