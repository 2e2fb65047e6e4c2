"""Secrets are redacted in every field. The response reports the redaction, and a caller can turn it off for one write."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent, Engine
from holdfast.errors import NoChatModel
from holdfast.testing import ScriptedChat
from holdfast.types import Memory, Message
from tests.text.secrets.kinds import Secret, secrets

OpenMemory = Callable[..., Engine]
FilesWith = Callable[[str | bytes], list[str]]
KEY = "sk-" + "proj-Q7fX2mLpZ9vKcT4nRw8yBd3hJs6gUe1aKk"
OWN_KEY = "hf_" + "9x2k4m6n8p0q2r4s" + "_Zk3-f83jdKDkd93ksLs82jfkd93ks8dkfj3k4a"


def shown(written: Memory | Message) -> set[str]:
    return {str(each) for each in written.redacted}


# What is logged and stored.


@pytest.fixture
def debug_log(folder: Path) -> Iterator[Path]:
    """Everything that Holdfast logs, in a file next to the store."""
    folder.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(folder / "debug.log")
    logger = logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logging.getLogger("holdfast").debug("the log is written")
    yield folder / "debug.log"
    logger.setLevel(level)
    logger.removeHandler(handler)
    handler.close()


def _write(memory: Engine, number: int, secret: Secret) -> None:
    """Store a secret in one of the fields that a caller can fill. ``number`` selects the field."""
    user, text = f"user{number % 7}", secret.text
    places: tuple[Callable[[], Any], ...] = (
        lambda: memory.remember(text, user=user),
        lambda: memory.remember(f"the note {number}", user=user, metadata={"note": text, "notes": [text]}),
        lambda: memory.remember(f"the name {number}", user=user, metadata={text: "value"}),
        lambda: memory.remember(f"the key {number}", user=user, key=text[:512]),
        lambda: memory.remember(f"the tag {number}", user=user, tags=[text[:512]], topic=text[:512]),
        lambda: _talk(memory, user, f"s{number}", "user", text),
        lambda: _talk(memory, user, f"s{number}", "tool", text),
        lambda: _talk(memory, user, f"s{number}", "user", f"hello {number}", speaker=text[:512]),
        lambda: memory.forget(memory.remember(f"gone {number}", user=user).id, reason=text),
        lambda: memory.revise(memory.remember(f"to be {number}", user=user).id, f"item {number}\n{text}", reason=text),
    )
    places[number % len(places)]()


def _talk(memory: Engine, user: str, id: str, role: str, text: str, **more: Any) -> None:
    with memory.session(user=user, id=id) as session:
        session.add("user", "I live in Lyon, as I told you.")
        session.add(role, text, **more)


@pytest.mark.long
def test_300_secrets_reach_neither_files_nor_logs_nor_the_model(open_memory: OpenMemory, folder: Path, debug_log: Path) -> None:
    chat = ScriptedChat(respond=lambda call: json.dumps({"items": []}))
    memory, all_secrets = open_memory(chat=chat), list(secrets(320, seed=77))
    for number, secret in enumerate(all_secrets):
        _write(memory, number, secret)
    memory.remember("the control needle zanzibarquartz", user="user1")
    memory.drain()
    sent = "\n".join(call.text for call in chat.asked)
    assert len(chat.asked) >= 50
    before_close = _bytes(folder)
    memory.close()
    stored = before_close + _bytes(folder)
    assert b"zanzibarquartz" in stored
    structured = [each for each in all_secrets if len(each.value) > 6]
    missed = [each for each in structured if each.value.encode() in stored or each.value in sent]
    assert len(structured) >= 290
    assert len(missed) <= 0.01 * len(structured), missed
    assert "the log is written" in debug_log.read_text()


def _bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


# Every field, and what the answer says.


def test_every_field_of_a_memory_is_redacted_and_reported(memory: Engine, files_with: FilesWith) -> None:
    kept = memory.remember(
        f"the {KEY}", user="ana", key=f"k {KEY}", tags=[KEY], topic=KEY, metadata={KEY: "x", "api_key": KEY, "other": [1, KEY]}
    )
    assert shown(kept) == {
        "api key in text",
        "api key in key",
        "api key in tags",
        "api key in topic",
        "api key in metadata name",
        "api key in metadata.api_key",
        "api key in metadata.other",
    }
    assert kept.metadata == {
        "[redacted api key]": "x",
        "api_key": "[redacted api key]",
        "other": [1, "[redacted api key]"],
    }
    memory.close()
    assert files_with(KEY) == []


def test_two_metadata_names_that_become_equal_are_both_kept(memory: Engine) -> None:
    kept = memory.remember("the keys", user="ana", metadata={KEY: 1, f"{KEY}x": 2})
    assert kept.metadata == {"[redacted api key]": 1, "[redacted api key] 2": 2}


def test_a_message_reports_what_was_replaced_in_its_text_and_speaker(memory: Engine, files_with: FilesWith) -> None:
    with memory.session(user="ana") as session:
        added = session.add("user", f"use {OWN_KEY}", speaker=f"bot {KEY}")
    assert shown(added) == {"api key in text", "api key in speaker"}
    assert (added.text, added.speaker) == ("use [redacted api key]", "bot [redacted api key]")
    assert session.messages()[0].redacted == ()
    memory.close()
    assert files_with(KEY) == files_with(OWN_KEY) == []


def test_a_reason_contains_no_secret(memory: Engine, files_with: FilesWith) -> None:
    kept = memory.remember("drinks tea", user="ana")
    revised = memory.revise(kept.id, "drinks coffee", reason=f"says {KEY}")
    memory.forget(kept.id, reason=f"because of {KEY}")
    assert shown(revised) == {"api key in reason"}
    reasons = [change.reason for change in memory.history(kept.id)]
    assert reasons[1:] == ["says [redacted api key]", "because of [redacted api key]"]
    memory.close()
    assert files_with(KEY) == []


def test_text_without_secrets_is_reported_as_unchanged(memory: Engine) -> None:
    kept = memory.remember("the token limit is 128000", user="ana", metadata={"order": "4111-1111", "n": 3})
    assert kept.redacted == ()
    assert kept.metadata == {"order": "4111-1111", "n": 3}


# Switched off per write.


def test_a_write_can_store_secrets_as_they_are(memory: Engine) -> None:
    kept = memory.remember(f"the {KEY}", user="ana", key="service", metadata={"password": "sunshine"}, redact=False)
    assert (kept.text, kept.metadata, kept.redacted) == (f"the {KEY}", {"password": "sunshine"}, ())
    with memory.session(user="ana") as session:
        assert session.add("user", f"use {KEY}", redact=False).text == f"use {KEY}"
    revised = memory.revise(kept.id, f"now {OWN_KEY}", redact=False)
    assert revised.text == f"now {OWN_KEY}"


def test_a_revision_leaves_the_fields_that_it_does_not_name(memory: Engine) -> None:
    kept = memory.remember(f"the {KEY}", user="ana", key="service", metadata={"password": "sunshine"}, redact=False)
    revised = memory.revise(kept.id, importance=9, metadata={"password": "sunshine"})
    assert (revised.text, revised.metadata, revised.redacted) == (kept.text, kept.metadata, ())


def test_a_model_never_sees_a_secret_that_was_stored_on_purpose(open_memory: OpenMemory) -> None:
    chat = ScriptedChat(respond=lambda call: json.dumps({"items": []}))
    memory = open_memory(chat=chat)
    with memory.session(user="ana") as session:
        session.add("user", f"I live in Lyon, and the service has {KEY}.", redact=False)
        session.add("assistant", "Noted.")
    memory.drain()
    assert chat.asked
    assert any("Lyon" in call.text for call in chat.asked)
    assert not any(KEY in call.text for call in chat.asked)


def test_a_chat_reports_what_was_replaced_with_and_without_a_model(open_memory: OpenMemory) -> None:
    answer = Agent(open_memory(chat=ScriptedChat("Noted.")), user="ana").reply(f"keep {KEY}")
    assert [str(each) for each in answer.redacted] == ["api key in text"]
    with pytest.raises(NoChatModel) as raised:
        Agent(open_memory(), user="ana").reply(f"keep {KEY}")
    assert [str(each) for each in raised.value.redacted] == ["api key in text"]


def test_several_writes_in_one_call_are_redacted_each_by_its_own_choice(memory: Engine) -> None:
    first, second = memory.remember_all(
        [{"text": f"my key is {KEY}"}, {"text": f"her key is {KEY}", "redact": False}], user="ana"
    )
    assert KEY not in first.text
    assert shown(first) == {"api key in text"}
    assert KEY in second.text
    assert second.redacted == ()
    with memory.session(user="ana") as session:
        said, kept = session.add_all(
            [{"role": "user", "text": f"use {KEY}"}, {"role": "user", "text": f"keep {KEY}", "redact": False}]
        )
    assert (KEY in said.text, shown(said), KEY in kept.text) == (False, {"api key in text"}, True)


def test_indexed_texts_and_nested_metadata_are_redacted(memory: Engine) -> None:
    kept = memory.remember("a note", user="ana", index=[f"about {KEY}"], metadata={"service": {"keys": [KEY], "port": 80}})
    assert KEY not in f"{kept.indexed} {kept.metadata}"
    assert kept.metadata["service"]["port"] == 80
    assert shown(kept) == {"api key in index", "api key in metadata.service.keys"}


@pytest.mark.parametrize("field", ["role", "action", "speaker"])
def test_a_secret_in_a_short_field_of_a_message_is_redacted(memory: Engine, files_with: FilesWith, field: str) -> None:
    given: dict[str, Any] = {"role": "user", field: f"key {KEY}"}
    message = memory.session(user="ana").add(given.pop("role"), "hello", **given)
    assert getattr(message, field) == "key [redacted api key]"
    assert any(field in each for each in shown(message))
    assert files_with(KEY) == []
