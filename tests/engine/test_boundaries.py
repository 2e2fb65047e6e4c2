"""Combinations of two features: forgetting and erasing, scopes and sources, clocks and expiry, closing and reading."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import HoldfastError, StoreClosed
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder

DAY = timedelta(days=1)


def _digested(memory: Engine, *texts: str, user: str = "ana") -> list[str]:
    """Add each text in its own session, and digest the sessions. Return the message ids."""
    ids = []
    for text in texts:
        talk = memory.session(user=user)
        ids.append(talk.add("user", text).id)
        talk.end()
    memory.drain()
    return ids


@pytest.mark.ledger("X5")
def test_erasing_a_source_does_not_bring_back_forgotten_memories(memory: Engine) -> None:
    first, _ = _digested(memory, "I live in Rome.", "I live in Rome. I have a cat named Tom.")
    for kept in memory.memories(user="ana"):
        memory.forget(id=kept.id)
    assert memory.erase(source=first).rebuilt == 0
    assert memory.memories(user="ana") == []


@pytest.mark.ledger("X5")
def test_erasing_a_source_leaves_what_was_also_said_elsewhere_or_revised_by_hand(memory: Engine) -> None:
    first, _ = _digested(memory, "I live in Rome.", "I live in Rome. I have a cat named Tom.")
    (cat,) = [kept for kept in memory.memories(user="ana") if "cat" in kept.text]
    memory.revise(cat.id, "I have a dog named Max.")
    memory.erase(source=first)
    assert sorted(kept.text for kept in memory.memories(user="ana")) == ["I have a dog named Max.", "I live in Rome."]


@pytest.mark.ledger("X5")
def test_a_forgotten_memory_stays_hidden_when_it_is_also_erased(memory: Engine) -> None:
    _digested(memory, "I live in Rome.")
    (kept,) = memory.memories(user="ana")
    memory.forget(id=kept.id)
    assert memory.recall("Rome", user="ana") == []
    memory.erase(id=kept.id)
    assert memory.recall("Rome", user="ana") == []


@pytest.mark.ledger("X5")
def test_the_name_of_an_erased_app_is_in_no_file(memory: Engine, files_with: Callable[..., list[str]]) -> None:
    memory.remember("prefers tea", user="ana", app="secretappname")
    memory.remember("prefers gin", user="ana", app="otherappname")
    assert memory.erase(app="secretappname").verified
    assert not files_with("secretappname")
    assert files_with("otherappname")


@pytest.mark.ledger("X8")
def test_a_private_memory_never_shows_as_the_successor_of_a_shared_message(memory: Engine) -> None:
    shared = memory.session(app="team").add("user", "Bob has the desk in Rome.")
    memory.remember("desk in Rome", kind="profile", key="desk", user="bob", app="team", sources=[shared.id])
    memory.remember("secretly in Paris", kind="profile", key="desk", user="bob", app="team")
    assert "Paris" not in memory.context("Where is the desk in Rome?", user="ana", app="team").text
    assert "Paris" in memory.context("Where is the desk in Rome?", user="bob", app="team").text


@pytest.mark.ledger("X8")
def test_one_users_forgetting_does_not_hide_what_all_share(memory: Engine, clock: FrozenClock) -> None:
    shared = memory.session(app="team").add("user", "The printer is in Rome.")
    own = memory.remember("the printer is in Rome", user="bob", app="team", sources=[shared.id])
    memory.forget(id=own.id)
    clock.advance(40 * DAY)
    memory.drain()
    assert [hit.text for hit in memory.recall("printer", user="ana", app="team")] == ["The printer is in Rome."]


@pytest.mark.ledger("X8")
def test_a_session_of_the_same_id_in_another_scope_is_out_of_reach(memory: Engine) -> None:
    bob, ana = memory.session(id="chat", user="bob"), memory.session(id="chat", user="ana")
    ana.add("user", "my secret is blue", id="c1")
    assert bob.messages() == []
    bob.end()
    assert [session.status for session in memory.sessions()] == ["open"]
    bob.add("user", "my secret is red", id="c1")
    assert [message.text for message in ana.messages()] == ["my secret is blue"]
    assert [message.text for message in bob.messages()] == ["my secret is red"]


@pytest.mark.ledger("X17")
def test_two_engines_with_different_embedders_keep_each_others_vectors(open_memory: Callable[..., Engine]) -> None:
    one = open_memory(embedder=HashEmbedder("one", 64))
    one.remember("the parrot likes tea", user="ana")
    one.drain()
    other = open_memory(embedder=HashEmbedder("other", 128))
    other.drain()
    for _ in range(3):
        one.remember("the parrot likes tea with milk", user="ana")
        one.drain()
        other.drain()
    assert sorted(services(one).store.models()) == ["one", "other"]
    for engine in (one, other):
        assert engine.recall("parrot", user="ana")[0].similarity is not None


@pytest.mark.ledger("X3")
def test_undoing_a_correction_keeps_a_later_expiry(memory: Engine, clock: FrozenClock) -> None:
    kept = memory.remember("the code is 1234", user="ana", expires_at=clock.now() + 2 * DAY)
    memory.revise(kept.id, "the code is 5678")
    memory.remember("the code is 5678", user="ana", expires_at=clock.now() + 300 * DAY)
    clock.advance(10 * DAY)
    memory.undo(memory.history(kept.id)[1])
    memory.drain()
    assert memory.get(kept.id).text == "the code is 1234"


def test_finished_jobs_are_removed_after_a_week(memory: Engine, clock: FrozenClock) -> None:
    _digested(memory, "I live in Rome.")
    assert memory.jobs(states=["done"])
    for _ in range(2):
        clock.advance(4 * DAY)
        memory.drain()
    assert memory.jobs() == []


def test_more_partitions_than_a_statement_can_bind_are_read(memory: Engine) -> None:
    from holdfast.stores.sql import partitions  # noqa: PLC0415  (the one place that met the limit)

    connection = services(memory).store.connection  # type: ignore[attr-defined]
    assert partitions.scopes_of(connection, "default", range(40_000)) is not None


def test_closing_waits_for_running_reads(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory()
    memory.remember("the parrot likes tea", user="ana")
    surprises: list[BaseException] = []

    def read() -> None:
        try:
            while True:
                memory.recall("parrot", user="ana")
        except StoreClosed:
            return
        except HoldfastError as error:
            surprises.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    memory.close()
    for reader in readers:
        reader.join()
    assert surprises == []


@pytest.mark.ledger("X5")
def test_an_erasure_also_erases_from_backups_that_another_tenant_created(
    open_memory: Callable[..., Engine], tmp_path: Path
) -> None:
    acme, other = open_memory(tenant="acme"), open_memory(tenant="other")
    other.remember("prefers tea", user="ana")
    acme.backup(tmp_path / "copy.db")
    assert b"prefers tea" in (tmp_path / "copy.db").read_bytes()
    receipt = other.erase(user="ana")
    assert (receipt.backups, receipt.verified) == ((), True)
    assert b"prefers tea" not in (tmp_path / "copy.db").read_bytes()
