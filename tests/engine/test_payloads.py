"""Messages with a payload, messages and memories in one transaction, removing the last message, and imported times."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Conflict, Engine, InvalidInput, NewMessage, NotFound, TextTooLong
from holdfast.presets.default import DEFAULT
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine

CALL: dict[str, Any] = {
    "type": "function_call",
    "name": "lookup",
    "arguments": '{"q": "ñandú"}',
    "z": [1, 2.5, True, None, {"deep": {"er": "\x00 \ud800"}}],
    "a": 2**70,
}


@pytest.mark.ledger("X40")
@pytest.mark.everywhere("sqlite", "postgres")
def test_a_payload_is_returned_as_it_was_given(memory: Engine, open_memory: Callable[..., Engine]) -> None:
    with memory.session(user="ana", id="s") as talk:
        stored = talk.add("assistant", "Let me look that up.", payload=CALL)
        assert stored.payload == CALL
    (read,) = open_memory().session(id="s").messages()
    assert read.payload == CALL
    assert list(read.payload) == list(CALL)
    assert all(finding.ok for finding in memory.doctor() if finding.check in ("messages", "memories"))


@pytest.mark.parametrize("payload", [False, 0, "", [], {}, "text", [None]], ids=repr)
def test_any_json_is_a_payload(memory: Engine, payload: Any) -> None:
    talk = memory.session(user="ana")
    talk.add("tool", "done", payload=payload)
    assert talk.messages()[0].payload == payload


@pytest.mark.parametrize("payload", [float("nan"), {1, 2}, b"x", object()], ids=["nan", "set", "bytes", "object"])
def test_invalid_json_is_refused(memory: Engine, payload: Any) -> None:
    with pytest.raises(InvalidInput, match="payload is not JSON"):
        memory.session(user="ana").add("user", "hello", payload={"x": payload})


def test_a_payload_has_a_limit_and_a_deep_one_is_refused(memory: Engine) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="payload"):
        memory.session(user="ana").add("user", "hello", payload=deep)
    with pytest.raises(TextTooLong, match="payload"):
        memory.session(user="ana").add("user", "hello", payload="x" * 5_000_000)


def test_a_payload_is_neither_searched_nor_learned_from(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        talk.add("user", "Hello there.", payload={"content": "I live in Lyon. My token is sk-abcdefghijklmnopqrstuvwx."})
    memory.drain()
    assert memory.memories(user="ana") == []
    assert all("Lyon" not in hit.text for hit in memory.recall("Lyon", user="ana"))
    assert memory.sessions(user="ana")[0].status == "ended"


@pytest.mark.everywhere("sqlite", "postgres")
def test_a_message_with_a_payload_needs_no_text(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Lyon now.")
        talk.add("assistant", payload=CALL)
        assert [message.text for message in talk.messages()] == ["I live in Lyon now.", ""]
        assert talk.context().tokens >= 0
        with pytest.raises(InvalidInput, match="text is empty"):
            talk.add("assistant")
    memory.drain()
    assert memory.recall("Where does she live?", user="ana")
    assert memory.stats().waiting_for_vectors == 0


def test_the_same_id_with_another_payload_is_a_conflict(memory: Engine) -> None:
    talk = memory.session(user="ana")
    first = talk.add("user", "hello", id="1", payload={"a": 1})
    assert talk.add("user", "hello", id="1", payload={"a": 1}).id == first.id
    with pytest.raises(Conflict):
        talk.add("user", "hello", id="1", payload={"a": 2})


@pytest.mark.everywhere("sqlite", "postgres")
def test_erasing_a_message_erases_its_payload_and_the_receipt_says_so(
    memory: Engine, files_with: Callable[[str], list[str]]
) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "hello", payload={"secret": "the pangolin sings"})
    other = talk.add("user", "bye", payload={"content": "quiet axolotls dream"})
    receipt = memory.erase(source=other.id)
    assert (receipt.messages, receipt.status, receipt.verified) == (1, "erased", True)
    assert files_with("axolotl") == []
    assert [message.payload for message in talk.messages()] == [{"secret": "the pangolin sings"}]


def test_a_receipt_finds_a_payload_that_is_still_in_a_file(memory: Engine, folder: Path) -> None:
    """An erasure scans the files for the texts of payloads, too."""
    memory.session(user="ana").add("user", "hello", payload={"x": "the pangolin sings at night"})
    store = memory._services.store
    assert isinstance(store, SQLiteStore)
    looked: list[bytes] = []
    scrub = store.scrub

    def spy(needles: Any, **options: Any) -> Any:
        looked.extend(needles)
        return scrub(needles, **options)

    store.scrub = spy  # type: ignore[method-assign]
    memory.erase(user="ana")
    assert b"the pangolin sings at night" in looked


@pytest.mark.everywhere("sqlite", "postgres")
def test_an_altered_payload_is_found_by_doctor(memory: Engine) -> None:
    talk = memory.session(user="ana")
    stored = talk.add("user", "hello", payload={"amount": 100})
    with memory._services.store.write() as tx:
        tx._connection.execute("UPDATE messages SET payload = ? WHERE id = ?", ('{"amount":999}', stored.id))  # type: ignore[attr-defined]
    assert any(not finding.ok for finding in memory.doctor())


def test_a_marked_message_keeps_its_payload_and_its_hash(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        stored = talk.add("user", "I live in Lyon now.", payload={"a": 1})
    memory.drain()
    (fact,) = memory.memories(user="ana")
    memory.erase(id=fact.id)  # marks the message as forgotten
    assert memory.session(id=talk.id).messages() == [replace(stored, action="forgotten")]
    assert all(finding.ok for finding in memory.doctor())


@pytest.mark.everywhere("sqlite", "postgres")
def test_add_all_stores_all_messages_or_none(memory: Engine) -> None:
    talk = memory.session(user="ana")
    many: list[NewMessage] = [
        {"role": "user", "text": f"number {n}", "payload": {"n": n}, "id": str(n), "at": "2024-05-01T10:00:00Z"} for n in range(5)
    ]
    stored = talk.add_all(many)
    assert [message.payload for message in talk.messages()] == [{"n": n} for n in range(5)]
    assert [message.seq for message in stored] == sorted(message.seq for message in stored)
    assert [again.id for again in talk.add_all(many)] == [message.id for message in stored]
    with pytest.raises(
        InvalidInput, match=r"messages\[1\]: text is empty. Give a text that is not only spaces, or a payload. Nothing was stored"
    ):
        talk.add_all([{"role": "user", "text": "fine"}, {"role": "user", "text": " "}])
    with pytest.raises(Conflict):
        talk.add_all([{"role": "user", "text": "fine"}, {"role": "user", "text": "other", "id": "1"}])
    assert len(talk.messages()) == 5
    twice = talk.add_all([{"role": "user", "text": "once", "id": "n"}, {"role": "user", "text": "once", "id": "n"}])
    assert twice[0].id == twice[1].id
    assert len(talk.messages()) == 6
    assert talk.add_all([]) == []


@pytest.mark.everywhere("sqlite", "postgres")
def test_a_wish_within_a_batch_is_obeyed_for_the_messages_around_it(memory: Engine) -> None:
    talk = memory.session(user="ana")
    said = ["My heron is called Otto.", "Don't save this message: my pin is 4711.", "My boat is called Nuna."]
    stored = talk.add_all([{"role": "user", "text": text} for text in said])
    assert [message.consent.wish if message.consent else None for message in stored] == [None, "off_record", None]
    assert [message.seq for message in stored] == sorted({message.seq for message in stored})
    found = {hit.message.text for hit in memory.recall("what are my heron, pin and boat called?", user="ana") if hit.message}
    assert found == {said[0], said[2]}


def test_a_batch_is_indexed_by_few_statements(memory: Engine) -> None:
    statements = list[str]()

    def note(_cursor: object, sql: str, _values: object) -> bool:
        statements.append(sql)
        return True

    store: Any = services(memory).store
    with store.write() as tx:
        tx.connection.exec_trace = note
    memory.session(user="ana").add_all([{"role": "user", "text": f"heron number {n}"} for n in range(200)])
    written = [sql for sql in statements if sql.startswith(("INSERT INTO units", "INSERT INTO fulltext", "UPDATE"))]
    assert 0 < len(written) < 20


def test_add_all_names_an_unknown_or_missing_field(memory: Engine) -> None:
    talk = memory.session(user="ana")
    with pytest.raises(InvalidInput, match=r"messages\[0\]: there is no field 'txt'. The fields are role, text"):
        talk.add_all([{"role": "user", "txt": "hello"}])  # type: ignore[typeddict-unknown-key]
    with pytest.raises(InvalidInput, match=r"messages\[0\]: the field 'role' is missing"):
        talk.add_all([{"text": "hello"}])  # type: ignore[typeddict-item]
    with pytest.raises(InvalidInput, match=r"messages\[0\]: it must be a dict"):
        talk.add_all(["hello"])  # type: ignore[list-item]


@pytest.mark.everywhere("sqlite", "postgres")
def test_pop_erases_the_last_message_and_what_was_derived_from_it(memory: Engine, files_with: Callable[[str], list[str]]) -> None:
    with memory.session(user="ana", id="s") as talk:
        talk.add("user", "I have a cat.")
        last = talk.add("user", "I live in Zaragoza now.", payload={"content": "quiet axolotls dream"})
    memory.drain()
    assert any("Zaragoza" in found.text for found in memory.memories(user="ana"))
    assert talk.pop() == last
    memory.drain()
    assert not any("Zaragoza" in found.text for found in memory.memories(user="ana", retired=True) + memory.memories(user="ana"))
    assert files_with("zaragoz") == files_with("axolotl") == []
    popped = talk.pop()
    assert popped is not None
    assert popped.text == "I have a cat."
    assert talk.pop() is None
    assert memory.session(user="ana").pop() is None


def test_pop_rewrites_no_file(tmp_path: Path) -> None:
    class Watched(SQLiteStore):
        """A store that records for each scrub whether it may rewrite the file."""

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.rewrites: list[bool] = []

        def scrub(self, needles: Sequence[bytes], *, rewrite: bool = True, **options: Any) -> tuple[bool, tuple[str, ...]]:
            self.rewrites.append(rewrite)
            return super().scrub(needles, rewrite=rewrite, **options)

    store = Watched(tmp_path / "memory.db")
    with build_engine(store, preset=DEFAULT, worker="none") as memory:
        talk = memory.session(user="ana")
        talk.add("user", "I have a cat.")
        talk.pop()
        assert store.rewrites == [False]
        memory.erase(user="ana")
        assert store.rewrites == [False, True]


@pytest.mark.everywhere("sqlite", "postgres")
def test_a_session_is_erased_with_what_was_derived_from_it_and_no_other(memory: Engine) -> None:
    talks = [memory.session(user="ana", id="s"), memory.session(user="bob", id="s"), memory.session(id="s", shared=True)]
    for talk in talks:
        talk.add("user", "I live in Zaragoza now.")
        talk.end()
    memory.drain()
    receipt = talks[0].erase()
    assert (receipt.sessions, receipt.messages) == (1, 1)
    assert (talks[0].messages(), memory.memories(user="ana", kind="fact", retired=True)) == ([], [])
    assert talks[2].erase().messages == 1
    assert [message.text for message in talks[1].messages()] == ["I live in Zaragoza now."]
    with pytest.raises(NotFound):
        talks[0].erase()
    assert talks[0].add("user", "hello again").text == "hello again"


def test_a_session_off_the_record_is_erased(memory: Engine) -> None:
    talk = memory.session(user="ana", off_record=True)
    talk.add("user", "hello")
    assert talk.erase().messages == 0
    assert talk.messages() == []


def test_pop_works_off_the_record(memory: Engine) -> None:
    talk = memory.session(user="ana", off_record=True)
    talk.add_all([{"role": "user", "text": "one"}, {"role": "user", "text": "two", "payload": [1]}])
    popped = talk.pop()
    assert popped is not None
    assert popped.payload == [1]
    assert [message.text for message in talk.messages()] == ["one"]


def test_pop_does_not_hide_that_an_earlier_erasure_is_unfinished(memory: Engine) -> None:
    with memory._services.store.write() as tx:
        tx.set_setting("scrub", "pending")
    talk = memory.session(user="ana")
    talk.add("user", "hello")
    talk.pop()
    assert memory._services.store.setting("scrub") == "pending"


@pytest.mark.everywhere("sqlite", "postgres")
def test_remember_all_stores_all_memories_or_none(memory: Engine) -> None:
    ana = memory.for_user("ana")
    stored = ana.remember_all([{"text": "prefers tea", "key": "drink"}, {"text": "has a cat", "tags": ["pets"], "importance": 7}])
    assert [found.text for found in stored] == ["prefers tea", "has a cat"]
    assert stored[1].tags == ("pets",)
    with pytest.raises(InvalidInput, match=r"memories\[1\]: there is no field 'user'"):
        ana.remember_all([{"text": "fine"}, {"text": "x", "user": "bob"}])  # type: ignore[typeddict-unknown-key]
    with pytest.raises(InvalidInput, match="importance"):
        ana.remember_all([{"text": "fine"}, {"text": "x", "importance": 11}])
    assert memory.count_memories(user="ana") == 2
    memory.undo(memory.history(stored[0].id)[-1])
    assert [found.text for found in ana.memories()] == ["has a cat"]


def test_created_at_sets_the_date_of_an_imported_memory(memory: Engine, clock: FrozenClock) -> None:
    then = datetime(2024, 5, 1, 10, tzinfo=UTC)
    old = memory.remember("prefers tea", user="ana", created_at="2024-05-01T10:00:00Z", origin="import")
    new = memory.remember("has a cat", user="ana")
    assert (old.created_at, old.updated_at, old.valid_from) == (then, then, then)
    assert old.recorded_at == clock.now()
    assert [found.id for found in memory.memories(user="ana")] == [new.id, old.id]
    again = memory.remember("prefers tea", user="ana", created_at="2024-05-01T10:00:00Z", origin="import")
    assert (again.id, again.created_at, again.revision) == (old.id, then, 1)


def test_the_async_api_has_the_same_calls(folder: Path, clock: FrozenClock) -> None:
    async def use() -> None:
        async with holdfast.open_async(folder / "memory.db", worker="none", embedder="none", clock=clock) as memory:
            async with memory.session(user="ana") as talk:
                await talk.add_all([{"role": "user", "text": "one"}, {"role": "user", "payload": {"n": 2}}])
                popped = await talk.pop()
                assert popped is not None
                assert popped.payload == {"n": 2}
            await memory.remember_all([{"text": "prefers tea"}], user="ana")
            await memory.for_user("ana").remember_all([{"text": "has a cat"}])
            assert await memory.count_memories(user="ana") == 2

    asyncio.run(use())
