"""Invalid input raises a HoldfastError that says what is wrong, and nothing is written."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Engine, HoldfastError
from holdfast.errors import InvalidInput, SettingsError, StoreClosed, TextTooLong

LONG = "x" * (4 * 1024 * 1024 + 1)
LONE = "\ud800"


class Odd:
    """An object that cannot be stored. Its repr is the same in every process, because test ids contain it."""

    def __repr__(self) -> str:
        return "<odd>"


ODD = Odd()


def unwritten(memory: Engine) -> bool:
    stats = memory.stats()
    return bool(stats.memories == stats.messages == 0)


@pytest.mark.parametrize(
    "given",
    [
        {"text": ""},
        {"text": " \n\t"},
        {"text": None},
        {"text": 7},
        {"text": b"bytes"},
        {"text": "x", "user": ""},
        {"text": "x", "user": "\u200b"},
        {"text": "x", "user": 7},
        {"text": "x", "app": "a" * 600},
        {"text": "x", "kind": "nonsense"},
        {"text": "x", "kind": "event", "key": "k"},
        {"text": "x", "key": ""},
        {"text": "x", "importance": 11},
        {"text": "x", "importance": "high"},
        {"text": "x", "metadata": {1: "x"}},
        {"text": "x", "metadata": {"a": ODD}},
        {"text": "x", "metadata": {"a": {"b": ODD}}},
        {"text": "x", "metadata": {"a": [ODD]}},
        {"text": "x", "metadata": "not a mapping"},
        {"text": "x", "metadata": {"a\x00": 1, "a\ufffd": 2}},
        {"text": "x", "tags": [7]},
        {"text": "x", "trust": 7.0},
        {"text": "x", "trust": float("nan")},
        {"text": "x", "origin": "martian"},
        {"text": "x", "valid_from": "yesterday"},
        {"text": "x", "valid_from": 7},
        {"text": "x", "expires_at": "0001-01-01T00:00+14:00"},
    ],
    ids=lambda given: repr(given)[:60].encode("ascii", "backslashreplace").decode(),
)
def test_an_invalid_memory_is_refused(memory: Engine, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.remember(**given)
    assert unwritten(memory)


@pytest.mark.parametrize("given", [{"metadata": {"a": ODD}}, {"importance": 99}, {"tags": [7]}], ids=str)
def test_an_invalid_field_is_refused_even_if_the_memory_is_known(memory: Engine, given: dict[str, Any]) -> None:
    made = memory.remember("prefers tea")
    with pytest.raises(InvalidInput):
        memory.remember("prefers tea", **given)
    with pytest.raises(InvalidInput):
        memory.revise(made.id, **given)
    assert memory.get(made.id).revision == 1


def test_a_memory_with_too_many_tags_is_refused(memory: Engine) -> None:
    with pytest.raises(TextTooLong, match="1,000"):
        memory.remember("x", tags=[f"tag {number}" for number in range(1001)])
    assert memory.memories() == []


def test_a_text_over_the_limit_is_refused_with_the_limit(memory: Engine) -> None:
    with pytest.raises(TextTooLong, match="250,000"):
        memory.remember(LONG)
    with pytest.raises(TextTooLong):
        memory.session().add("user", LONG)
    assert unwritten(memory)


@pytest.mark.parametrize("field", [{"tags": ["x" * 600]}, {"topic": "x" * 600}, {"tags": ["x"] * 1001}])
def test_the_error_for_a_long_name_or_list_says_what_to_do(memory: Engine, field: dict[str, Any]) -> None:
    with pytest.raises(TextTooLong, match=r"the limit is [\d,]+\. (?:Nothing was stored\. )?(?:Shorten it|Give fewer tags)\."):
        memory.remember("plays the cello", user="ana", **field)
    assert memory.memories(user="ana") == []


def test_nul_and_lone_surrogates_are_kept_as_the_replacement_character(memory: Engine) -> None:
    made = memory.remember("a\x00b\ud800c", tags=["t\ud800"], metadata={"k\ud800": "v\x00"}, topic="o\ud800")
    assert (made.text, made.tags, made.metadata, made.topic) == (
        "a\ufffdb\ufffdc",
        ("t\ufffd",),
        {"k\ufffd": "v\ufffd"},
        "o\ufffd",
    )


@pytest.mark.parametrize(
    "given", [{"role": ""}, {"role": None}, {"text": ""}, {"at": "noon"}, {"id": ""}, {"speaker": ""}], ids=str
)
def test_an_invalid_message_is_refused(memory: Engine, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.session(user="ana").add(**{"role": "user", "text": "hello", **given})
    assert unwritten(memory)


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda m: m.recall(7), id="number"),
        pytest.param(lambda m: m.recall(None), id="none"),
        pytest.param(lambda m: m.recall("x", kinds=["nonsense"]), id="kind"),
        pytest.param(lambda m: m.recall("x", as_of="noon"), id="as-of"),
        pytest.param(lambda m: m.recall("x", where={"a": {"$like": 1}}), id="comparison"),
        pytest.param(lambda m: m.recall("x", where={"a": ODD}), id="object"),
        pytest.param(lambda m: m.recall("x", where={"a": 10**400}), id="huge-number"),
        pytest.param(lambda m: m.recall("x", user=""), id="no-user"),
        pytest.param(lambda m: m.memories(as_of="0001-01-01T00:00+14:00"), id="year-nought"),
        pytest.param(lambda m: m.memories(kinds=["nonsense"]), id="list-kind"),
        pytest.param(lambda m: m.memories(where={"a": {"$b": 1}}), id="list-comparison"),
        pytest.param(lambda m: m.recall("x", limit=-1), id="recall-limit"),
        pytest.param(lambda m: m.recall("x", limit="5"), id="recall-limit-text"),
        pytest.param(lambda m: m.memories(limit=-1), id="memories-limit"),
        pytest.param(lambda m: m.memories(limit=2**70), id="memories-huge-limit"),
        pytest.param(lambda m: m.memories(offset=-1), id="memories-offset"),
        pytest.param(lambda m: m.sessions(limit=-1), id="sessions-limit"),
        pytest.param(lambda m: m.sessions(offset=-1), id="sessions-offset"),
        pytest.param(lambda m: m.jobs(limit=-1), id="jobs-limit"),
        pytest.param(lambda m: m.apps.memories("kitchen", limit=-1), id="apps-limit"),
        pytest.param(lambda m: m.session().messages(limit=-1), id="messages-limit"),
        pytest.param(lambda m: m.session(off_record=True).messages(limit=-1), id="unrecorded-limit"),
        pytest.param(lambda m: m.session(id=""), id="session"),
        pytest.param(lambda m: m.erase(), id="erase-nothing"),
        pytest.param(lambda m: m.erase(user=""), id="erase-no-user"),
        pytest.param(lambda m: m.forget(), id="forget"),
        pytest.param(lambda m: m.set_user(""), id="set-no-user"),
        pytest.param(lambda m: m.set_user("ana", timezone="Nowhere/Land"), id="zone"),
    ],
)
def test_an_invalid_query_is_refused(memory: Engine, ask: Callable[[Any], object]) -> None:
    memory.remember("prefers tea", metadata={"a": 1})
    with pytest.raises(InvalidInput):
        ask(memory)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m, given: m.forget(given),
        lambda m, given: m.get(given),
        lambda m, given: m.history(given),
        lambda m, given: m.undo(given),
        lambda m, given: m.revise(given, "x"),
        lambda m, given: m.erase(id=given),
        lambda m, given: m.erase(source=given),
        lambda m, given: m.session(id=given),
        lambda m, given: m.memories(key=given),
        lambda m, given: m.memories(topic=given),
    ],
)
@pytest.mark.parametrize("id", [LONE, "\x00", "'; DROP TABLE memories; --", "x" * 10_000], ids=["lone", "nul", "sql", "long"])
def test_a_hostile_id_raises_only_holdfast_errors(memory: Engine, ask: Callable[[Any, str], object], id: str) -> None:
    memory.remember("prefers tea")
    with contextlib.suppress(HoldfastError):
        ask(memory, id)
    assert memory.stats().memories == 1


def test_every_error_has_a_code_and_is_one_of_ours(memory: Engine) -> None:
    with pytest.raises(HoldfastError) as caught:
        memory.remember("")
    assert caught.value.code == "invalid_input"
    assert isinstance(caught.value, ValueError)


def test_a_closed_memory_raises_an_error_that_says_so(memory: Engine) -> None:
    memory.close()
    memory.close()
    for call in (
        lambda: memory.remember("x"),
        lambda: memory.recall("x"),
        memory.memories,
        memory.doctor,
        memory.drain,
    ):
        with pytest.raises(StoreClosed):
            call()


@pytest.mark.parametrize("given", [{"worker": "robot"}, {"preset": "nonsense"}, {"path": "mysql://host/db"}])
def test_an_impossible_setting_is_refused(open_memory: Callable[..., Engine], given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        open_memory(**given)


def test_an_unknown_embedder_is_refused_by_name(open_memory: Callable[..., Engine]) -> None:
    with pytest.raises(holdfast.HoldfastError, match="nonsense"):
        open_memory(embedder="nonsense")


@pytest.mark.parametrize("name", ["a\x00", "a\ud800", "\x00"], ids=["nul", "surrogate", "only nul"])
@pytest.mark.parametrize("part", ["user", "app", "agent"])
def test_a_name_that_databases_cannot_store_is_refused(memory: Engine, part: str, name: str) -> None:
    other: dict[str, Any] = {part: "a\ufffd"}
    own: dict[str, Any] = {part: name}
    memory.remember("of somebody else", **other)
    with pytest.raises(InvalidInput, match="NUL or a lone surrogate"):
        memory.remember("mine", **own)
    with pytest.raises(InvalidInput, match="NUL or a lone surrogate"):
        memory.recall("somebody", **own)
    assert memory.stats().memories == 1


@pytest.mark.parametrize("language", ["e\x00", "", "es\n", "sk-proj-Q7fX2mLpZ9vKc", "x" * 40, "e"])
def test_a_language_that_is_no_tag_is_refused(memory: Engine, language: str) -> None:
    memory.set_user("ana", language="es-AR")
    with pytest.raises(InvalidInput, match="is not a language"):
        memory.set_user("ana", language=language)
    assert memory.set_user("ana").language == "es-AR"


class _HalfAnEmbedder:
    name = "half"

    def embed(self, texts: list[str], *, role: str) -> object:
        raise AssertionError((texts, role))


def test_an_embedder_without_its_parts_is_refused_when_the_store_is_opened(open_memory: Callable[..., Engine]) -> None:
    with pytest.raises(holdfast.SettingsError, match="lacks dimensions, calibration"):
        open_memory(embedder=_HalfAnEmbedder())


def test_a_session_id_with_nul_is_refused(memory: Engine) -> None:
    with pytest.raises(InvalidInput, match="NUL or a lone surrogate"):
        memory.session(id="s\x00", user="ana")


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_query_is_refused_by_recall_and_means_the_start_of_a_conversation_for_context(memory: Engine, query: str) -> None:
    memory.remember("prefers tea", user="ana")
    for recall in (memory.for_user("ana").recall, memory.session(user="ana").recall):
        with pytest.raises(InvalidInput, match="The query is empty"):
            recall(query)
    assert "prefers tea" in memory.context(query, user="ana").text


@pytest.mark.parametrize("path", ["", "  ", "\n"])
def test_a_blank_path_is_an_error_and_creates_nothing(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="path must not be empty"):
        holdfast.open(path)
    with pytest.raises(SettingsError, match="store is blank"):
        holdfast.open(settings={"store": " "})
    assert list(tmp_path.iterdir()) == []
