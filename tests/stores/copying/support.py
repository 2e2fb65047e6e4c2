"""A store of two tenants with rows in every table, and helpers that copy it and read it."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import holdfast
from holdfast import Engine
from holdfast.access.keys import Gate
from holdfast.services import services
from holdfast.stores.copying import CopyReport, copy_store, open_side
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.testing.samples import AT, a_job
from holdfast.types import Spend, StoredResponse

TENANTS = ("default", "ñandú & co")
QUESTIONS = ("what does she drink?", "¿dónde vive?", "the garden in spring", "moon", "which tea on day 7")


def open_engine(place: str | Path, tenant: str = "default", **more: object) -> Engine:
    """Open an engine with a small embedder and without a background worker."""
    options = {"worker": "none", "embedder": HashEmbedder(), "clock": FrozenClock("2026-03-02T12:00:00"), **more}
    return holdfast.open(str(place), tenant=tenant, **options)  # type: ignore[arg-type]


def fill(place: str | Path, *, memories: int = 20, **more: object) -> None:
    """Store messages, memories, revisions, forgotten memories and records for two tenants."""
    for tenant in TENANTS:
        with open_engine(place, tenant, **more) as memory:
            _talk(memory)
            _learn(memory, memories)
            _keep_records(memory)
            memory.drain()
            with services(memory).store.write() as tx:  # a second model, whose vectors are not computed yet
                tx.use_model("another")
            memory.remember("the last thing, not embedded yet", user="ana")


def _talk(memory: Engine) -> None:
    session = memory.session(user="ana", app="garden")
    session.add("user", "I live in Lyon and I drink green tea, 緑茶.")
    session.add("assistant", "Noted. Tea it is.")
    session.add("user", "Vivo en Lyon desde marzo. ¿Qué tal 👩‍👩‍👧‍👦?")
    session.end()
    memory.session(user="bob").add("user", "My name is Bob and I keep bees. " * 200)


def _learn(memory: Engine, number: int) -> None:
    for place in range(number):
        memory.remember(f"day {place}: tea in the garden with {place} bees", user="ana", tags=["tea"], metadata={"n": place / 7})
    changed = memory.remember("prefers black tea", user="ana", key="drink", importance=0.7, pinned=True)
    memory.remember("prefers mint tea", user="ana", key="drink")
    memory.revise(changed.id, "prefers mint tea, no sugar", reason="said so")
    memory.forget(memory.remember("likes the moon", user="ana").id)
    memory.remember("the café is closed on Mondays", kind="fact", topic="town")
    memory.remember("watered", app="garden", agent="hose")


def _keep_records(memory: Engine) -> None:
    memory.set_user("ana", timezone="Europe/Madrid", language="es")
    memory.apps.install("garden", name="Garden", shares_with="*")
    Gate(services(memory).store, services(memory).clock).create_key(level="write", user="ana", label="phone")
    memory.context("Which tea does she drink?", user="ana")
    assert memory.traces()
    claim = StoredResponse(principal="key k1", key="retry-1", request=b"\x00\x01", at=AT)
    with services(memory).store.write() as tx:
        tx.add_stored_response(claim)
        tx.set_stored_response(replace(claim, status=201, headers={"a": "b"}, body=b"\xff\x00{}"))
        tx.add_spend(Spend(day="2026-03-01", purpose="digest", model="m", calls=1, cost=0.1, energy=1 / 3))
        tx.add_job(a_job(f"later {services(memory).store.tenant}", not_before=AT + timedelta(days=400)))


def copy(source: str | Path, target: str | Path, *, key: str | None = None, batch: int = 1000) -> CopyReport:
    """Copy a store to another address, in this process."""
    here, there = open_side(source, key=key), open_side(target, key=key, new=True)
    try:
        return copy_store(here, there, batch=batch)
    finally:
        here.close()
        there.close()


_KILLED = """
import os, signal, sys
from holdfast.stores.copying import copy_store, open_side
source, target, steps, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
left = steps
def count(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
copy_store(open_side(source), open_side(target, new=True), progress=count, batch=batch)
print("finished")
"""


def copy_until_killed(source: str | Path, target: str | Path, *, steps: int, batch: int) -> bool:
    """Copy in a process that kills itself after ``steps`` progress calls. Return True if the copy finished before that."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(source), str(target), str(steps), str(batch)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -9), done.stderr
    return "finished" in done.stdout


def seen(place: str | Path, **more: object) -> str:
    """Return the content of a store from its users' view: hits, memories, keys, stored responses, costs, jobs, apps and users."""
    visible: list[object] = []
    for tenant in TENANTS:
        with open_engine(place, tenant, **more) as memory:
            for user in ("ana", "bob", None):
                found = [memory.recall(question, user=user, app="garden", limit=8) for question in QUESTIONS]
                visible += [[(hit.id, hit.text) for hit in hits] for hits in found]
                visible += [(each.id, str(each), each.status) for each in memory.memories(user=user, app="garden", limit=500)]
            visible.append([(each.id, each.hash.hex()) for each in services(memory).store.access_keys()])
            visible.append(repr(services(memory).store.stored_response("key k1", "retry-1")))
            visible.append([repr(each) for each in services(memory).store.spend()])
            visible.append(sorted(each.effect for each in memory.jobs(limit=1000)))
            visible.append(repr(memory.apps.get("garden")))
            visible.append(repr(services(memory).store.user("ana")))
    return json.dumps(visible, ensure_ascii=False, indent=1, default=str)
