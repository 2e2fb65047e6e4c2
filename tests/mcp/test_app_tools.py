"""MCP tools of the apps design: the context block of an app for a purpose (``point``), and the energy of the host."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Engine

from .support import in_process, tell

OpenMemory = Callable[..., Engine]


@pytest.fixture
def memory(open_memory: OpenMemory) -> Engine:
    memory = open_memory(preset="apps")
    memory.remember("Priya can accept invitations.", app="calendar")
    memory.remember("Mails are signed with N.", app="mail")
    return memory


def _call(memory: Engine, name: str, arguments: dict[str, Any], **who: Any) -> Any:
    return tell(in_process(memory, **who), lambda client: client.call_tool(name, arguments))


@pytest.mark.ledger("A5")
@pytest.mark.parametrize("point", ["unanswered", "review", "selection"])
def test_the_block_of_an_app_is_given_at_each_point(memory: Engine, point: str) -> None:
    told = _call(memory, "app_context", {"app": "calendar", "point": point})
    assert "Priya can accept invitations." in told.structured_content["text"]
    assert "signed" not in told.structured_content["text"]


def test_a_connection_of_one_app_sees_no_other_app(memory: Engine) -> None:
    assert "signed with N" in _call(memory, "app_context", {}, app="mail").structured_content["text"]
    refused = _call(memory, "app_context", {"app": "calendar"}, app="mail")
    assert refused.is_error
    assert "Priya" not in refused.content[0].text
    assert _call(memory, "app_context", {}).is_error, "no app is named"


@pytest.mark.ledger("A9")
def test_the_energy_of_the_host_is_reported(memory: Engine) -> None:
    assert _call(memory, "report_energy", {"level": 0.1, "used": 120}).structured_content == {"level": 0.1}
    assert memory.apps.energy_level() == 0.1
    assert _call(memory, "report_energy", {"level": 7}).is_error
    assert memory.apps.energy_level() == 0.1


def test_other_presets_have_no_tools_for_apps(open_memory: OpenMemory) -> None:
    tools = tell(in_process(open_memory()), lambda client: client.list_tools()).tools
    assert {"app_context", "report_energy"}.isdisjoint(tool.name for tool in tools)
