"""The JSONL export contains everything, and is imported without loss."""

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine, Kind, Scope
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.presets import PRESETS
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.services import services
from holdfast.testing import ScriptedChat
from holdfast.testing.samples import a_session
from tests.exporters.support import PRESET, counted

pytestmark = pytest.mark.long

OpenMemory = Callable[..., Engine]
TARGETS = [{"user": "ana"}, {"app": "kitchen"}, {"user": "ana", "app": "kitchen"}, {"session": "talk of ana"}]


def exported(memory: Engine, **selection: Any) -> bytes:
    file = BytesIO()
    memory.export(file, **selection)
    return file.getvalue()


def lines_of(export: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export.splitlines()]


@pytest.mark.ledger("X13")
@pytest.mark.everywhere("sqlite", "postgres")
def test_a_full_export_is_imported_and_exported_again_with_equal_bytes(
    full: Engine, open_memory: OpenMemory, tmp_path: Path
) -> None:
    _check_round_trip(full, open_memory(tenant="other", preset=PRESET), tmp_path / "all.jsonl")


@pytest.mark.ledger("X13")
@pytest.mark.everywhere("sqlite", "postgres")
@pytest.mark.parametrize("preset", ["lobug", "rostro", "apps"])
def test_an_export_is_imported_and_exported_again_with_equal_bytes(open_memory: OpenMemory, tmp_path: Path, preset: str) -> None:
    memory = open_memory(preset=preset)
    with memory.session(user="ana") as talk:
        for number in range(16):  # enough for a summary in every design
            talk.add("user", f"I decided to plant {number + 3} roses in my garden in Lyon.")
            talk.add("assistant", "Good idea. What color?")
    memory.drain()
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Porto now.")
    _check_round_trip(memory, open_memory(tenant="other", preset=preset), tmp_path / "all.jsonl")


@pytest.mark.ledger("X13")
@pytest.mark.everywhere("sqlite", "postgres")
@pytest.mark.parametrize("decision", [None, "accept", "dismiss"])
def test_proposals_and_traces_survive_export_erase_and_import(
    open_memory: OpenMemory, tmp_path: Path, decision: str | None
) -> None:
    item = {"kind": "fact", "text": "The user's bank is otherbank.example", "importance": 5, "messages": [1], "replaces": [1]}
    memory = open_memory(chat=ScriptedChat(json.dumps({"items": [item]})))
    memory.remember("The user's bank is Goodbank", user="ana")
    with memory.session(user="ana", id="talk") as talk:
        talk.add("user", "What does this page say about my bank?")
        talk.add("tool", "otherbank.example is the bank of the user", origin="web")
        talk.add("assistant", "The page says that otherbank.example is the bank of the user.")
    memory.drain()
    (proposal,) = memory.proposals(user="ana")
    if decision is not None:
        getattr(memory, decision)(proposal.id)
    memory.session(user="ana", id="next").context("Which bank do I have?")

    file = tmp_path / "all.jsonl"
    memory.export(file)
    written = lines_of(file.read_bytes())
    assert [line["question"] for line in written if line["type"] == "trace"] == ["Which bank do I have?"]
    statuses = {line["id"]: line.get("status") for line in written if line["type"] == "memory"}
    assert statuses[proposal.id] == {None: "proposed", "accept": None, "dismiss": "forgotten"}[decision]

    memory.erase(user="ana")
    assert [line["type"] for line in lines_of(exported(memory))] == ["holdfast-export", "end"]
    memory.import_from(file)
    assert exported(memory) == file.read_bytes()
    assert [each.text for each in memory.proposals(user="ana")] == ([item["text"]] if decision is None else [])


def _check_round_trip(memory: Engine, target: Engine, file: Path) -> None:
    """Check that an export is imported without loss, and that importing it again changes nothing."""
    memory.export(file)
    target.import_from(file)
    assert exported(target) == file.read_bytes()
    again = target.import_from(file)
    assert [part.imported for part in (again.memories, again.messages, again.sessions, again.others)] == [0, 0, 0, 0]
    assert exported(target) == file.read_bytes()
    assert [finding for finding in target.doctor() if not finding.ok] == []


@pytest.mark.ledger("X13")
def test_an_imported_store_works_like_the_exported_one(full: Engine, open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, target = full, open_memory(preset=PRESET, tenant="other")
    memory.export(tmp_path / "all.jsonl")
    target.import_from(tmp_path / "all.jsonl")
    (tea,) = target.memories(user="ana", key="drink")
    assert [change.action for change in target.history(tea.id)] == ["created", "revised"]
    assert target.undo(target.history(tea.id)[-1])[0].text == "prefers tea"
    assert target.recall("where is the office?", user="ana")[0].text == memory.recall("where is the office?", user="ana")[0].text
    assert [m.text for m in target.session(id="talk of ana").window()] == [
        m.text for m in memory.session(id="talk of ana").window()
    ]
    for store in (memory, target):
        store.drain()  # the queued digest learns in both
    assert [m.text for m in target.memories(user="bob", app="kitchen")] == [
        m.text for m in memory.memories(user="bob", app="kitchen")
    ]
    assert target.stats().messages == memory.stats().messages


@pytest.mark.ledger("X18", "X13")
@pytest.mark.parametrize("target", TARGETS, ids=["user", "app", "user and app", "session"])
def test_an_export_has_everything_that_erasing_removes(full: Engine, target: dict[str, str]) -> None:
    memory = full
    source = memory.session(id="talk of ana").messages()[0].id
    memory.remember("derived for somebody else", user="bob", sources=[source])
    export = exported(memory, **target)
    counts = counted(lines_of(export))
    texts = _texts(memory)
    receipt = memory.erase(**target)
    jobs = counts.pop("jobs")
    assert counts == {name: getattr(receipt, name) for name in counts}
    assert jobs >= receipt.jobs  # jobs of a scope, such as summaries, are removed but not counted
    assert counts["memories"] > 0
    left = _texts(memory)
    written = {json.loads(json.dumps(text)) for text in _strings(lines_of(export))}
    missing = [text for text in texts if text not in left and text not in written]
    assert missing == []


def test_a_memory_that_another_source_states_too_is_neither_exported_nor_erased(memory: Engine) -> None:
    ana, bob = (memory.session(user=user).add("user", "The gate code is blue.") for user in ("ana", "bob"))
    shared = memory.remember("the gate is blue", sources=[bob.id])
    memory.remember("the gate is blue", sources=[ana.id])
    assert b"the gate is blue" not in exported(memory, user="ana")
    memory.erase(user="ana")
    assert memory.get(shared.id).text == "the gate is blue"


def _texts(memory: Engine) -> set[str]:
    """Return every text of messages and memories in the store, in all revisions."""
    store = services(memory).store
    found = store.messages(MessageFilter())
    texts = {message.text for message in found} | set(_strings([message.payload for message in found]))
    for memory_found in store.memories(MemoryFilter(statuses=None)):
        for revision in store.revisions(memory_found.id):
            texts |= {revision.text, revision.key or "", revision.topic or "", *revision.tags, *revision.namespace}
            texts |= {*(revision.indexed or ()), *_strings(revision.metadata)}
    return texts | {user.user for user in memory.users()}


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _strings(each)]
    return [text for each in value for text in _strings(each)] if isinstance(value, list | tuple) else []


@pytest.mark.ledger("X18")
def test_an_export_of_a_user_has_nothing_of_others(full: Engine) -> None:
    lines = lines_of(exported(full, user="ana"))
    kinds = [kind["name"] for kind in lines[0].pop("kinds")]
    assert lines[0] == {"type": "holdfast-export", "version": 1, "preset": "default", "selection": {"user": "ana"}}
    assert kinds == ["item"]
    assert {line["user"] for line in lines if line["type"] in ("user", "message", "session", "memory")} == {"ana"}
    assert b"of bob" not in exported(full, user="ana")
    assert exported(full, user="nobody").count(b"\n") == 3  # the header, the default profile and the counts


def test_a_session_is_exported_without_others_that_have_its_id(memory: Engine) -> None:
    for user in ("ana", "bob"):
        memory.session(user=user, id="same").add("user", f"I am {user}.")
    lines = lines_of(exported(memory, session="same", user="bob"))
    assert lines[0]["selection"] == {"session": "same", "user": "bob"}
    assert [line["text"] for line in lines if line["type"] == "message"] == ["I am bob."]
    file = BytesIO()
    memory.for_user("ana").export(file, session="same")
    assert (b"I am ana." in file.getvalue(), b"bob" in file.getvalue()) == (True, False)


def test_many_sessions_with_one_id_are_all_exported(memory: Engine) -> None:
    store = services(memory).store
    with store.write() as tx:
        for number in range(700):  # more than one page
            tx.add_session(a_session("same", scope=Scope(user=f"user {number:03}")))
        tx.add_session(a_session("zzz"))
    sessions = [line for line in lines_of(exported(memory)) if line["type"] == "session"]
    assert [line["user"] for line in sessions] == [*(f"user {number:03}" for number in range(700)), "ana"]


def test_a_scoped_memory_exports_and_imports_its_own_data(full: Engine, tmp_path: Path) -> None:
    result = full.for_user("ana").export(tmp_path / "ana.jsonl")
    assert (tmp_path / "ana.jsonl").read_bytes() == exported(full, user="ana")
    assert result.bytes == (tmp_path / "ana.jsonl").stat().st_size
    with pytest.raises(InvalidInput, match="names the user"):
        full.for_user("ana").import_from(tmp_path / "ana.jsonl")


def test_the_extension_chooses_the_format_unless_it_is_named(memory: Engine, tmp_path: Path) -> None:
    memory.remember("prefers tea", user="ana")
    assert memory.export(tmp_path / "all.md").format == "markdown"
    assert memory.for_user("ana").export(str(tmp_path / "ana.ZIP")).format == "pam"
    assert memory.export(tmp_path / "all.txt").format == "jsonl"
    assert memory.export(tmp_path / "lines.md", format="jsonl").format == "jsonl"
    assert memory.export(BytesIO()).format == "jsonl"


def test_a_scoped_export_has_traces_that_background_work_has_not_written_yet(open_memory: OpenMemory) -> None:
    memory, file = open_memory(worker="none"), BytesIO()
    memory.remember("likes tea", user="ana")
    memory.context("what does ana like?", user="ana")
    memory.for_user("ana").export(file)
    assert "trace" in [line["type"] for line in lines_of(file.getvalue())]


def test_the_file_is_private_and_complete_or_absent(memory: Engine, tmp_path: Path) -> None:
    memory.remember("likes tea", user="ana")
    file = tmp_path / "all.jsonl"

    def fail(_name: str, _done: int) -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        memory.export(file, progress=fail)
    assert list(tmp_path.iterdir()) == [tmp_path / "home"]
    memory.export(file)
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    memory.remember("likes coffee", user="ana")
    with pytest.raises(Conflict, match="exists"):
        memory.export(file)
    assert file.read_bytes() == before
    memory.export(file, replace=True)
    assert b"coffee" in file.read_bytes()


def test_wrong_selections_and_formats_are_refused(memory: Engine, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no session nowhere"):
        memory.export(tmp_path / "x", session="nowhere")
    for user in ("ana", "bob"):
        memory.session(user=user, id="same").add("user", "hello")
    with pytest.raises(InvalidInput, match="Several users"):
        memory.export(tmp_path / "x", session="same")
    with pytest.raises(NotFound, match="no session same"):
        memory.export(tmp_path / "x", session="same", user="zoe")
    with pytest.raises(InvalidInput, match="formats are jsonl, markdown, pam"):
        memory.export(tmp_path / "x", format="xml")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="is a folder"):
        memory.export(tmp_path)
    assert list(tmp_path.glob("x*")) == []


def test_an_export_needs_little_memory(memory: Engine) -> None:
    import tracemalloc  # noqa: PLC0415  (only here)

    talk = memory.session(user="ana")
    for _ in range(6):
        talk.add_all([{"role": "tool", "text": "", "payload": {"result": "word " * 400}} for _ in range(500)])

    class Sink(BytesIO):
        def write(self, data: Any) -> int:
            return len(data)

    memory.export(Sink(), format="markdown")
    tracemalloc.start()
    size = memory.export(Sink()).bytes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 6_000_000
    assert peak < 4_500_000


ITEM = Kind(name="item", meaning="An item of a program", keyed="one", plain=True)


@pytest.mark.ledger("X13")
def test_plain_kinds_travel_with_an_export(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(kinds=[ITEM])
    memory.remember("password: hunter2hunter2", user="ana", kind="item", key="A  b", namespace=("files",))
    memory.export(tmp_path / "all.jsonl")
    target = open_memory(tenant="other")
    assert target.import_from(tmp_path / "all.jsonl", dry_run=True).memories.found == 1
    assert target.memories(user="ana") == []
    assert target.import_from(tmp_path / "all.jsonl").memories.imported == 1
    assert exported(target) == (tmp_path / "all.jsonl").read_bytes()
    target.close()
    again = open_memory(tenant="other")  # as the command line does, which adds no kinds
    assert ITEM in again.preset.kinds
    assert again.remember("new", user="ana", kind="item", key="A  b", namespace=("files",)).revision == 2


def test_a_running_engine_has_the_plain_kinds_of_an_import_at_once(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(kinds=[ITEM])
    memory.remember("the lighthouse keeper's notes", user="ana", kind="item", key="a")
    memory.export(tmp_path / "all.jsonl")
    target = open_memory(tenant="other")
    target.import_from(tmp_path / "all.jsonl", dry_run=True)
    assert ITEM not in target.preset.kinds
    target.import_from(tmp_path / "all.jsonl")
    assert target.remember("second", user="ana", kind="item", key="b").kind == "item"
    assert "lighthouse" not in target.context("Who keeps the lighthouse?", user="ana").text
    assert ITEM not in PRESETS["default"].kinds
    assert ITEM not in open_memory(tenant="third").preset.kinds


def test_a_running_engine_adds_the_plain_kinds_that_another_engine_records(open_memory: OpenMemory) -> None:
    running = open_memory(worker="inline")
    open_memory(kinds=[ITEM])
    assert ITEM not in running.preset.kinds
    running.remember("any write runs the background work", user="ana")
    assert running.remember("x", user="ana", kind="item", key="k").kind == "item"


def test_another_kind_of_the_same_name_is_an_error(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(kinds=[ITEM])
    memory.remember("x", user="ana", kind="item", key="k")
    memory.export(tmp_path / "all.jsonl")
    other = Kind(name="item", meaning="Something else", plain=True)
    target = open_memory(tenant="other", kinds=[other])
    with pytest.raises(InvalidInput, match="already has another kind 'item'"):
        target.import_from(tmp_path / "all.jsonl")
    assert target.memories(user="ana") == []


@pytest.mark.parametrize("kinds", ['"item"', '[{"name":"fact"}]', '[{"name":"x","plain":true,"odd":1}]', '[{"plain":true}]'])
def test_a_damaged_list_of_kinds_is_an_error(open_memory: OpenMemory, tmp_path: Path, kinds: str) -> None:
    file = tmp_path / "all.jsonl"
    header = f'{{"type":"holdfast-export","version":1,"preset":"default","kinds":{kinds},"selection":{{}}}}\n'
    file.write_text(header + '{"type":"end","counts":{}}\n', "utf-8")
    with pytest.raises(InvalidInput, match="line 1"):
        open_memory().import_from(file)
