"""Every operation that takes a user, an app and an agent uses each of them: to select data, and to check the bound key."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter
from holdfast.services import services
from holdfast.testing import ScriptedChat
from tests.server.http_support import Served, serving
from tests.server.routes.test_matrix import CASES

pytestmark = pytest.mark.ledger("X8")
WORD = "pangolin"
FULL = {"user": "ana", "app": "kitchen", "agent": "robot"}
_ONE_PART = {"app_context", "set_default_user"}
"""Operations that take only a user. ``test_matrix.py`` covers them."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("parts"), chat=ScriptedChat(respond=lambda asked: "ok")) as served:
        client = served.client
        client.post("/v1/sessions", json={"id": "talk", **FULL})
        client.post("/v1/sessions/talk/messages", json={"role": "user", "text": f"My {WORD} is called Bo.", **FULL})
        memory = {"text": f"keeps a {WORD}", "topic": "animals", "key": WORD, "namespace": [WORD], **FULL}
        client.post("/v1/memories", json=memory).raise_for_status()
        client.post("/v1/context", json={"query": f"Who is the {WORD}?", **FULL})
        served.key("admin")  # from now on, a key is needed
        yield served


def _operations(served: Served) -> Iterator[tuple[str, str, str, str, set[str]]]:
    """Yield each operation that takes a user, an app or an agent, with its name, method and path.

    Also yield where it takes them (``params`` for the query string, ``json`` for the body), and which of the three it
    takes.
    """
    api = served.server.api.openapi()
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            asked = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            fields = set(api["components"]["schemas"].get(content.get("$ref", "/").rsplit("/", 1)[1], {}).get("properties", ()))
            for where, names in (("params", asked), ("json", fields)):
                if names & set(FULL):
                    yield operation["operationId"], method, path, where, names & set(FULL)


def _ask(client: httpx.Client, served: Served, name: str, parts: Mapping[str, str]) -> httpx.Response:
    method, path, where = next(each[1:4] for each in _operations(served) if each[0] == name)
    memory = services(served.pool.operator).store.memories(MemoryFilter(owner={"user": "ana"}))[0].id
    filled: Any = {"params": dict(CASES[name].query), "json": dict(CASES[name].body or {}) or None}
    filled[where] = {key: value for key, value in (filled[where] or {}).items() if key not in FULL} | dict(parts)
    if where == "json":
        filled["json"] = {key: value for key, value in filled["json"].items() if key not in ("id", "source")}
        filled["json"] |= {"id": memory} if name == "forget" else {}
    path = path.replace("{topic}", "animals").replace("{id}", memory if "/memories/" in path else "talk")
    return client.request(method, path, **filled)


def _state(served: Served) -> str:
    store = services(served.pool.operator).store
    memories = sorted((each.id, each.revision, each.status) for each in store.memories(MemoryFilter(statuses=None)))
    sessions = sorted((each.id, repr(each.scope), each.status) for each in store.sessions(SessionFilter()))
    keys = sorted(each.id for each in served.pool.gate.list_keys())
    return repr((memories, sessions, [each.id for each in store.messages(MessageFilter())], keys))


def test_operations_with_a_scope_take_user_app_and_agent(served: Served) -> None:
    taken = {name: parts for name, _, _, _, parts in _operations(served) if name not in _ONE_PART}
    assert len(taken) > 25
    assert {name for name, parts in taken.items() if parts != set(FULL)} == set()


@pytest.mark.parametrize("part", FULL)
def test_a_key_bound_to_one_part_is_refused_with_another_and_changes_nothing(served: Served, part: str) -> None:
    client = served.as_(served.key("admin", **{part: "mine"}))
    before = _state(served)
    for name in [each[0] for each in _operations(served) if each[0] not in _ONE_PART]:
        answer = _ask(client, served, name, {part: "other"})
        expected = (403, "forbidden") if CASES[name].whole else (404, "not_found")
        assert (name, answer.status_code, answer.json()["code"]) == (name, *expected)
        assert WORD not in answer.text
    assert _state(served) == before


_READS = (
    "list_sessions list_memories list_namespaces recall context list_topics get_topic export list_traces list_messages "
    "get_session export_session"
).split()
_WRITES = "begin_session add_message add_messages remember remember_all edit_topic create_key".split()


@pytest.mark.parametrize("name", _READS)
def test_reads_return_data_of_the_named_user_app_and_agent(served: Served, name: str) -> None:
    client = served.as_(served.key("read"))
    shows = {"list_sessions": "talk", "list_topics": "animals", "get_session": "talk"}.get(name, WORD)
    full = _ask(client, served, name, FULL)
    assert full.status_code == 200
    assert shows in full.text
    for part in FULL:
        other = _ask(client, served, name, {**FULL, part: "other"})
        assert other.status_code in (200, 404)
        assert other.status_code == 404 or shows not in other.text


@pytest.mark.parametrize("name", _WRITES)
def test_writes_carry_the_named_user_app_and_agent(served: Served, name: str) -> None:
    client = served.as_(served.key("admin"))
    parts = {part: f"{name}-{part}" for part in FULL}
    answer = _ask(client, served, name, parts)
    assert answer.is_success, answer.text
    store = services(served.pool.operator).store
    memories = [each.scope for each in store.memories(MemoryFilter(owner={"user": parts["user"]}))]
    sessions = [each.scope for each in store.sessions(SessionFilter(owner={"user": parts["user"]}))]
    keys = [each for each in served.pool.gate.list_keys() if each.user == parts["user"]]
    found: list[Any] = [*memories, *sessions, *keys]
    carried = [(each.user, each.app, each.agent) for each in found]
    assert carried == [tuple(parts.values())]
