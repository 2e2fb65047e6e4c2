"""Access control of every operation: callers without permission read nothing and write nothing.

The id of another user's data must get exactly the same response as an id that does not exist.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter
from holdfast.services import services
from holdfast.testing import ScriptedChat
from tests.places import a_place
from tests.server.http_support import Served, serving

SECRET = "pangolin"
pytestmark = pytest.mark.ledger("X8")


@dataclass(frozen=True)
class Case:
    """A request for one operation. ``{memory}``, ``{session}`` and other placeholders stand for ids."""

    right: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    by_id: bool = False
    """True if the request names an object by id. Another user's id must get the same response as an id that does not exist."""
    whole: bool = False
    """True if the operation affects the whole tenant. A key that is bound to a user may not use it."""
    makes: bool = False
    """True if the operation creates an object when the id does not exist.

    For another user's id, it creates a new object that belongs to the caller.
    """
    operator: bool = False
    """True if the operation affects the whole server. Only the operator may use it, not an admin of another tenant."""
    open: bool = False

    @property
    def names_ana(self) -> bool:
        return "ana" in repr((self.body, self.query))


ANA = {"user": "ana"}
CASES: dict[str, Case] = {
    # First, because later cases store memories of a user "ana" in the other tenant, which the overview there counts.
    "user_overview": Case("read", by_id=True),
    "user_around": Case("read", by_id=True),
    "begin_session": Case("write", {"id": "{session}", **ANA}, makes=True),
    "list_sessions": Case("read", query=ANA),
    "get_session": Case("read", by_id=True),
    "export": Case("read", query=ANA),
    "export_session": Case("read", by_id=True),
    "add_message": Case("write", {"role": "user", "text": "hi"}, makes=True),
    "add_messages": Case("write", {"messages": [{"role": "user", "text": "hi"}]}, makes=True),
    "pop_message": Case("write", by_id=True),
    "list_messages": Case("read", by_id=True),
    "session_context": Case("read", {"query": SECRET[:3]}, makes=True),
    "end_session": Case("write", by_id=True),
    "erase_session": Case("write", by_id=True),
    "chat": Case("write", {"text": "hi"}, makes=True),
    "remember": Case("write", {"text": "hi", **ANA}),
    "remember_all": Case("write", {"memories": [{"text": "hi"}], **ANA}),
    "list_namespaces": Case("read", query=ANA),
    "list_memories": Case("read", query=ANA),
    "get_memory": Case("read", by_id=True),
    "revise_memory": Case("write", {"text": "hi"}, by_id=True),
    "forget_memory": Case("write", by_id=True),
    "memory_history": Case("read", by_id=True),
    "memory_sources": Case("read", by_id=True),
    "forget": Case("write", {"id": "{memory}"}, by_id=True),
    "list_proposals": Case("read", query=ANA),
    "accept_proposal": Case("write", by_id=True),
    "dismiss_proposal": Case("write", by_id=True),
    "undo": Case("write", {"change": "{change}"}, by_id=True),
    "preview_erasure": Case("write", {"source": "{message}"}, by_id=True),
    "erase": Case("write", {"source": "{message}"}, by_id=True),
    "recall": Case("read", {"query": "animal", **ANA}),
    "context": Case("read", {"query": "animal", **ANA}),
    "list_traces": Case("read", query=ANA),
    "get_trace": Case("read", by_id=True),
    "explain": Case("read", {"query": "animal"}, by_id=True),
    "list_topics": Case("read", query=ANA),
    "get_topic": Case("read", query=ANA),
    "edit_topic": Case("write", {"markdown": "# Animals\n\n- hi\n", **ANA}),
    "list_jobs": Case("read", whole=True),
    "rerun_job": Case("admin", whole=True, by_id=True),
    "work": Case("admin", whole=True),
    "stats": Case("read", whole=True),
    "me": Case("read"),
    "list_users": Case("read", whole=True),
    "get_user": Case("read", by_id=True),
    "set_user": Case("write", {"language": "es"}, by_id=True),
    "list_receipts": Case("read", whole=True),
    "get_receipt": Case("read", whole=True),
    "list_kinds": Case("read"),
    "list_keys": Case("admin"),
    "create_key": Case("admin", {"scope": "read", **ANA}),
    "revoke_key": Case("admin", by_id=True),
    "events": Case("read"),
    "list_apps": Case("read", whole=True),
    "install_app": Case("admin", {"appId": "zoo"}, whole=True),
    "app_metrics": Case("read", whole=True),
    "report_energy": Case("admin", {"level": 0.9}, whole=True),
    "app_context": Case("read"),
    "app_compactions": Case("read"),
    "uninstall_app": Case("admin", whole=True),
    "list_app_memories": Case("read"),
    "purge_app": Case("admin", whole=True),
    "delete_app_memory": Case("write", by_id=True),
    "app_of_conversation": Case("read", by_id=True),
    "chat_text": Case("write", {"text": "hi"}),
    "chat_audio": Case("write"),
    "clear_chat": Case("write"),
    "sensors": Case("write", {"battery": 1}),
    "health": Case("read", open=True),
    "bulk_memories": Case("write", {"ids": ["{memory}"], "action": "erase"}, by_id=True),
    "list_settings": Case("admin", whole=True, operator=True),
    "doctor": Case("admin", whole=True, operator=True),
    "list_models": Case("admin", whole=True, operator=True),
    "test_model": Case("admin", whole=True, operator=True),
    "choose_model": Case("admin", {"name": "none"}, whole=True, operator=True),
    "find_ollama": Case("admin", whole=True, operator=True),
    "list_backups": Case("admin", whole=True, operator=True),
    "create_backup": Case("admin", whole=True, operator=True),
    "get_setup": Case("read", whole=True),
    "set_default_user": Case("admin", {"user": "ana"}, whole=True, operator=True),
    "import_file": Case("admin", query=ANA, whole=True),
    "remove_samples": Case("admin", whole=True),
    "add_samples": Case("admin", {"language": "en"}, whole=True),
}
ABSENT = {
    "memory": "mem_absent",
    "app_memory": "mem_absent2",
    "session": "ses_absent",
    "message": "msg_absent",
    "change": "chg_absent",
    "job": "job_absent",
    "key": "key_absent",
    "user": "nobody",
    "topic": "nothing",
    "app": "zoo",
    "receipt": "era_absent",
    "trace": "trc_absent",
}


@dataclass
class World:
    """A store with two users and two tenants, and a client for each caller."""

    served: Served
    ids: dict[str, str]
    clients: dict[str, httpx.Client]
    operations: dict[str, tuple[str, str]]

    def ask(self, who: str, name: str, ids: Mapping[str, str]) -> httpx.Response:
        """Send the request of the operation ``name`` as the caller ``who``, with these ids."""
        method, path = self.operations[name]
        case = CASES[name]
        body = _filled(case.body, ids)
        address = _path(name, path, ids)
        query = {key: _filled(value, ids) for key, value in case.query.items()}
        client = self.clients[who]
        if name == "events":
            with client.stream(method, address) as stream:
                lines = [next(stream.iter_lines()) for _ in range(1)] if stream.is_success else [stream.read().decode()]
                return httpx.Response(stream.status_code, text="\n".join(lines))
        if name == "chat_audio":
            return client.request(method, address, content=b"RIFF", headers={"content-type": "audio/wav"})
        return client.request(method, address, params=query, json=body)

    def state(self, **owner: str) -> str:
        """Return all rows of the tenant, or of an owner, that a caller could have changed."""
        store = services(self.served.pool.operator).store
        memories = sorted(
            (each.id, each.revision, each.status) for each in store.memories(MemoryFilter(owner=owner, statuses=None))
        )
        sessions = sorted((each.id, each.status) for each in store.sessions(SessionFilter(owner=owner)))
        messages = [each.id for each in store.messages(MessageFilter(owner=owner))]
        jobs = [(each.id, each.state) for each in store.jobs() if all(each.payload[part] == name for part, name in owner.items())]
        own = [each for each in self.served.pool.gate.list_keys() if each.tenant == "default"]
        keys = [(each.id, each.revoked_at) for each in own]
        apps = [(each.app, each.uninstalled_at) for each in store.apps()]
        return repr((memories, sessions, messages, jobs, keys, apps, store.user("ana")))


def _filled(value: Any, ids: Mapping[str, str]) -> Any:
    text = json.dumps(value)
    for name, id in ids.items():
        text = text.replace("{" + name + "}", id)
    return json.loads(text)


def _path(name: str, path: str, ids: Mapping[str, str]) -> str:
    """Fill in the placeholders of a path."""
    what = {
        "sessions": "session",
        "memories": "memory",
        "jobs": "job",
        "receipts": "receipt",
        "keys": "key",
        "traces": "trace",
        "conversations": "session",
    }
    named = "app_memory" if name == "delete_app_memory" else what.get(path.removeprefix("/v1").split("/")[1], "memory")
    own = {"{role}": "chat", "{id}": ids[named], "{user}": ids["user"], "{topic}": ids["topic"], "{app}": ids["app"]}
    for placeholder, id in own.items():
        path = path.replace(placeholder, id)
    return path


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.ledger("X9"))])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("matrix")
    answering = ScriptedChat(respond=lambda asked: "ok")
    with a_place(request.param, folder, own=True) as place, serving(place, chat=answering) as served:
        client = served.client
        talk = client.post("/v1/sessions", json={"user": "ana", "app": "kitchen"}).json()["id"]
        said = client.post(f"/v1/sessions/{talk}/messages", json={"role": "user", "text": f"My {SECRET} is called Bo."}).json()
        client.post(f"/v1/sessions/{talk}/end")
        made = client.post(
            "/v1/memories", json={"text": f"keeps a {SECRET}", "user": "ana", "topic": "animals", "key": SECRET}
        ).json()
        erased = client.post("/v1/memories", json={"text": f"lost a {SECRET}", "user": "ana"}).json()
        of_app = client.post("/v1/memories", json={"text": f"feeds the {SECRET}", "user": "ana", "app": "kitchen"}).json()
        ids = {
            "memory": made["id"],
            "app_memory": of_app["id"],
            "session": talk,
            "message": said["id"],
            "user": "ana",
            "topic": "animals",
            "change": client.get(f"/v1/memories/{made['id']}/history").json()["items"][0]["id"],
            "job": client.get("/v1/jobs").json()["items"][0]["id"],
            "app": "kitchen",
            "receipt": client.post("/v1/erase", json={"id": erased["id"]}).json()["id"],
        }
        asked = client.post("/v1/context", json={"query": f"Who is the {SECRET}?", "user": "ana"}).json()
        ids["trace"] = client.get(f"/v1/traces/{asked['trace']}").json()["id"]
        client.put("/v1/users/ana", json={"language": "en"})
        gate = served.pool.gate
        record, _ = gate.create_key(level="write", user="ana", label=SECRET)
        keys = {
            "nobody": None,
            "reader": served.key("read"),
            "stranger": served.key("admin", tenant="acme"),
            "maker": served.key("admin", tenant="maker"),
            "bob": served.key("admin", user="bob"),
            "carl": served.key("admin", user="carl"),
            "owner": served.key("admin"),
        }
        paths = served.server.api.openapi()["paths"]
        operations = {
            operation["operationId"]: (method.upper(), path)
            for path, methods in paths.items()
            for method, operation in methods.items()
        }
        yield World(
            served=served,
            ids={**ids, "key": record.id},
            clients={who: served.as_(key) for who, key in keys.items()},
            operations=operations,
        )


@pytest.mark.long
def test_every_operation_is_in_the_matrix(world: World) -> None:
    assert set(world.operations) == set(CASES)


def test_the_matrix_says_which_right_each_operation_takes(world: World) -> None:
    paths = world.served.server.api.openapi()["paths"]
    rights = {each["operationId"]: each.get("x-right") for methods in paths.values() for each in methods.values()}
    assert rights == {name: None if case.open else case.right for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_nobody_without_a_key_gets_in(world: World, name: str) -> None:
    before = world.state()
    answer = world.ask("nobody", name, world.ids)
    if CASES[name].open:
        assert answer.json() == {"status": "ok"}
    else:
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert SECRET not in answer.text
    assert world.state() == before


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.right != "read"])
def test_a_read_only_key_writes_nothing(world: World, name: str) -> None:
    before = world.state()
    answer = world.ask("reader", name, world.ids)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert SECRET not in answer.text
    assert world.state() == before


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.right == "read"])
def test_a_caller_with_read_rights_gets_an_answer(world: World, name: str) -> None:
    # Other users may have a session with the id of Ana's first one by now, so this one is new.
    begun = world.clients["owner"].post("/v1/sessions", json={"user": "ana", "app": "kitchen"}).json()["id"]
    assert world.ask("reader", name, {**world.ids, "session": begun}).status_code == 200


@pytest.mark.parametrize("name", CASES)
def test_another_tenant_finds_nothing_and_changes_nothing(world: World, name: str) -> None:
    before = world.state()
    # Creating with a foreign id makes an object of the caller's own tenant. A separate caller does that, so that
    # the object does not affect the next case.
    answer = world.ask("maker" if CASES[name].makes else "stranger", name, world.ids)
    assert SECRET not in answer.text
    assert world.state() == before
    if CASES[name].operator:
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    if CASES[name].by_id:
        assert _same(world, "stranger", name, answer)


@pytest.mark.parametrize("name", CASES)
def test_another_user_finds_nothing_and_changes_nothing(world: World, name: str) -> None:
    case = CASES[name]
    own = case.makes and not case.names_ana
    owner = ANA if own else {}
    before = world.state(**owner)
    answer = world.ask("carl" if own else "bob", name, world.ids)
    assert SECRET not in answer.text
    if case.whole:
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    elif own:
        absent = world.ask("carl", name, {**ABSENT, "app": world.ids["app"]})
        assert (answer.status_code, set(answer.json())) == (absent.status_code, set(absent.json()))
        assert answer.is_success
    elif case.names_ana:
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    elif case.by_id:
        assert _same(world, "bob", name, answer)
    if name not in ("chat_text", "sensors", "chat_audio", "clear_chat"):  # each key has its own device session
        assert world.state(**owner) == before


def _same(world: World, who: str, name: str, answer: httpx.Response) -> bool:
    """Return True if ``answer``, the response for another user's id, equals the response for an id that does not exist."""
    absent = world.ask(who, name, {**ABSENT, "app": world.ids["app"]})
    texts = []
    for found, ids in ((answer, world.ids), (absent, ABSENT)):
        text = found.text
        for id in sorted(ids.values(), key=len, reverse=True):
            text = text.replace(id, "ID")
        texts.append(text)
    assert (answer.status_code, texts[0]) == (absent.status_code, texts[1])
    return True


def test_the_owner_can_use_every_operation(world: World) -> None:
    """The owner's requests succeed, so the rejections in the matrix are not caused by wrong requests."""
    reading = [name for name, case in CASES.items() if case.right == "read" and not case.open]
    begun = world.clients["owner"].post("/v1/sessions", json={"user": "ana"}).json()["id"]
    ids = {**world.ids, "session": begun}  # other users have sessions with the id of the first one by now
    assert {name: world.ask("owner", name, ids).status_code for name in reading} == dict.fromkeys(reading, 200)
    writing = [
        "begin_session",
        "add_message",
        "chat",
        "remember",
        "revise_memory",
        "set_user",
        "edit_topic",
        "create_key",
        "sensors",
    ]
    assert {name: world.ask("owner", name, ids).is_success for name in writing} == dict.fromkeys(writing, True)
