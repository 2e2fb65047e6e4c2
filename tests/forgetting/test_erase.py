"""An erasure removes rows and everything derived from them, overwrites their bytes on disk, and returns a correct receipt.

Index entries, vectors and queued jobs are removed, too.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast import Engine, Message
from holdfast.errors import InvalidInput, NotFound
from holdfast.forgetting.erase import Erasing, erase
from holdfast.forgetting.scrub import mark_erased, note_scrubbed
from holdfast.presets.default import DEFAULT
from holdfast.protocols import SCRUB, ScrubTime
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.stores.vector_index.index import quantize
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.testing.engines import build_engine

FilesWith = Callable[[str | bytes], list[str]]
ANAS = "I live in Xanadu with a pangolin called Quincy."
BOBS = "I live in Ruritania with a walrus called Wilbur."


def talk(memory: Engine, user: str, text: str, **scope: Any) -> Message:
    """Run a session and digest it."""
    session = memory.session(user=user, id=f"ses_{user}", **scope)
    message = session.add("user", text)
    session.end()
    memory.drain()
    return message


def code_bytes(text: str) -> bytes:
    codes, _ = quantize(HashEmbedder().embed([text], role="document"))
    return bytes(codes[0].tobytes())


@pytest.fixture
def two(memory: Engine) -> Engine:
    """A store with two users, Ana and Bob. Each has a session, a digested fact, an explicit memory, a job and vectors."""
    for user, text in (("ana", ANAS), ("bob", BOBS)):
        talk(memory, user, text)
        memory.remember(f"favourite word of {user} is {'zugzwang' if user == 'ana' else 'flabbergast'}", user=user, app="words")
        memory.set_user(user, timezone="Europe/Madrid")
        memory.recall("pangolin walrus", user=user)
    memory.drain()
    return memory


@pytest.mark.ledger("X5", "X18")
def test_erasing_a_user_is_counted(two: Engine, clock: FrozenClock) -> None:
    receipt = two.erase(user="ana")
    assert (receipt.memories, receipt.revisions, receipt.messages, receipt.sessions, receipt.jobs) == (2, 2, 1, 1, 1)
    assert receipt.vectors == 3
    assert (receipt.status, receipt.verified, receipt.residue, receipt.backups) == ("erased", True, (), ())
    assert (receipt.target, receipt.at) == ({"user": "ana"}, clock.now())


@pytest.mark.ledger("X5")
def test_erasing_a_user_crosses_apps_and_leaves_no_row(two: Engine) -> None:
    two.erase(user="ana")
    for app in (None, "words"):
        assert two.memories(user="ana", app=app) == []
        assert two.memories(user="ana", app=app, retired=True) == []
        assert two.recall("pangolin zugzwang", user="ana", app=app) == []
    assert two.sessions(user="ana") == []
    assert [job.payload["session"] for job in two.jobs()] == ["ses_bob"]
    assert services(two).store.user("ana").timezone == "UTC"
    assert [finding for finding in two.doctor() if not finding.ok] == []


@pytest.mark.ledger("X5")
def test_erasing_a_user_touches_nobody_else(two: Engine) -> None:
    memories, messages = two.memories(user="bob", app="words"), two.session(id="ses_bob").messages()
    two.erase(user="ana")
    assert two.memories(user="bob", app="words") == memories
    assert two.session(id="ses_bob").messages() == messages
    assert two.recall("walrus", user="bob")[0].similarity is not None
    assert services(two).store.user("bob").timezone == "Europe/Madrid"


@pytest.mark.ledger("X5")
@pytest.mark.parametrize("closed", [False, True])
def test_not_a_byte_of_an_erased_user_is_on_disk(two: Engine, files_with: FilesWith, *, closed: bool) -> None:
    assert files_with("pangolin")
    two.erase(user="ana")
    if closed:
        two.close()
    for word in ("pangolin", "xanadu", "quincy", "zugzwang"):
        assert files_with(word) == [], word
    for word in ("walrus", "ruritania", "wilbur", "flabbergast"):
        assert files_with(word), word


@pytest.mark.ledger("X5")
def test_the_vectors_of_an_erased_user_are_gone_from_disk(two: Engine, files_with: FilesWith) -> None:
    assert files_with(code_bytes(ANAS))
    two.erase(user="ana")
    assert files_with(code_bytes(ANAS)) == []
    assert files_with(code_bytes(BOBS))


@pytest.mark.ledger("X5")
def test_the_name_of_an_erased_user_is_gone_from_disk(memory: Engine, files_with: FilesWith) -> None:
    talk(memory, "bartholomew", "I live in Lyon.")
    memory.set_user("bartholomew", language="es")
    memory.remember("prefers tea", user="bartholomew", app="kitchen", agent="chef")
    assert files_with("bartholomew")
    memory.erase(user="bartholomew")
    assert files_with("bartholomew") == []


@pytest.mark.ledger("X5")
def test_earlier_wordings_are_erased_too(memory: Engine, files_with: FilesWith) -> None:
    made = memory.remember("has a pangolin", user="ana")
    memory.drain()
    memory.revise(made.id, "has a walrus")
    memory.drain()
    receipt = memory.erase(id=made.id)
    assert (receipt.memories, receipt.revisions, receipt.verified) == (1, 2, True)
    assert (files_with("pangolin"), files_with("walrus")) == ([], [])
    with pytest.raises(NotFound):
        memory.history(made.id)


def test_forgotten_and_superseded_memories_are_erased_with_their_user(memory: Engine, files_with: FilesWith) -> None:
    memory.forget(memory.remember("has a pangolin", user="ana").id)
    for city in ("Xanadu", "Atlantis"):
        memory.remember(city, kind="profile", key="city", user="ana")
    memory.drain()
    assert memory.erase(user="ana").memories == 3
    assert [files_with(word) for word in ("pangolin", "xanadu", "atlantis")] == [[], [], []]


@pytest.mark.ledger("X5")
def test_erasing_one_memory_leaves_the_others_of_its_user(two: Engine) -> None:
    chosen = two.memories(user="ana", app="words")[0]
    receipt = two.erase(id=chosen.id)
    assert (receipt.memories, receipt.messages, receipt.target) == (1, 0, {"memory": chosen.id})
    assert len(two.memories(user="ana", app="words")) == 1


@pytest.mark.ledger("X5")
def test_erasing_a_session_erases_the_memories_derived_from_it(two: Engine, files_with: FilesWith) -> None:
    receipt = two.erase(session="ses_ana")
    assert (receipt.sessions, receipt.messages, receipt.memories, receipt.jobs, receipt.verified) == (1, 1, 1, 1, True)
    assert (files_with("pangolin"), bool(files_with("zugzwang"))) == ([], True)
    assert [m.text for m in two.memories(user="ana", app="words")] == ["favourite word of ana is zugzwang"]


@pytest.mark.ledger("X5")
def test_a_fact_said_twice_in_a_session_is_erased_with_it(memory: Engine, files_with: FilesWith) -> None:
    session = memory.session(user="ana")
    said = [session.add("user", text).id for text in ("I live in Xanadu.", "As I said, I live in Xanadu.")]
    for source in said:
        kept = memory.remember("lives in Xanadu", user="ana", sources=[source])
    assert kept.sources == tuple(said)
    assert memory.erase(session=session.id).verified
    assert memory.memories(user="ana", retired=True) == []
    assert files_with("Xanadu") == []


@pytest.mark.ledger("X5")
def test_erasing_an_app_crosses_users(two: Engine, files_with: FilesWith) -> None:
    receipt = two.erase(app="words")
    assert (receipt.memories, receipt.messages) == (2, 0)
    assert (files_with("zugzwang"), files_with("flabbergast"), bool(files_with("pangolin"))) == ([], [], True)


def test_erasing_a_user_in_an_app_leaves_the_rest_of_both(two: Engine) -> None:
    assert two.erase(user="ana", app="words").memories == 1
    assert [m.text for m in two.memories(user="ana", app="words")] == [ANAS]
    assert len(two.memories(user="bob", app="words")) == 2


@pytest.mark.ledger("X5", "X7")
def test_erasing_a_source_removes_everything_derived_from_it(memory: Engine, files_with: FilesWith) -> None:
    message = talk(memory, "ana", ANAS)
    (fact,) = memory.memories(user="ana")
    digest = memory.remember("a summary: pangolin owner", kind="summary", user="ana", sources=[fact.id])
    memory.remember("a summary of the summary of the pangolin", kind="summary", user="ana", sources=[digest.id])
    memory.drain()
    receipt = memory.erase(source=message.id)
    assert (receipt.messages, receipt.memories, receipt.sessions, receipt.verified) == (1, 3, 0, True)
    assert memory.memories(user="ana") == []
    assert files_with("pangolin") == []


@pytest.mark.ledger("X5")
@pytest.mark.parametrize("read_by", ["model", "rules"])
def test_a_memory_with_another_source_is_derived_again_from_that_source(memory: Engine, read_by: str) -> None:
    session = memory.session(user="ana")
    first, second = (session.add("user", text) for text in ("I live in Lyon.", "I live in Lyon!"))
    session.end()
    memory.drain()
    (mixed,) = memory.memories(user="ana")
    assert mixed.sources == (first.id, second.id)
    store, now = services(memory).store, services(memory).clock.now()
    by_rules = read_by == "rules"
    receipt = erase(store, memory.preset, {"source": first.id}, Erasing(now=now)) if by_rules else memory.erase(source=first.id)
    (rebuilt,) = memory.memories(user="ana")
    assert (receipt.rebuilt, rebuilt.sources, rebuilt.text) == (1, (second.id,), "I live in Lyon!")


def test_a_source_can_be_erased_even_if_its_message_no_longer_exists(
    open_memory: Callable[..., Engine], clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MESSAGE_DAYS", "1")
    memory = open_memory()
    message = talk(memory, "ana", ANAS)
    clock.set("2026-03-05")
    memory.drain()
    assert (memory.stats().messages, memory.stats().memories) == (0, 1)
    assert memory.erase(source=message.id).memories == 1


def test_erasing_a_scope_that_holds_nothing_counts_nothing(two: Engine) -> None:
    for target in ({"user": "nobody"}, {"app": "none"}):
        receipt = two.erase(**target)
        assert (receipt.memories, receipt.messages, receipt.sessions) == (0, 0, 0)
    assert two.stats().memories == 4


@pytest.mark.parametrize("target", [{"id": "mem_x"}, {"session": "ses_x"}, {"source": "msg_x"}, {"id": ""}])
def test_erasing_an_unknown_id_is_not_found(two: Engine, target: dict[str, str]) -> None:
    with pytest.raises(NotFound, match="Nothing was erased"):
        two.erase(**target)
    assert two.stats().memories == 4


@pytest.mark.ledger("X5")
def test_the_same_text_of_another_user_is_not_residue(memory: Engine) -> None:
    for user in ("ana", "bob"):
        memory.session(user=user).add("user", "good morning to you")
        memory.remember("prefers green tea", user=user)
    memory.drain()
    receipt = memory.erase(user="ana")
    assert (receipt.status, receipt.verified, receipt.residue) == ("erased", True, ())
    assert [m.text for m in memory.memories(user="bob")] == ["prefers green tea"]


@pytest.mark.ledger("X5")
@pytest.mark.parametrize(
    "other", [{"text": "Hello there!"}, {"topic": "hello there"}, {"tags": ["hello there"]}, {"user": "hello there"}], ids=str
)
def test_the_same_text_of_another_user_elsewhere_is_not_residue(memory: Engine, other: dict[str, Any]) -> None:
    memory.remember("hello there", user="ana")
    memory.remember(**{"text": "something else", "user": "bob", **other})
    memory.drain()
    receipt = memory.erase(user="ana")
    assert (receipt.status, receipt.verified, receipt.residue) == ("erased", True, ())


class Killed(SQLiteStore):
    """A store whose process dies after the rows are removed but before the bytes are overwritten."""

    def scrub(
        self, needles: Sequence[bytes], *, rewrite: bool = True, files: Sequence[Path] = (), when: ScrubTime = "now"
    ) -> tuple[bool, tuple[str, ...]]:
        raise KeyboardInterrupt


@pytest.mark.ledger("X5")
def test_an_erasure_that_was_cut_short_is_finished_by_the_next_process(
    open_memory: Callable[..., Engine], folder: Path, clock: FrozenClock, files_with: FilesWith
) -> None:
    with open_memory() as memory:
        talk(memory, "ana", ANAS)
        reader = apsw.Connection(str(folder / "memory.db"))  # keeps the log when the other connections close
        reader.execute("SELECT count(*) FROM memories").fetchall()
    killed = build_engine(Killed(folder / "memory.db"), preset=DEFAULT, clock=clock, worker="none")
    with pytest.raises(KeyboardInterrupt):
        killed.erase(user="ana")
    killed.close()
    assert files_with("pangolin")
    again = open_memory()
    again.drain()
    reader.close()
    assert files_with("pangolin") == []


@pytest.mark.parametrize(
    ("before", "complete", "rewrite", "after"),
    [
        ("pending", True, True, "done"),
        ("pending", True, False, "pending"),
        ("pending", False, True, "pending"),
        ("log", True, False, "done"),
        ("log", True, True, "done"),
        ("log", False, False, "pending"),
        ("done", True, False, "done"),
        ("done", False, False, "pending"),
    ],
)
def test_overwriting_is_done_if_a_scrub_was_complete_and_went_far_enough(
    memory: Engine, before: str, after: str, *, complete: bool, rewrite: bool
) -> None:
    store = services(memory).store
    with store.write() as tx:
        tx.set_setting(SCRUB, before)
    note_scrubbed(store, complete=complete, rewrite=rewrite)
    assert store.setting(SCRUB) == after


@pytest.mark.parametrize(
    ("before", "rewrite", "after"),
    [
        ("done", True, "pending"),
        ("log", True, "pending"),
        ("done", False, "log"),
        (None, False, "log"),
        ("pending", False, "pending"),
    ],
)
def test_removing_rows_records_how_far_their_bytes_must_be_overwritten(
    memory: Engine, before: str | None, after: str, *, rewrite: bool
) -> None:
    with services(memory).store.write() as tx:
        if before is not None:
            tx.set_setting(SCRUB, before)
        mark_erased(tx, rewrite=rewrite)
        assert tx.setting(SCRUB) == after


def test_erasing_without_a_target_is_refused(memory: Engine) -> None:
    with pytest.raises(InvalidInput, match="user="):
        memory.erase()


@pytest.mark.long
@pytest.mark.ledger("X5")
def test_while_another_process_reads_the_old_state_the_receipt_stays_pending(
    two: Engine, folder: Path, files_with: FilesWith
) -> None:
    reader = apsw.Connection(str(folder / "memory.db"))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM memories").get
    receipt = two.erase(user="ana")
    assert (receipt.status, receipt.verified) == ("pending", False)
    assert two.memories(user="ana", app="words") == []
    reader.close()
    two.drain()
    assert files_with("pangolin") == []


@pytest.mark.long
@pytest.mark.ledger("X5")
def test_a_pending_erasure_is_complete_after_closing(two: Engine, folder: Path, files_with: FilesWith) -> None:
    reader = apsw.Connection(str(folder / "memory.db"))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM memories").get
    assert two.erase(user="ana").status == "pending"
    reader.close()
    two.close()
    assert files_with("pangolin") == []
    assert files_with("walrus")


@pytest.mark.ledger("X5", "X13")
def test_a_receipt_names_the_backups_that_still_hold_the_data(two: Engine, tmp_path: Path, folder: Path) -> None:
    target = two.backup(tmp_path / "copies" / "before.db")
    target.write_bytes(b"no longer a store")
    receipt = two.erase(user="ana")
    assert (receipt.backups, receipt.verified) == ((str(target.resolve()),), False)
    later = two.backup(tmp_path / "copies" / "after.db")
    assert b"pangolin" not in later.read_bytes()


def test_recall_by_meaning_works_after_an_erasure(memory: Engine) -> None:
    memory.remember("prefers tea", user="ana")
    memory.recall("tea", user="ana")
    memory.erase(user="ana")
    memory.remember("prefers tea", user="bob")
    assert memory.recall("tea", user="bob")[0].similarity == pytest.approx(1, abs=0.5)


def test_erased_users_are_not_found_by_another_open_handle(open_memory: Callable[..., Engine]) -> None:
    one, other = open_memory(), open_memory()
    one.remember("has a pangolin", user="ana")
    one.remember("has a walrus", user="ana")
    assert len(other.recall("pangolin", user="ana")) == 2
    one.erase(id=one.memories(user="ana")[-1].id)
    assert [hit.text for hit in other.recall("pangolin", user="ana")] == ["has a walrus"]
    one.erase(user="ana")
    assert other.recall("pangolin", user="ana") == []
