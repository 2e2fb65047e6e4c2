"""Energy: each job's energy use is reported. Jobs wait while the battery is low or the limit on energy use is reached."""

import json
import logging
from collections.abc import Callable

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from holdfast.services import services
from holdfast.testing import ScriptedChat

OpenMemory = Callable[..., Engine]


def answering(*_: object) -> str:
    return json.dumps({"paragraph": "The user grows tomatoes in the garden.", "importance": 5, "tags": ["garden"]})


def converse(memory: Engine, text: str = "I grow tomatoes in the garden.") -> None:
    talk = memory.session(app="garden")
    talk.add("user", text)
    talk.end()
    memory.drain()


@pytest.fixture
def memory(open_memory: OpenMemory) -> Engine:
    return open_memory(preset="apps", chat=ScriptedChat(respond=answering))


@pytest.mark.ledger("A9")
def test_each_operation_reports_what_it_cost(open_memory: OpenMemory) -> None:
    decision = json.dumps({"action": "delete", "target": 1, "reason": "old"})
    chat = ScriptedChat(respond=lambda asked: decision if "target" in json.dumps(asked.schema) else answering())
    memory = open_memory(preset="apps", chat=chat)
    for number in range(10):
        memory.remember(f"note number {number} about a garden bed", app="garden")
    converse(memory)
    drawn = services(memory).energy.by_operation()
    assert drawn.keys() == {"digest", "compact"}
    assert 10 <= drawn["digest"] <= 15
    assert 20 <= drawn["compact"] <= 30


@pytest.mark.ledger("A9")
def test_a_poll_returns_the_energy_used_since_the_last_poll(open_memory: OpenMemory) -> None:
    first = open_memory(preset="apps", chat=ScriptedChat(respond=answering))
    converse(first)
    assert services(first).energy.consumed_since_last_poll() > 10
    assert services(first).energy.consumed_since_last_poll() == 0
    assert services(open_memory(preset="apps")).energy.consumed_since_last_poll() == 0


@pytest.mark.ledger("A9")
def test_memorys_share_of_energy_is_reported_once_the_host_reports_its_use(memory: Engine) -> None:
    assert services(memory).energy.share() is None
    services(memory).energy.used(600)
    assert services(memory).energy.share() == 0
    converse(memory)
    assert services(memory).energy.share() == pytest.approx(12 / 600)
    services(memory).energy.used(600)
    assert services(memory).energy.share() == pytest.approx(12 / 1200)


@pytest.mark.ledger("A9")
def test_work_that_would_exceed_the_share_waits_until_there_is_room_again(memory: Engine) -> None:
    services(memory).energy.used(400)  # a twentieth of it is 20 units, and a memory costs 12
    converse(memory)
    converse(memory, "I grow onions in the garden.")
    assert [job.state for job in memory.jobs()] == ["done", "queued"]
    assert (services(memory).energy.share() or 0) <= 0.05
    services(memory).energy.used(100)
    memory.drain()
    assert [job.state for job in memory.jobs()] == ["done", "done"]
    assert (services(memory).energy.share() or 0) <= 0.05


def test_cheap_work_runs_while_expensive_work_waits(memory: Engine) -> None:
    services(memory).energy.used(400)
    assert set(services(memory).energy.affordable(["digest", "compact"])) == {"digest"}


def test_energy_used_before_the_first_report_is_not_counted(memory: Engine) -> None:
    converse(memory)
    services(memory).energy.used(240)
    assert services(memory).energy.share() == 0
    assert services(memory).energy.affordable(["digest"]) == ["digest"]


def test_without_energy_reports_work_is_done_at_once(memory: Engine) -> None:
    converse(memory)
    assert [job.state for job in memory.jobs()] == ["done"]


def test_jobs_that_use_only_rules_run_without_energy(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="apps")
    services(memory).energy.used(1)
    converse(memory)
    assert [job.state for job in memory.jobs()] == ["done"]


def test_the_share_can_be_set(memory: Engine) -> None:
    services(memory).energy.max_share = 0.5
    services(memory).energy.used(24)
    assert services(memory).energy.affordable(["digest"]) == ["digest"]


def test_energy_reports_of_the_host_survive_a_restart(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="apps", chat=ScriptedChat(respond=answering))
    services(memory).energy.used(300)
    converse(memory)
    memory.close()
    again = open_memory(preset="apps", chat=ScriptedChat(respond=answering))
    assert services(again).energy.share() == pytest.approx(12 / 300)
    assert services(again).energy.affordable(["digest"]) == []


def test_the_start_of_each_wait_is_logged_once(open_memory: OpenMemory, caplog: pytest.LogCaptureFixture) -> None:
    level = [0.1]
    memory = open_memory(energy=lambda: level[0])
    with caplog.at_level(logging.INFO, logger="holdfast"):
        for full in (0.1, 0.1, 0.9, 0.1):
            level[0] = full
            services(memory).energy.affordable(["digest"])
    assert [record.getMessage() for record in caplog.records] == ["The battery is below 20%. Background work waits"] * 2


@pytest.mark.parametrize("units", [-1, float("nan"), float("inf"), "many", True])
def test_an_invalid_amount_is_refused(memory: Engine, units: object) -> None:
    with pytest.raises(InvalidInput):
        services(memory).energy.used(units)  # type: ignore[arg-type]
