"""Behavior of all imports: format detection, dry runs, limits on learning, errors, and continuing after a kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput, NotFound
from holdfast.importers.formats import FORMATS
from tests.exporters.support import PRESET
from tests.importers.support import chatgpt_message, chatgpt_talk, said, texts, write_json

OpenMemory = Callable[..., Engine]
DAY = 86_400


def talks(number: int, size: int = 2) -> list[dict[str, object]]:
    """Return conversations, one per day, the newest first, as ChatGPT exports them."""
    found = []
    for each in reversed(range(number)):
        at = 1_700_000_000.0 + each * DAY
        said = [chatgpt_message("user", f"I like color {each}-{turn}.", at=at + turn) for turn in range(size)]
        found.append(chatgpt_talk(f"talk-{each}", *said, at=at))
    return found


@pytest.mark.ledger("X13")
def test_learning_is_limited_to_the_newest_conversations(memory: Engine, tmp_path: Path) -> None:
    file = write_json(tmp_path / "c.json", talks(5))
    result = memory.import_from(file, user="ana", learn=2)
    assert (result.sessions.imported, result.learning) == (5, 2)
    assert sorted(job.payload["session"] for job in memory.jobs(states=["queued"])) == ["talk-3", "talk-4"]
    memory.drain()
    assert {text[13] for text in texts(memory, user="ana") if text.startswith("I like color ")} == {"3", "4"}
    assert len(said(memory, "talk-0")) == 2, "the others are stored and can be recalled"
    assert memory.import_from(file, user="ana").learning == 0


def test_nothing_is_learned_if_learning_is_off(memory: Engine, tmp_path: Path) -> None:
    memory.import_from(write_json(tmp_path / "c.json", talks(3)), user="ana", learn=0)
    memory.drain()
    assert texts(memory, user="ana") == []
    with pytest.raises(InvalidInput, match="learn is -1"):
        memory.import_from(tmp_path / "c.json", learn=-1)


@pytest.mark.long
def test_unlearned_conversations_are_not_summarized_either(memory: Engine, tmp_path: Path) -> None:
    memory.import_from(write_json(tmp_path / "c.json", talks(3, size=40)), user="ana", learn=1)
    with memory.session(user="ana", id="talk-0") as talk:  # an old conversation goes on
        talk.add("user", "I live in Lyon.")
    memory.drain()
    covered = {source for each in memory.memories(user="ana", kind="summary") for source in each.sources}
    assert covered == {message.id for message in memory.session(id="talk-2").messages()[: len(covered)]}
    assert covered
    memory.export(tmp_path / "all.jsonl", user="ana")
    assert b'"unlearned_to":"msg_' in (tmp_path / "all.jsonl").read_bytes()


@pytest.mark.ledger("X13")
def test_a_dry_run_counts_and_changes_nothing(memory: Engine, tmp_path: Path) -> None:
    file = write_json(tmp_path / "c.json", talks(3))
    result = memory.import_from(file, user="ana", dry_run=True)
    assert (result.dry_run, result.messages.found, result.messages.known, result.sessions.found) == (True, 6, 0, 3)
    assert (memory.stats().messages, memory.sessions(user="ana"), memory.jobs()) == (0, [], [])
    memory.import_from(file, user="ana")
    again = memory.import_from(file, user="ana", dry_run=True)
    assert (again.messages.known, again.sessions.known) == (6, 3)


@pytest.mark.ledger("X13")
@pytest.mark.everywhere("sqlite", "postgres")
def test_a_second_run_changes_nothing(memory: Engine, tmp_path: Path) -> None:
    file, pasted = write_json(tmp_path / "c.json", talks(3)), tmp_path / "pasted.txt"
    pasted.write_text("[2024-05-01] - Prefers tea\n[2024-05-02] - Lives in Lyon\n")
    memory.import_from(file, user="ana")
    memory.import_from(pasted, user="ana")
    memory.drain()
    memory.export(tmp_path / "before.jsonl")
    result = memory.import_from(file, user="ana")
    assert (result.messages.known, result.sessions.known, result.learning) == (6, 3, 0)
    assert memory.import_from(pasted, user="ana").memories.known == 2
    memory.export(tmp_path / "after.jsonl")
    assert (tmp_path / "after.jsonl").read_bytes() == (tmp_path / "before.jsonl").read_bytes()


@pytest.mark.ledger("X13")
def test_damage_far_into_a_file_is_found_before_anything_is_stored(memory: Engine, tmp_path: Path) -> None:
    file = write_json(tmp_path / "c.json", talks(4, size=400))
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(InvalidInput, match=r"c\.json, item 4 is not valid JSON"):
        memory.import_from(file)
    assert memory.stats().messages == 0


def test_forgotten_memories_do_not_come_back(memory: Engine, tmp_path: Path) -> None:
    file = tmp_path / "m.txt"
    file.write_text("[2024-05-01] - Prefers tea\n[2024-05-02] - prefers tea.\n")
    first = memory.import_from(file, user="ana")
    assert (first.memories.imported, first.memories.repeated) == (1, 1)
    memory.forget(memory.memories(user="ana")[0].id)
    memory.import_from(file, user="ana")
    assert memory.memories(user="ana") == []


def test_two_users_can_import_the_same_conversation(memory: Engine, tmp_path: Path) -> None:
    file = write_json(tmp_path / "c.json", talks(1))
    for user in ("ana", "bob"):
        assert memory.import_from(file, user=user).messages.imported == 2
    memory.erase(user="bob")
    assert [len(memory.session(id="talk-0", user=user).messages()) for user in ("ana", "bob")] == [2, 0]


def test_replaced_secrets_are_counted(memory: Engine, tmp_path: Path) -> None:
    talk = chatgpt_talk(
        "c", chatgpt_message("user", "My password is hunter2hunter2."), title="key sk-proj-abcdefghijklmnopqrstuvwx1234567890"
    )
    result = memory.import_from(write_json(tmp_path / "c.json", [talk]), user="ana")
    assert result.messages.redacted == 1
    (tmp_path / "m.txt").write_text("[2024-05-01] - The password is hunter2hunter2\n")
    assert memory.import_from(tmp_path / "m.txt", user="ana").memories.redacted == 1
    memory.export(tmp_path / "all.jsonl")
    written = (tmp_path / "all.jsonl").read_bytes()
    assert (b"hunter2" in written, b"abcdefghijklmnopqrstuvwx" in written) == (False, False)


@pytest.mark.long
def test_progress_is_reported(memory: Engine, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    memory.import_from(
        write_json(tmp_path / "c.json", talks(3, size=400)), progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(done, 1203) for done in (*range(200, 1203, 200), 1203)]


def test_a_format_that_is_not_recognized_is_refused_with_the_list(memory: Engine, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\x00")
    with pytest.raises(
        InvalidInput, match=r"(?s)was not recognized.*\n  chatgpt +an export of ChatGPT.*\n  text +a text document"
    ):
        memory.import_from(tmp_path / "photo.png")
    with pytest.raises(InvalidInput, match=r"(?s)no format 'word'.*chatgpt"):
        memory.import_from(tmp_path / "photo.png", format="word")
    with pytest.raises(NotFound, match="no file or folder"):
        memory.import_from(tmp_path / "missing.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="was not recognized"):
        memory.import_from(tmp_path / "empty")


@pytest.mark.parametrize("format", [each.name for each in FORMATS if each.name not in ("text", "pasted", "markdown")])
@pytest.mark.parametrize("content", [b'{"a": 1}\n', b"A letter.\n", b"%PDF-1.4\n", b"\x00\x01\x02"])
def test_a_file_of_another_format_than_the_named_one_is_refused(
    memory: Engine, tmp_path: Path, format: str, content: bytes
) -> None:
    (tmp_path / "some.file").write_bytes(content)
    with pytest.raises(InvalidInput):
        memory.import_from(tmp_path / "some.file", format=format)


def test_a_store_of_holdfast_is_refused_with_the_way_to_do_it(memory: Engine, folder: Path) -> None:
    memory.remember("likes tea")
    with pytest.raises(InvalidInput, match=r"is a store of Holdfast.*export all\.jsonl"):
        memory.import_from(folder / "memory.db")


@pytest.mark.parametrize(
    ("line", "change", "problem"),
    [
        (2, lambda line: line[:-20], "line 3: the line is not valid JSON"),
        (2, lambda line: b"\xff" + line, "line 3: the line is not UTF-8"),
        (0, lambda line: line.replace(b'"version":1', b'"version":2'), "line 1: the export has version 2"),
        (0, lambda line: b'{"type":"other"}', "line 1: this is not an export of Holdfast"),
        (2, lambda line: line.replace(b'"at":"2', b'"at":"x2'), "line 3: 'at'"),
        (2, lambda line: line.replace(b'"type":"message"', b'"type":"dog"'), "line 3: there is no type 'dog'"),
        (-1, lambda line: b"", "is incomplete"),
        (2, lambda line: b"", "lines are missing or were added"),
        (-2, lambda line: line.replace(b'"state":"', b'"state":"un'), "'state' must be one of"),
    ],
    ids=["cut", "encoding", "version", "header", "time", "type", "end", "count", "choice"],
)  # fmt: skip
def test_a_damaged_export_is_refused_with_its_line_and_nothing_is_stored(
    open_memory: OpenMemory, tmp_path: Path, line: int, change: Callable[[bytes], bytes], problem: str
) -> None:
    memory = open_memory(preset=PRESET)
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Lyon.")
    memory.export(tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_bytes().splitlines()
    lines[line] = change(lines[line])
    (tmp_path / "all.jsonl").write_bytes(b"\n".join(line for line in lines if line))
    target = open_memory(preset=PRESET, tenant="other")
    with pytest.raises(InvalidInput, match=problem):
        target.import_from(tmp_path / "all.jsonl", format="holdfast")
    assert (target.stats().messages, target.users()) == (0, [])


def test_an_export_of_another_preset_is_refused(open_memory: OpenMemory, tmp_path: Path) -> None:
    open_memory(preset="reachy").remember("something", kind="conversation")
    open_memory(preset="reachy").export(tmp_path / "all.jsonl")
    target = open_memory(tenant="other")
    with pytest.raises(InvalidInput, match="The preset 'default' has no kind 'conversation'"):
        target.import_from(tmp_path / "all.jsonl")


def test_an_import_into_a_store_with_the_same_memories_merges_them(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, target = open_memory(), open_memory(tenant="other")
    for each in (memory, target):
        each.remember("prefers tea", user="ana", key="drink")
        each.remember("in the garden", user="ana", kind="context", key="place")
    memory.remember("has a dog", user="ana")
    memory.export(tmp_path / "all.jsonl")
    result = target.import_from(tmp_path / "all.jsonl")
    assert (result.memories.imported, result.memories.repeated) == (1, 2)
    assert texts(target, user="ana") == ["has a dog", "in the garden", "prefers tea"]


_PROGRAM = """
import sys
from holdfast.config.opening import open_engine
memory = open_engine(sys.argv[1], embedder="none", worker="none", preset="default")
memory.import_from(sys.argv[2], progress=lambda done, total: print(done, flush=True), **({"user": "ana"} if len(sys.argv) > 3 else {}))
"""


@pytest.mark.long
@pytest.mark.ledger("X13", "X1")
@pytest.mark.parametrize("kind", ["chatgpt", "holdfast"])
def test_an_import_that_was_killed_is_continued(open_memory: OpenMemory, tmp_path: Path, kind: str) -> None:
    """Kill the import with SIGKILL after each batch in turn. At the end, the store has everything once."""
    file = write_json(tmp_path / "c.json", talks(6, size=300))
    arguments = ["ana"]
    if kind == "holdfast":
        source = open_memory(tenant="source")
        source.import_from(file, user="ana")
        file, arguments = tmp_path / "all.jsonl", []
        source.export(file)
    store = tmp_path / "killed.db"
    for batches in (1, 2, 3):
        command = [sys.executable, "-c", _PROGRAM, str(store), str(file), *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as process:
            assert process.stdout is not None
            for _ in range(batches):
                assert process.stdout.readline(), "the import ended before it was killed"
            process.send_signal(signal.SIGKILL)
            process.wait()
    memory = open_memory(path=store)
    assert 0 < memory.stats().messages < 1800
    rest = memory.import_from(file, user="ana" if arguments else None)
    assert rest.messages.known + rest.messages.imported == 1800
    assert rest.messages.known >= 500
    assert rest.learning == (rest.sessions.imported if arguments else 0)
    assert memory.stats().messages == 1800
    for each in range(6):
        expected = [("user", f"I like color {each}-{turn}.") for turn in range(300)]
        assert said(memory, f"talk-{each}") == expected
    queued = [job.payload["session"] for job in memory.jobs(states=["queued"]) if job.kind == "digest"]
    assert sorted(queued) == [f"talk-{each}" for each in range(6)]
    if kind == "holdfast":
        memory.export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()


@pytest.mark.long
def test_a_huge_export_needs_little_memory(memory: Engine, tmp_path: Path) -> None:
    import tracemalloc  # noqa: PLC0415  (only here)

    file = write_json(
        tmp_path / "c.json",
        [chatgpt_talk(f"t{n}", *(chatgpt_message("user", "word " * 200) for _ in range(20))) for n in range(400)],
    )
    assert file.stat().st_size > 10_000_000
    tracemalloc.start()
    assert memory.import_from(file, dry_run=True).messages.found == 8000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 9_000_000


@pytest.mark.parametrize("change", ["forget", "revise", "nothing"])
def test_a_note_that_repeats_another_is_never_imported(memory: Engine, tmp_path: Path, change: str) -> None:
    listed = [{"id": f"m-{number}", "memory": "Prefers tea"} for number in range(2)]
    file = write_json(tmp_path / "mem0.json", listed)
    assert memory.import_from(file, user="ana").memories.repeated == 1
    (tea,) = memory.memories(user="ana")
    if change == "forget":
        memory.forget(tea.id)
    elif change == "revise":
        memory.revise(tea.id, "Prefers coffee")
    again = memory.import_from(file, user="ana").memories
    assert (again.known, again.repeated, again.imported) == (1, 1, 0)
