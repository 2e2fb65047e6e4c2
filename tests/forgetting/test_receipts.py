"""A verified receipt is correct: no erased data is left in any field, copy, topic file or backup. Erasures are recorded."""

import contextlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast import Engine
from holdfast.errors import NotFound
from holdfast.forgetting.erase import Erasing, erase
from holdfast.forgetting.needles import make_needles
from holdfast.forgetting.records import tombstones
from holdfast.presets.base import Paragraph
from holdfast.presets.default import DEFAULT
from holdfast.protocols import Transaction
from holdfast.services import services
from holdfast.stores.sql.scrubbing import held
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine
from holdfast.types import Author, Put, Scope
from holdfast.write import Writer
from tests.cli.support import Holdfast
from tests.stores.sqlite.test_upgrade import a_file_with_schema

pytestmark = [pytest.mark.ledger("X26"), pytest.mark.ledger("X5")]
OpenMemory = Callable[..., Engine]
FilesWith = Callable[[str | bytes], list[str]]
NEEDLE, CONTROL = "zanzibarquartz", "krakatoapumice"


def talk(memory: Engine, user: str, *texts: str) -> str:
    """Run a session and digest it."""
    with memory.session(user=user) as opened:
        for text in texts:
            opened.add("user", text)
    memory.drain()
    return opened.id


def in_every_field(memory: Engine, user: str, word: str) -> None:
    """Store a word in each field that a caller can fill, one row per field."""
    remember: list[dict[str, Any]] = [
        {"text": f"keeps {word} in the attic"},
        {"text": "one", "key": f"{word}-key"},
        {"text": "two", "tags": [word[:7]]},
        {"text": "three", "topic": f"{word} topic"},
        {"text": "four", "metadata": {f"{word}-name": 1}},
        {"text": "five", "metadata": {"deep": [{"er": f"value of {word}"}]}},
        {"text": "six", "namespace": ["docs", f"{word}-label"]},
    ]
    made = [memory.remember(user=user, **options) for options in remember]
    memory.revise(made[1].id, text="one and a half", reason=f"because of {word}")
    memory.forget(made[2].id, reason=f"never {word} again")
    session = memory.session(user=user, id=f"talk-of-{word}")
    session.add("user", f"My friend is called {word.title()}.", speaker=f"{word} Smith", id=f"{word}-1")
    session.add("user", "hello", payload={f"{word}-payload": [f"in the payload {word}"]})
    session.end()
    memory.drain()
    memory.recall(word, user=user)


@pytest.mark.everywhere("sqlite", "chroma")
def test_no_field_of_an_erased_user_is_left_in_any_file_and_other_users_fields_are(
    open_memory: OpenMemory, files_with: FilesWith, folder: Path
) -> None:
    memory = open_memory()
    in_every_field(memory, "victimuser", NEEDLE)
    in_every_field(memory, "bob", CONTROL)
    copy = memory.backup(folder / "backups" / "before.db")
    assert files_with(NEEDLE[:7])
    receipt = memory.erase(user="victimuser")
    assert (receipt.status, receipt.verified, receipt.residue, receipt.backups) == ("erased", True, (), ())
    for word in (NEEDLE, NEEDLE[:7], "victimuser"):
        assert files_with(word) == []
    assert copy.name in files_with(CONTROL)
    assert "memory.db" in files_with(CONTROL)
    memory.close()
    assert files_with(NEEDLE[:7]) == []


def test_the_scan_searches_for_every_erased_value(memory: Engine) -> None:
    texts: list[str] = []

    class Recording(SQLiteStore):
        def scrub(self, needles, *, rewrite=True, files=(), when="now"):  # type: ignore[no-untyped-def]
            texts.extend(needle.decode() for needle in needles)
            return super().scrub(needles, rewrite=rewrite, files=files, when=when)

    store = Recording(Path(services(memory).store.location).with_name("other.db"))
    with build_engine(store, preset=DEFAULT, worker="none") as other:
        in_every_field(other, "victimuser", NEEDLE)
        other.erase(user="victimuser")
    expected = (
        f"keeps {NEEDLE}", f"{NEEDLE}-key", f'"{NEEDLE[:7]}"', f"{NEEDLE} topic", f'"{NEEDLE}-name"', f"value of {NEEDLE}",
        f"{NEEDLE}-label", f"because of {NEEDLE}", f"never {NEEDLE}", f"talk-of-{NEEDLE}", f"{NEEDLE} Smith", f"{NEEDLE}-1",
        f'"{NEEDLE}-payload"', f"in the payload {NEEDLE}", "victimuser",
    )  # fmt: skip
    assert [each for each in expected if not any(text.startswith(each) for text in texts)] == []


def test_a_receipt_is_not_verified_while_a_short_value_is_in_the_file(memory: Engine, tmp_path: Path) -> None:
    class Kept(SQLiteStore):
        """A store whose removals leave a tag in the file, in bytes that do not belong to any row."""

        def remains(self, word: bytes) -> None:
            with self._connections.exclusive() as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS leftovers (value BLOB)")
                connection.execute("INSERT INTO leftovers VALUES (?)", (word,))

    store = Kept(tmp_path / "kept" / "memory.db")
    with build_engine(store, preset=DEFAULT, worker="none") as other:
        other.remember("two", tags=["porto"], user="ana")
        store.remains(b'"porto"')
        receipt = other.erase(user="ana")
    assert (receipt.verified, receipt.residue) == (False, (str(store.path),))


def test_a_receipt_is_not_verified_if_an_erased_row_is_back(memory: Engine) -> None:
    service = services(memory)
    kept = memory.remember("tea", user="ana")  # too short to be searched in the files

    def write_it_again() -> list[Path]:
        with service.store.write() as tx:
            tx.add_revision(kept)
        return []

    how = Erasing(now=service.clock.now(), files=write_it_again)
    receipt = erase(service.store, memory.preset, {"memory": kept.id}, how)
    assert (receipt.status, receipt.residue, receipt.verified) == ("erased", (), False)


def test_needles_of_five_bytes_are_searched_and_found_across_blocks() -> None:
    needles = make_needles(["porto", "no", "a text that is long enough to be cut somewhere in the middle of it all"])
    assert [len(needle) for needle in needles] == [48, 5]
    assert held([b"xxxpor", b"to yyy"], needles) == {b"porto"}
    assert held([b"xxxpor", b"tx yyy"], needles) == set()
    assert held([b"xx" + needles[0][:30], needles[0][30:] + b"yy"], needles) == {needles[0]}
    assert held([b"porto"], []) == set()


# Derived memories


def test_a_paragraph_of_several_conversations_is_written_again_without_the_tags_of_the_erased_one(
    open_memory: OpenMemory, files_with: FilesWith
) -> None:
    memory = open_memory(preset="apps")
    extractor = memory.preset.extractor
    assert isinstance(extractor, Paragraph)
    session = memory.session(user="ana", app="kitchen")
    kept = session.add("user", "We are going to paint the shed green in spring.")
    lost = session.add("user", f"The crate of {NEEDLE} stays in Porto.")
    with services(memory).store.write() as tx:
        merged = Put(
            scope=Scope(user="ana", app="kitchen"), kind=extractor.kind, text=f"Painting the shed, and a crate of {NEEDLE}.",
            tags=(NEEDLE, "porto", "shed"), sources=(kept.id, lost.id), metadata={"conversation": session.id, "about": NEEDLE},
        )  # fmt: skip
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="test"), now=services(memory).clock.now())
        (before,) = writer.apply([merged])
    receipt = memory.erase(source=lost.id)
    assert (receipt.verified, receipt.rebuilt) == (True, 1)
    (after,) = [each for each in memory.memories(user="ana", app="kitchen") if each.id != before.id]
    assert "shed" in after.text
    assert not {NEEDLE, "porto"} & {*after.tags, *map(str, after.metadata.values())}
    assert files_with(NEEDLE) == []


def test_a_restated_memory_keeps_nothing_of_the_erased_source(memory: Engine, files_with: FilesWith) -> None:
    session = memory.session(user="ana")
    first = session.add("user", f"I live in {NEEDLE.title()}.")
    second = session.add("user", "I live in Porto.")
    third = session.add("user", "Again: I live in Porto.")
    service = services(memory)

    def put(text: str, sources: tuple[str, ...], tags: tuple[str, ...], id: str | None = None) -> str:
        with service.store.write() as tx:
            writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="test"), now=service.clock.now())
            (made,) = writer.apply([Put(id=id, scope=Scope(user="ana"), kind="fact", text=text, sources=sources, tags=tags)])
        return made.id

    id = put(f"lives in {NEEDLE.title()}", (first.id,), (NEEDLE,))
    put("lives in Porto", (second.id,), ("porto",), id)
    put("lives in Porto", (third.id,), (), id)
    receipt = memory.erase(source=first.id)
    kept = memory.get(id)
    assert (kept.text, kept.status, receipt.verified) == ("lives in Porto", "live", True)
    assert first.id not in kept.sources
    assert NEEDLE not in kept.tags
    assert files_with(NEEDLE) == []


def test_a_restated_memory_loses_the_tags_that_only_the_erased_source_states(memory: Engine, files_with: FilesWith) -> None:
    session = memory.session(user="ana")
    first = session.add("user", f"I live in Porto, near the {NEEDLE}.")
    second = session.add("user", "Again: I live in Porto.")
    made = memory.remember("lives in Porto", user="ana", sources=[first.id], tags=["porto", NEEDLE])
    memory.remember("lives in Porto", user="ana", sources=[second.id])
    assert memory.erase(source=first.id).verified
    kept = memory.get(made.id)
    assert (kept.text, kept.tags, kept.sources) == ("lives in Porto", ("porto",), (second.id,))
    assert files_with(NEEDLE) == []


# Copies and restoring


def test_the_copies_that_holdfast_made_are_erased_too(memory: Engine, folder: Path, files_with: FilesWith) -> None:
    in_every_field(memory, "ana", NEEDLE)
    in_every_field(memory, "bob", CONTROL)
    first, second = memory.backup(folder / "b" / "one.db"), memory.backup(folder / "b" / "two.db")
    moved = memory.backup(folder / "b" / "three.db")
    moved.rename(folder / "b" / "elsewhere.bin")
    receipt = memory.erase(user="ana")
    assert (receipt.verified, receipt.backups, receipt.missing) == (True, (), (str(moved),))
    assert files_with(NEEDLE) == ["elsewhere.bin"]
    assert {first.name, second.name} <= set(files_with(CONTROL))
    assert not list(folder.glob("b/*.registry.jsonl"))


def test_no_erasure_is_recorded_in_a_copy_without_the_erased_data(memory: Engine, folder: Path, open_memory: OpenMemory) -> None:
    memory.remember("plays the cello", user="bob")
    copy = memory.backup(folder / "copy.db")
    lost = memory.remember("plays the viola", user="ana")
    assert memory.erase(id=lost.id).verified
    with open_memory(path=copy) as again:
        assert tombstones(services(again).store) == []


def test_an_erased_copy_of_an_encrypted_store_opens_with_its_key(open_memory: OpenMemory, folder: Path) -> None:
    memory = open_memory(key="correct horse")
    talk(memory, "ana", f"I live in {NEEDLE.title()}.")
    copy = memory.backup(folder / "copy.db")
    assert memory.erase(user="ana").verified
    with open_memory(path=copy, key="correct horse") as again:
        assert (again.memories(user="ana"), again.recall(NEEDLE, user="ana")) == ([], [])


def test_a_copy_that_cannot_be_opened_makes_the_receipt_unverified(memory: Engine, folder: Path) -> None:
    talk(memory, "ana", f"I live in {NEEDLE.title()}.")
    copy = memory.backup(folder / "copy.db")
    copy.write_bytes(copy.read_bytes()[:5000])
    receipt = memory.erase(user="ana")
    assert (receipt.verified, receipt.backups) == (False, (str(copy),))
    assert str(copy) in receipt.residue[0]


@pytest.fixture
def holdfast(tmp_path: Path) -> Holdfast:
    return Holdfast(home=tmp_path / "home", models=tmp_path / "models", embedder="none")


ERASURES = {
    "user": ["--user", "victimuser"],
    "user in an app": ["--user", "victimuser", "--app", "kitchen"],
    "session": ["--session", "talk-of-the-day"],
}


@pytest.mark.parametrize("name", ERASURES)
def test_a_restore_erases_again_what_was_erased_after_the_backup(holdfast: Holdfast, tmp_path: Path, name: str) -> None:
    with holdfast.memory() as memory:
        session = memory.session(user="victimuser", app="kitchen", id="talk-of-the-day")
        session.add("user", f"I keep {NEEDLE} at home.")
        session.end()
        memory.remember(f"likes {CONTROL}", user="bob")
        memory.drain()
    copy = tmp_path / "copy.db"
    holdfast("backup", str(copy))
    kept = copy.read_bytes()  # a copy that Holdfast does not know, for example on another disk
    assert holdfast.json("erase", *ERASURES[name], "--yes")["verified"]
    unknown = tmp_path / "unknown.db"
    unknown.write_bytes(kept)
    assert "1 erasure" in holdfast("restore", str(unknown), "--yes").stdout
    assert not any(NEEDLE.encode() in path.read_bytes() for path in holdfast.home.rglob("*") if path.is_file())
    assert CONTROL in holdfast("list", "--user", "bob").stdout
    assert "No erasure is later" in holdfast("restore", str(copy), "--yes").stdout


def test_a_restored_backup_of_an_earlier_schema_leaves_no_copy_with_erased_data(holdfast: Holdfast, tmp_path: Path) -> None:
    old = a_file_with_schema(tmp_path / "old.db", 9)
    with contextlib.closing(apsw.Connection(str(old))) as connection:
        connection.execute("INSERT INTO settings (tenant, name, value) VALUES ('default', 'secret', 'aa')")
    holdfast("restore", str(old), "--yes")
    assert [path.name for path in holdfast.home.iterdir() if ".schema-" in path.name] == []


def test_a_restore_where_no_erasures_are_recorded_says_so(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("remember", "likes tea", "--user", "ana")
    holdfast("backup", str(tmp_path / "copy.db"))
    elsewhere = tmp_path / "new" / "memory.db"
    assert "No list of erasures" in holdfast("restore", str(tmp_path / "copy.db"), "--store", str(elsewhere)).stdout
    assert "No erasure is later" in holdfast("restore", str(tmp_path / "copy.db"), "--yes").stdout


def test_a_restore_repeats_the_erasures_of_every_tenant(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("remember", f"keeps {NEEDLE}", "--user", "victimuser", "--tenant", "acme")
    copy, unknown = tmp_path / "copy.db", tmp_path / "unknown.db"
    holdfast("backup", str(copy))
    unknown.write_bytes(copy.read_bytes())
    assert holdfast.json("erase", "--user", "victimuser", "--tenant", "acme", "--yes")["verified"]
    assert "1 erasure" in holdfast("restore", str(unknown), "--yes").stdout
    assert not any(NEEDLE.encode() in path.read_bytes() for path in holdfast.home.rglob("*") if path.is_file())


def test_the_store_that_a_restore_replaced_is_a_known_copy(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("remember", f"keeps {NEEDLE}", "--user", "victimuser")
    holdfast("backup", str(tmp_path / "copy.db"))
    holdfast("restore", str(tmp_path / "copy.db"), "--yes")
    receipt = holdfast.json("erase", "--user", "victimuser", "--yes")
    assert (receipt["verified"], receipt["backups"], receipt["missing"]) == (True, [], [])
    assert not any(NEEDLE.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


# Topic files


def test_an_erasure_with_another_preset_reaches_the_topic_files_and_the_folder(holdfast: Holdfast) -> None:
    for user, word in (("victimuser", NEEDLE), ("bob", CONTROL)):
        holdfast("remember", f"keeps {word} in the attic", "--user", user, "--topic", "pets", "--preset", "rostro")
        holdfast("topics", "sync", "--preset", "rostro", "--user", user)
    assert len(list(holdfast.home.glob("topics/*/pets.md"))) == 2
    receipt = holdfast.json("erase", "--user", "victimuser", "--yes")
    assert (receipt["verified"], receipt["residue"]) == (True, [])
    assert not any("victim" in path.name for path in holdfast.home.rglob("*"))
    files = [path for path in holdfast.home.rglob("*") if path.is_file()]
    assert not any(NEEDLE.encode() in path.read_bytes() for path in files)
    assert any(CONTROL.encode() in path.read_bytes() for path in files if path.suffix == ".md")


def test_a_foreign_file_in_the_topic_folder_of_an_erased_user_is_reported(open_memory: OpenMemory, folder: Path) -> None:
    memory = open_memory(preset="rostro")
    memory.remember(f"keeps {NEEDLE}", user="victimuser", topic="pets")
    services(memory).topic_files.of(Scope(tenant="default", user="victimuser")).sync()
    (page,) = folder.glob("topics/victimuser-*/pets.md")
    page.with_name("holiday.jpg").write_bytes(b"\xff\xd8")
    receipt = memory.erase(user="victimuser")
    assert (receipt.verified, receipt.status) == (False, "pending")
    assert "holiday.jpg" in receipt.residue[-1]
    assert not page.exists()
    memory.scrub()
    again = memory.receipt(receipt.id)
    assert (again.verified, again.status) == (False, "pending"), "the folder still bears the name"
    assert "holiday.jpg" in again.residue[-1]
    page.with_name("holiday.jpg").unlink()
    memory.scrub()
    assert (memory.receipt(receipt.id).verified, page.parent.exists()) == (True, False)


# The trail


def test_erasures_leave_a_trail_without_names_and_content(
    memory: Engine, clock: FrozenClock, files_with: FilesWith, folder: Path
) -> None:
    in_every_field(memory, "victimuser", NEEDLE)
    receipt = memory.erase(user="victimuser")
    (later,) = memory.receipts()
    assert later == memory.receipt(receipt.id)
    assert (later.target, later.at, later.verified) == ({"user": "(erased)"}, clock.now(), True)
    assert (later.memories, later.messages, later.sessions) == (receipt.memories, receipt.messages, receipt.sessions)
    stored = json.loads(next(iter(services(memory).store.settings("erasure ").values())))
    assert (stored["actor"], stored["kinds"]) == ("user", ["user"])
    assert files_with("victimuser") == []
    assert oct((folder / "memory.db.registry.jsonl").stat().st_mode & 0o777) == "0o600"
    with pytest.raises(NotFound, match="no receipt"):
        memory.receipt("era_unknown")


def test_a_pending_receipt_is_completed_and_verified_later(memory: Engine, open_memory: OpenMemory) -> None:
    in_every_field(memory, "victimuser", NEEDLE)
    reading = SQLiteStore(Path(services(memory).store.location))
    with reading.snapshot():
        reading.stats()
        receipt = memory.erase(user="victimuser")
        assert (receipt.status, receipt.verified) == ("pending", False)
        assert memory.receipt(receipt.id).status == "pending"
    reading.close()
    memory.drain()
    done = memory.receipt(receipt.id)
    assert (done.status, done.verified, done.residue) == ("erased", True, ())


def test_an_id_that_is_gone_when_the_transaction_starts_erases_nothing(tmp_path: Path) -> None:
    class Racing(SQLiteStore):
        """A store that calls ``raced`` at the start of the next transaction, as if another process had been faster."""

        raced: Callable[[Transaction], object] | None = None

        @contextmanager
        def write(self, *, durable: bool = True) -> Iterator[Any]:
            with super().write(durable=durable) as tx:
                raced, self.raced = self.raced, None
                if raced is not None:
                    raced(tx)
                yield tx

    store = Racing(tmp_path / "memory.db")
    with build_engine(store, preset=DEFAULT, worker="none") as memory:
        made = memory.remember("likes tea", user="ana")
        store.raced = lambda tx: tx.remove_memories([made.id])
        with pytest.raises(NotFound):
            memory.erase(id=made.id)
        assert memory.receipts() == []


def test_a_damaged_line_of_the_registry_is_skipped(memory: Engine, folder: Path) -> None:
    talk(memory, "ana", f"I live in {NEEDLE.title()}.")
    memory.backup(folder / "copy.db")
    with (folder / "memory.db.registry.jsonl").open("a") as file:
        file.write('{"copy": "/half')
    assert memory.erase(user="ana").verified


def test_an_unreadable_backup_does_not_prevent_the_receipt(memory: Engine, folder: Path) -> None:
    talk(memory, "ana", f"I live in {NEEDLE.title()}.")
    copy = memory.backup(folder / "copy.db")
    copy.unlink()
    copy.mkdir()
    receipt = memory.erase(user="ana")
    assert (receipt.verified, receipt.memories) == (False, 1)
