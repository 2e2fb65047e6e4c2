"""Tenants in one database: the tenant is part of every key and every statement, and row level security separates the rows."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from holdfast.errors import StoreError
from holdfast.protocols import MemoryFilter, MessageFilter, SearchFilter, SessionFilter, Store
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.dialect import translate
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import ResultRows
from holdfast.testing.samples import ANA, AT, DAY, a_change, a_job, a_memory, a_message, a_session, remember, say
from holdfast.testing.store_vectors import embed_all, towards
from holdfast.types import AppRecord, KeyRecord, Scope, Spend, StoredResponse, UserProfile
from tests.stores.postgres.support import OpenPostgres, Run, as_owner, open_store, psycopg, server, url

__all__ = ["as_owner", "open_store", "server", "url"]

OTHER = Scope(tenant="other", user="ana")


@pytest.fixture
def both(open_store: OpenPostgres) -> tuple[PostgresStore, PostgresStore]:
    """Two tenants with one memory each. The second tenant also has a message."""
    store, other = open_store(), open_store(tenant="other")
    remember(store, a_memory("ours"))
    remember(other, a_memory("theirs", scope=OTHER))
    say(other, a_message("theirs", scope=OTHER))
    return store, other


@pytest.mark.ledger("X8")
def test_the_tenant_comes_first_in_every_key_and_index(as_owner: Run, open_store: OpenPostgres) -> None:
    store = open_store(min_indexed_vectors=3)
    with store.write() as tx:
        tx.use_model("a")
    remember(store, *(a_memory(text) for text in ("one", "two", "three")))
    embed_all(store, "a", {"one": 0, "two": 30, "three": 60})
    assert store.tidy()
    rows = as_owner(
        "SELECT tables.relname, indexes.relname, indisprimary, attname, pg_get_expr(indpred, indrelid) FROM pg_index "
        "JOIN pg_class AS tables ON tables.oid = indrelid JOIN pg_class AS indexes ON indexes.oid = indexrelid "
        "LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] "
        "WHERE tables.relnamespace = 'holdfast'::regnamespace AND tables.relname NOT IN ('migrations', 'scrubs')"
    )
    keyed = {row[0] for row in rows if row[2]}
    tables = as_owner(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast' AND tablename NOT IN ('migrations', 'scrubs')"
    )
    assert keyed == {row[0] for row in tables}
    assert len(keyed) > 15
    # An HNSW index has no key columns; its predicate restricts it to one tenant.
    wrong = [row[1] for row in rows if row[3] != "tenant" and "(tenant = 'default'::text)" not in str(row[4])]
    assert wrong == []
    assert len([row for row in rows if row[3] != "tenant"]) == 1


class Recorded(PostgresSession):
    """A database session that records the SQL text of every statement."""

    statements: ClassVar[set[str]] = set()

    def _run(self, sql: str, values: Sequence[Any], *, prepare: bool | None) -> ResultRows:
        self.statements.add(sql)
        return super()._run(sql, values, prepare=prepare)

    def execute_binary(self, sql: str, values: Sequence[Any]) -> ResultRows:
        self.statements.add(sql)
        return super().execute_binary(sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> ResultRows:
        self.statements.add(sql)
        return super().executemany(sql, rows)


class RecordedStore(PostgresStore):
    session_type = Recorded


@pytest.mark.ledger("X8")
def test_every_statement_names_the_tenant(url: str) -> None:
    store = RecordedStore(url)
    try:
        _use_everything(store)
    finally:
        store.close()
    about_rows = {
        sql for sql in Recorded.statements if re.search(r"\b(FROM|INTO|UPDATE) (?!pg_|unnest|generate_series)[a-z]", sql)
    }
    assert len(about_rows) > 60
    # Access keys are removed by the tenant they open, whichever tenant stored them; the policy permits that by name.
    nameless = {sql for sql in about_rows if "tenant" not in sql and not sql.startswith("DELETE FROM keys WHERE opens")}
    assert nameless == set()


def _use_everything(store: Store) -> None:
    with store.write() as tx:
        tx.use_model("a")
        tx.add_session(a_session())
        tx.set_session(a_session(digested_to=1))
        tx.set_user(UserProfile(user="ana", timezone="Europe/Madrid"))
        tx.set_app(AppRecord(app="kitchen", shares_with=("hall",)))
        tx.set_setting("colour", "red")
        tx.set_key(KeyRecord(id="k", hash=b"x", level="read", tenant="default", created_at=AT))
        tx.touch_keys({"k": AT})
        tx.add_stored_response(StoredResponse(principal="p", key="k", request=b"", at=AT))
        tx.set_stored_response(StoredResponse(principal="p", key="k", request=b"", at=AT, status=200))
        tx.add_spend(Spend(day="2026-03-01", purpose="digest", model="m"))
        tx.add_job(a_job("x", payload={"session": "ses_1", "user": "ana"}))
        job = tx.lease_job(worker="w", now=AT, until=AT + DAY)
        assert job is not None
        assert tx.holds_lease(job)
        tx.set_job(replace(job, state="done", finished_at=AT))
    (memory,) = remember(store, a_memory("one", sources=("msg_1",), metadata={"n": 1}))
    (message,) = say(store, a_message("two"))
    embed_all(store, "a", {"one": 0, "two": 90})
    (second,) = remember(store, replace(memory, text="three", recorded_at=AT + DAY))
    (third,) = remember(store, replace(second, importance=1.0, recorded_at=AT + DAY))
    where = SearchFilter(reader=ANA, spaces=("memory", "message"), kinds=("fact",), where={"n": 1}, without_session="s")
    store.find_text("three", where, languages=("en",), limit=5)
    store.find_vectors("a", towards(0)[0], where, limit=5)
    store.similarities("a", [memory.item, message.seq])
    store.missing_vectors("a", reader=ANA, limit=5)
    store.missing_vectors("a", limit=5)
    store.chunk_text(message.seq, 0, "two")
    store.stats()
    store.check()
    store.tidy()
    store.backups()
    for ask in (store.apps, store.access_keys, store.models, store.spend, store.jobs):
        ask()
    store.apps_sharing_with("hall")
    store.memories_by_app(unexpired_at=AT)
    store.memories_by_day(since=AT)
    store.changes_by_app(since=AT)
    store.has_stored_responses(before=AT)
    store.places([message.seq])
    store.sessions(SessionFilter(owner={"user": "ana"}))
    store.messages(MessageFilter(reader=ANA))
    store.memories(MemoryFilter(owner={"user": "ana"}, sources=("msg_1",), where={"n": {"$gt": 0}}))
    store.count_memories(MemoryFilter(exactly=ANA))
    with store.write() as tx:
        tx.add_change(a_change(third))
        tx.changes(memory=third.id)
        tx.touch([third.id], used=AT, seen=AT)
        tx.set_expiry([third.id], AT)
        tx.set_action([message.id], "noise")
        tx.set_sources(third.id, [])
        tx.remove_stored_responses(before=AT)
        tx.remove_done_jobs(before=AT + DAY)
        tx.remove_memories([third.id])
        tx.remove_messages([message.id])
        tx.remove_sessions([("ses_1", ANA)])
        tx.remove_scope({"user": "ana"})
        tx.remove_scope({"app": "kitchen"})
        tx.drop_model("a")


@pytest.mark.ledger("X8")
def test_a_statement_without_a_tenant_condition_reads_only_its_own_tenant(
    both: tuple[PostgresStore, PostgresStore], as_owner: Run
) -> None:
    store, other = both
    assert len(as_owner("SELECT * FROM memories")) == 2
    for table, ours, theirs in (("memories", 1, 1), ("messages", 0, 1), ("units", 1, 2), ("sessions", 0, 1)):
        assert (_bare(store, table), _bare(other, table)) == (ours, theirs), table


def _bare(store: PostgresStore, table: str) -> int:
    """Return the number of rows that the store's connection reads from a table with an unconditional ``SELECT``."""
    return store.guard(lambda: len(store.connection.execute(f"SELECT * FROM {table}").fetchall()))


def test_every_table_with_a_tenant_has_row_level_security(as_owner: Run) -> None:
    rows = as_owner(
        "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE relkind = 'r' AND attname = 'tenant' AND relnamespace = 'holdfast'::regnamespace"
    )
    assert len(rows) > 15
    assert [row for row in rows if row[1:] != (True, True)] == []


def test_a_statement_without_a_tenant_condition_changes_only_its_own_tenant(
    both: tuple[PostgresStore, PostgresStore], as_owner: Run
) -> None:
    store, _ = both
    with store.write() as tx:
        tx.connection.execute("UPDATE memories SET importance = 0")
        tx.connection.execute("DELETE FROM messages")
        tx.connection.execute("DELETE FROM keys")
    assert as_owner("SELECT importance FROM memories WHERE tenant = 'other'") == [(5.0,)]
    assert len(as_owner("SELECT 1 FROM messages")) == 1


def test_a_row_of_another_tenant_cannot_be_written(both: tuple[PostgresStore, PostgresStore]) -> None:
    store, _ = both
    with pytest.raises(StoreError, match="row-level security"), store.write() as tx:
        tx.connection.execute("INSERT INTO settings (tenant, name, value) VALUES ('other', 'a', 'b')")


def test_a_connection_that_names_no_tenant_sees_an_error_and_no_rows(both: tuple[PostgresStore, PostgresStore], url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET ROLE holdfast_rows")
        with pytest.raises(psycopg.Error, match=r"holdfast\.tenant"):
            connection.execute("SELECT * FROM holdfast.memories")


def test_a_tenant_cannot_read_access_keys_but_erasing_a_user_removes_them(open_store: OpenPostgres) -> None:
    store, acme = open_store(), open_store(tenant="acme")
    with store.write() as tx:
        tx.set_key(KeyRecord(id="k", hash=b"x", level="read", tenant="acme", user="ana", created_at=AT))
    with acme.write() as tx:
        tx.remove_scope({"user": "bob"})
        assert tx.connection.execute("SELECT * FROM keys").fetchall() == []
        tx.remove_scope({"user": "ana"})
    assert store.access_keys() == []


@pytest.mark.parametrize("tenant", ["o'brien", 'a"b', "x; DROP TABLE memories", "%s", "?1", "ñandú 🪶", "$$"])
def test_a_tenant_can_have_any_name(open_store: OpenPostgres, tenant: str) -> None:
    store = open_store(tenant=tenant)
    remember(store, a_memory("theirs", scope=Scope(tenant=tenant)))
    assert [memory.text for memory in open_store(tenant=tenant).memories(MemoryFilter())] == ["theirs"]
    assert open_store().memories(MemoryFilter()) == []


def test_columns_named_like_keywords_are_quoted_and_string_literals_are_not() -> None:
    common = "SELECT user, units.window FROM users WHERE user = ? AND name = 'user ?' AND x IN () AND current_user = ?"
    assert translate(common) == (
        'SELECT "user", units."window" FROM users WHERE "user" = $1 AND name = \'user ?\' AND x IN (NULL) AND current_user = $2'
    )


def test_many_tenants_share_the_connections_of_a_process(open_store: OpenPostgres, as_owner: Run) -> None:
    stores = [open_store(tenant=f"t{number}") for number in range(20)]
    for store in stores:
        remember(store, a_memory(f"secret of {store.tenant}", scope=Scope(tenant=store.tenant, user="ana")))
    for store in reversed(stores):
        assert [memory.text for memory in store.memories(MemoryFilter())] == [f"secret of {store.tenant}"]
    used = as_owner("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast' AND datname = current_database()")
    assert int(str(used[0][0])) <= 3


def test_a_connection_that_was_lost_while_another_tenant_had_it_is_replaced(
    both: tuple[PostgresStore, PostgresStore], as_owner: Run
) -> None:
    store, other = both
    gone = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'holdfast'"
    for each, scope in ((store, ANA), (other, OTHER)):
        assert as_owner(f"{gone} AND datname = current_database()")
        remember(each, a_memory("after the cut", scope=scope))
        assert len(each.memories(MemoryFilter())) == 2
