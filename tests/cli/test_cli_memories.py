"""The commands remember, list, recall, context, show, history, forget, undo and erase."""

import json
import os
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from .support import Holdfast, executable


@pytest.mark.long
def test_a_memory_of_one_process_is_recalled_by_another(holdfast: Holdfast) -> None:
    kept = holdfast.run("remember", "prefers", "tea", "--key", "drink", "--user", "ana").stdout.decode()
    found = holdfast.run("recall", "tea", "--user", "ana").stdout.decode()

    assert kept.startswith("mem_")
    assert kept.strip().endswith("drink: prefers tea")
    assert found.lstrip().startswith("1. ")
    assert "drink: prefers tea" in found


def test_remember_stores_every_option(holdfast: Holdfast) -> None:
    told = holdfast.json(
        "remember",
        "wants the window seat",
        "--user",
        "ana",
        "--app",
        "travel",
        "--key",
        "seat",
        "--topic",
        "trains",
        "--tag",
        "rail",
        "--tag",
        "comfort",
        "--importance",
        "8",
        "--pin",
        "--meta",
        "level=3",
        "--meta",
        "room=a b",
        "--expires",
        "2999-01-01",
        "--valid-from",
        "2020-02-03T04:05",
    )

    assert (told["user"], told["app"], told["key"], told["topic"]) == ("ana", "travel", "seat", "trains")
    assert (told["tags"], told["importance"], told["pinned"]) == (["rail", "comfort"], 8.0, True)
    assert told["metadata"] == {"level": 3, "room": "a b"}
    assert told["expires_at"] == "2999-01-01T00:00:00+00:00"
    assert told["valid_from"] == "2020-02-03T04:05:00+00:00"


def test_remember_reads_spanish_from_standard_input(holdfast: Holdfast) -> None:
    ran = holdfast.run("remember", "-", "--user", "ana", input="Vive en Córdoba\ny toma mate 🧉\n".encode())

    assert "Vive en Córdoba y toma mate 🧉" in ran.stdout.decode()
    (kept,) = holdfast.json("list", "--user", "ana")
    assert kept["text"] == "Vive en Córdoba\ny toma mate 🧉"
    assert kept["language"] == "es"
    assert [hit["id"] for hit in holdfast.json("recall", "¿dónde vive?", "--user", "ana")] == [kept["id"]]


def test_standard_input_that_is_not_utf_8_is_refused(holdfast: Holdfast) -> None:
    assert "not UTF-8" in holdfast("remember", "-", input=b"caf\xe9", exit=1).stderr


def test_list_json_has_the_fields_of_a_memory(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--key", "drink", "--user", "ana")

    (memory,) = holdfast.json("list", "--user", "ana")

    assert (memory["text"], memory["key"], memory["kind"], memory["user"]) == ("prefers tea", "drink", "fact", "ana")
    assert memory["id"].startswith("mem_")
    assert "item" not in memory
    for name in ("created_at", "updated_at", "valid_from", "recorded_at"):
        assert datetime.fromisoformat(memory[name]).utcoffset() is not None


def test_list_filters_and_pages(holdfast: Holdfast) -> None:
    for number in range(5):
        holdfast("remember", f"note {number}", "--key", "note", "--topic", "odd" if number % 2 else "even")
    holdfast("remember", "we use SQLite", "--kind", "decision")

    assert [each["text"] for each in holdfast.json("list", "--key", "note", "--limit", "2", "--offset", "1")] == [
        "note 3",
        "note 2",
    ]
    assert [each["text"] for each in holdfast.json("list", "--topic", "odd")] == ["note 3", "note 1"]
    assert [each["text"] for each in holdfast.json("list", "--kind", "decision")] == ["we use SQLite"]
    assert holdfast.json("list", "--as-of", "2001-01-01") == []


def test_an_empty_list_says_where_memories_are(holdfast: Holdfast) -> None:
    assert "There are no memories yet" in holdfast("list").stderr
    holdfast("remember", "prefers tea", "--user", "ana")

    result = holdfast("list")
    assert result.stdout == ""
    assert "--user" in result.stderr


def test_stores_and_tenants_are_separate(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("remember", "of the default tenant")
    holdfast("remember", "of another tenant", "--tenant", "acme")
    holdfast("remember", "of another store", "--store", str(tmp_path / "other.db"))

    assert [each["text"] for each in holdfast.json("list")] == ["of the default tenant"]
    assert [each["text"] for each in holdfast.json("list", "--tenant", "acme")] == ["of another tenant"]
    assert [each["text"] for each in holdfast.json("list", "--store", str(tmp_path / "other.db"))] == ["of another store"]


def test_list_and_recall_digest_a_conversation_that_no_worker_has_digested(holdfast: Holdfast) -> None:
    holdfast.talk("I'm allergic to peanuts.")

    (memory,) = holdfast.json("list", "--user", "ana")
    assert memory["text"] == "I'm allergic to peanuts."
    assert memory["origin"] == "auto"


def test_recall_explains_which_search_found_each_hit(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")

    explained = holdfast("recall", "tea", "--user", "ana", "--explain").stdout
    (hit,) = holdfast.json("recall", "tea", "--user", "ana")

    assert "found by text #1" in explained
    assert (hit["text"], hit["kind"], hit["why"][0]["arm"], hit["why"][0]["rank"]) == ("prefers tea", "fact", "text", 1)
    assert 0 < hit["score"] <= 1


def test_recall_filters_by_limit_kind_metadata_score_and_date(holdfast: Holdfast) -> None:
    holdfast("remember", "green tea", "--meta", "level=1", "--valid-from", "2020-01-01")
    holdfast("remember", "black tea", "--meta", "level=2", "--valid-from", "2020-01-01")
    holdfast("remember", "let us buy tea", "--kind", "decision")

    assert len(holdfast.json("recall", "tea")) == 3
    assert len(holdfast.json("recall", "tea", "--limit", "1")) == 1
    assert [hit["text"] for hit in holdfast.json("recall", "tea", "--where", "level=2")] == ["black tea"]
    assert [hit["text"] for hit in holdfast.json("recall", "tea", "--where", 'level={"$lt": 2}')] == ["green tea"]
    assert [hit["text"] for hit in holdfast.json("recall", "tea", "--kind", "decision")] == ["let us buy tea"]
    assert {hit["text"] for hit in holdfast.json("recall", "tea", "--as-of", "2021-01-01")} == {"green tea", "black tea"}
    assert holdfast.json("recall", "tea", "--min-score", "1") == []
    assert holdfast.error("recall", "tea", "--as-of", "some day")["code"] == "invalid_input"
    assert holdfast.error("recall", "tea", "--kind", "nonsense")["code"] == "invalid_input"


def test_without_weights_one_note_says_that_search_is_by_text(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")

    result = holdfast("recall", "tea", "--user", "ana")
    assert "prefers tea" in result.stdout
    assert result.stderr.count("note: ") == 1
    assert "holdfast models pull" in result.stderr


@pytest.mark.weights
def test_with_weights_recall_finds_by_meaning(holdfast_with_weights: Holdfast) -> None:
    holdfast_with_weights("remember", "I'm allergic to peanuts.", "--user", "ana")
    holdfast_with_weights("remember", "I moved to Lyon last month.", "--user", "ana")

    result = holdfast_with_weights("recall", "Which foods should she avoid?", "--user", "ana", "--explain", "--limit", "1")

    assert "I'm allergic to peanuts." in result.stdout
    assert "found by meaning #1" in result.stdout
    assert "cosine" in result.stdout
    assert result.stderr == ""


@pytest.mark.ledger("X11")
def test_context_keeps_to_its_budget_and_lists_hits_that_were_left_out(holdfast: Holdfast) -> None:
    for place in ("kitchen", "garden", "attic", "cellar"):
        holdfast("remember", f"the tea for the {place} is in a tin on the {place} shelf", "--user", "ana")

    result = holdfast("context", "tea", "--user", "ana", "--max-tokens", "70")
    block = holdfast.json("context", "tea", "--user", "ana", "--max-tokens", "70")

    assert result.stdout.startswith("<memory")
    assert "Left out" not in result.stdout
    assert "Left out, no space: " in result.stderr
    assert block["text"].split("\n")[1:-1] == result.stdout.splitlines()[1:-1]
    assert block["tokens"] <= 70
    assert len(block["hits"]) >= 1
    assert len(block["hits"]) + len(block["left_out"]) == 4
    assert min(hit["score"] for hit in block["hits"]) >= max(hit["score"] for hit in block["left_out"])


def test_show_gives_the_message_a_memory_came_from(holdfast: Holdfast) -> None:
    holdfast.talk("Hello there! I'm allergic to peanuts.")
    (memory,) = holdfast.json("list", "--user", "ana")

    shown = holdfast("show", memory["id"]).stdout
    assert "derived from:" in shown
    assert "user: Hello there! I'm allergic to peanuts." in shown
    (source,) = holdfast.json("show", memory["id"])["source_messages"]
    assert source["id"] == memory["sources"][0]


def test_history_names_changes_that_can_be_undone(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "lives in Lyon", "--kind", "profile", "--user", "ana")["id"]
    holdfast("remember", "lives in Nantes", "--kind", "profile", "--user", "ana")

    result = holdfast("history", id)
    changes = holdfast.json("history", id)

    assert [change["action"] for change in changes] == ["created", "retired"]
    assert f"holdfast undo {changes[-1]['id']}" in result.stderr
    assert [each["text"] for each in holdfast.json("list", "--user", "ana")] == ["lives in Nantes"]
    holdfast("undo", changes[-1]["id"])
    assert [each["text"] for each in holdfast.json("list", "--user", "ana")] == ["lives in Lyon"]


def test_forget_hides_at_once_and_says_how_to_undo(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "prefers tea", "--user", "ana")["id"]

    forgotten = holdfast.json("forget", id)

    assert (forgotten["forgotten"], forgotten["ids"]) == (1, [id])
    assert holdfast.json("list", "--user", "ana") == []
    assert holdfast.json("recall", "tea", "--user", "ana") == []
    assert [each["status"] for each in holdfast.json("list", "--user", "ana", "--retired")] == ["forgotten"]
    assert [each["status"] for each in holdfast.json("undo", forgotten["undo"])] == ["live"]
    again = holdfast("forget", id)
    assert again.stdout == "Forgot 1 memory.\n"
    assert again.stderr == f"To undo this: holdfast undo {holdfast.json('history', id)[-1]['id']}\n"


def test_forget_by_key_takes_all_values_and_one_undo_brings_them_back(holdfast: Holdfast) -> None:
    for drink in ("tea", "coffee"):
        holdfast("remember", drink, "--key", "drink", "--user", "ana")
    holdfast("remember", "water for all", "--key", "drink", "--shared")

    result = holdfast("forget", "--key", " drink", "--user", "ana ")

    assert result.stdout == "Forgot 2 memories.\n"
    assert [each["text"] for each in holdfast.json("list", "--user", "ana")] == ["water for all"]
    holdfast("undo", result.stderr.split()[-1])
    assert len(holdfast.json("list", "--user", "ana")) == 3
    assert "the key 'unknown'" in holdfast.error("forget", "--key", "unknown", "--user", "ana")["message"]


def test_forget_and_undo_with_an_unknown_id_fail(holdfast: Holdfast) -> None:
    assert holdfast.error("forget", "mem_nothing")["code"] == "not_found"
    assert holdfast.error("undo", "chg_nothing")["code"] == "not_found"
    assert holdfast.error("history", "mem_nothing")["code"] == "not_found"
    assert holdfast.error("forget", exit=2)["code"] == "usage"
    assert holdfast.error("forget", "mem_nothing", "--key", "drink", exit=2)["code"] == "usage"


def test_erase_without_a_terminal_needs_the_option_yes(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")

    ran = holdfast.run("erase", "--user", "ana", exit=2)
    assert "--yes" in ran.stderr.decode()
    assert len(holdfast.json("list", "--user", "ana")) == 1


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are POSIX")
def test_erase_asks_for_confirmation_on_a_terminal_and_accepts_no(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")
    import pty  # noqa: PLC0415  (POSIX only)

    ours, theirs = pty.openpty()
    command = [executable(), "erase", "--user", "ana"]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=holdfast.environment)
    os.write(ours, b"n\n")
    out, err = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)

    assert process.returncode == 1
    assert out == b""
    assert "Erase everything of user 'ana' for good?" in err.decode()
    assert len(holdfast.json("list", "--user", "ana")) == 1


def test_erase_gives_a_receipt_and_reaches_backups(holdfast: Holdfast, tmp_path: Path) -> None:
    session = holdfast.talk("I'm allergic to peanuts.")
    holdfast("remember", "prefers oolong tea", "--user", "ana")
    holdfast("list", "--user", "ana")
    holdfast("backup", str(tmp_path / "copy.db"))

    result = holdfast("erase", "--user", "ana", "--yes")

    assert "Erased user ana: 2 memories" in result.stdout
    assert "1 message, 1 session" in result.stdout
    assert "Verified: a scan found nothing of it in the store or its files." in result.stdout
    assert "Still in an older backup" not in result.stdout
    assert b"oolong" not in holdfast.store.read_bytes()
    assert b"oolong" not in (tmp_path / "copy.db").read_bytes()
    assert holdfast.error("sessions", "show", session)["code"] == "not_found"


def test_erase_takes_one_memory_session_or_source(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "prefers tea", "--user", "ana")["id"]
    session = holdfast.talk("I'm allergic to peanuts.")
    source = holdfast.json("sessions", "show", session)["messages"][0]["id"]

    assert "not both" in holdfast.error("erase", id, "--id", id, "--yes", exit=2)["message"]
    receipt = holdfast.json("erase", id, "--yes")
    assert (receipt["memories"], receipt["status"], receipt["verified"]) == (1, "erased", True)
    assert holdfast.json("erase", "--source", source, "--yes")["messages"] == 1
    assert holdfast.json("erase", "--session", session, "--yes")["sessions"] == 1
    assert holdfast.error("erase", "--yes", exit=2)["code"] == "usage"


def test_erase_refuses_a_user_together_with_a_memory(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "prefers tea", "--user", "ana")["id"]

    assert holdfast.error("erase", "--id", id, "--user", "ana", "--yes", exit=2)["code"] == "usage"
    assert len(holdfast.json("list", "--user", "ana")) == 1


def test_a_recall_without_a_user_prints_only_the_hint_of_the_command_line(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")
    told = holdfast("recall", "tea").stderr
    assert "--user" in told
    assert "user=" not in told


def test_recall_and_context_state_once_that_they_searched_by_words_only(holdfast: Holdfast) -> None:
    holdfast("remember", "the parrot is called Basil", "--user", "ana")
    for command in ("recall", "context"):
        result = holdfast(command, "parrot", "--user", "ana")
        assert "Basil" in result.stdout
        assert " ".join(result.stderr.split()).count("note: Searched by words only: The weights of arctic-embed-s are not") == 1
    shown = holdfast("recall", "parrot", "--user", "ana", "--json")
    assert json.loads(shown.stderr)["note"].startswith("Searched by words only: ")


def test_remember_and_revise_say_which_secrets_were_replaced(holdfast: Holdfast) -> None:
    key = "sk-" + "proj-Q7fX2mLpZ9vKcT4nRw8yBd3hJs6gUe1aKk"
    told = holdfast("remember", f"the {key}", "--user", "ana")
    assert "api key in text" in told.stderr
    assert key not in told.stdout
    kept = holdfast.json("remember", f"the {key}", "--user", "ana", "--no-redact")
    assert (kept["text"], kept["redacted"]) == (f"the {key}", [])
    revised = holdfast("revise", kept["id"], f"now {key}")
    assert "api key in text" in revised.stderr
    assert holdfast.json("revise", kept["id"], f"then {key}", "--no-redact")["text"] == f"then {key}"


def test_erasing_an_unknown_user_names_the_known_one(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")
    result = holdfast("erase", "--user", "anna", "--yes")
    assert "nothing was stored" in result.stdout
    assert "Did you mean 'ana'?" in result.stderr


@pytest.mark.parametrize("query", ["", "   "])
def test_a_recall_needs_a_query_and_a_context_block_does_not(holdfast: Holdfast, query: str) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")
    assert "The query is empty." in holdfast.error("recall", query, "--user", "ana", exit=2)["message"]
    assert "prefers tea" in holdfast("context", query, "--user", "ana").stdout
    assert "prefers tea" in holdfast("context", "--user", "ana").stdout
