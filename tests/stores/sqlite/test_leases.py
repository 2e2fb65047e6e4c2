"""Leasing a job from a long queue does not sort the queue."""

from typing import Any

from holdfast import Engine
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing.samples import AT, a_job


def test_a_job_is_leased_from_a_long_queue_without_sorting_it(memory: Engine) -> None:
    store, plans, seen = services(memory).store, list[str](), set[str]()
    assert isinstance(store, SQLiteStore)
    with store.write() as tx:
        for number in range(50):
            tx.add_job(a_job(f"job {number}", priority=number % 3))
    connection = store.connection

    def explain(_: object, sql: str, values: Any) -> bool:
        if "FROM jobs" in sql and not sql.startswith("EXPLAIN") and sql not in seen:
            seen.add(sql)
            plans.extend(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values))
        return True

    connection.exec_trace = explain
    try:
        found = store.next_job(now=AT, kinds=["digest"], exclusive=["digest"])
    finally:
        connection.exec_trace = None
    assert found is not None
    assert found.priority == 2
    assert plans
    assert not [plan for plan in plans if "TEMP B-TREE" in plan or plan.startswith("SCAN")]
