"""Details of the Python API: sessions as context managers, ``kind`` and ``kinds`` as arguments, short reprs, and hints."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Engine, InvalidInput, StoreClosed
from holdfast.chat import Usage, spend_of
from holdfast.config.settings import Settings
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder


def _statuses(memory: Engine) -> list[str]:
    return [record.status for record in memory.sessions(user="ana")]


def test_a_session_ends_with_its_block(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Lyon now.")
        assert _statuses(memory) == ["open"]
    assert _statuses(memory) == ["ended"]
    memory.drain()
    assert [found.text for found in memory.memories(user="ana", kind="fact")] == ["I live in Lyon now."]


def test_a_session_ends_when_its_block_raises_and_the_exception_propagates(memory: Engine) -> None:
    def fail() -> None:
        with memory.session(user="ana") as talk:
            talk.add("user", "I live in Lyon now.")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert _statuses(memory) == ["ended"]


def test_a_failure_to_end_does_not_hide_the_exception(memory: Engine, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        with memory.session(user="ana"):
            memory.close()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert "could not be ended" in caplog.text
    with pytest.raises(StoreClosed), memory.session(user="ana"):
        pass


def test_an_async_session_ends_with_its_block_awaited_or_not(folder: Path, clock: FrozenClock) -> None:
    async def use() -> None:
        async with holdfast.open_async(folder / "memory.db", worker="none", embedder="none", clock=clock) as memory:
            async with memory.session(user="ana", id="one") as talk:
                await talk.add("user", "hello there")
            async with await memory.session(user="ana", id="two") as talk:
                await talk.add("user", "hello again")
            with contextlib.suppress(KeyError):
                async with memory.session(user="ana", id="three") as talk:
                    await talk.add("user", "and again")
                    raise KeyError
            left = await memory.session(user="ana", id="four")
            await left.add("user", "still here")
            found = {record.id: record.status for record in await memory.sessions(user="ana")}
            assert found == {"one": "ended", "two": "ended", "three": "ended", "four": "open"}

    asyncio.run(use())


@pytest.mark.parametrize("given", [{"kind": "fact"}, {"kinds": "fact"}, {"kind": ["fact"]}, {"kinds": ("fact",)}])
def test_kind_and_kinds_take_one_or_several(memory: Engine, given: dict[str, Any]) -> None:
    memory.remember("drinks tea", key="drink", kind="fact", user="ana")
    memory.remember("bought tea", kind="event", user="ana")
    talk = memory.session(user="ana")
    assert {hit.kind for hit in memory.recall("tea", user="ana", **given)} == {"fact"}
    assert {hit.kind for hit in talk.recall("tea", **given)} == {"fact"}
    assert {found.kind for found in memory.memories(user="ana", **given)} == {"fact"}
    assert memory.count_memories(user="ana", **given) == 1
    assert memory.forget(key="drink", user="ana", **given) == 1


def test_giving_both_kind_and_kinds_is_refused(memory: Engine) -> None:
    talk = memory.session(user="ana")
    both: dict[str, Any] = {"kind": "fact", "kinds": ["fact"]}
    calls: list[Callable[[], object]] = [
        lambda: memory.recall("tea", **both),
        lambda: talk.recall("tea", **both),
        lambda: memory.memories(**both),
        lambda: memory.count_memories(**both),
        lambda: memory.forget(key="drink", **both),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="give one of them"):
            call()


def test_an_unknown_argument_of_a_count_is_a_type_error(memory: Engine) -> None:
    with pytest.raises(TypeError, match="colour"):
        memory.count_memories(colour="red")  # type: ignore[call-arg]


def test_reprs_are_short(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        said = talk.add("user", "I moved to Lyon last month. " + "It is very long. " * 40)
    memory.drain()
    kept = memory.remember("I moved to Lyon last month.", user="ana")
    hit = next(hit for hit in memory.recall("Where did I move?", user="ana") if hit.id == kept.id)
    assert repr(memory) == "<holdfast.Engine memory.db, preset 'default'>"
    assert repr(memory.for_user("ana")) == "<holdfast.ScopedMemory user 'ana'>"
    assert repr(talk) == f"<holdfast.Session {talk.id}>"
    assert repr(kept) == f"<Memory fact 'I moved to Lyon last month.' {kept.id}>"
    assert repr(hit) == f"<Hit {hit.score:.2f} fact 'I moved to Lyon last month.' {kept.id}>"
    shown = [
        said,
        memory.context("Lyon", user="ana"),
        memory.stats(),
        memory.sessions(user="ana")[0],
        memory.history(kept.id)[0],
        memory.erase(source=said.id),
        *memory.jobs(),
        *memory.recall("Lyon", user="ana"),
    ]
    for each in shown:
        assert repr(each).startswith(f"<{type(each).__name__} ")
        assert len(repr(each)) <= 140


def test_settings_show_neither_keys_nor_passwords() -> None:
    settings = Settings(store="postgresql://ana:s3cr:t@host/base", key="k3y", chat_key="sk-1")
    shown = repr(settings)
    assert shown == "Settings(store='postgresql://ana:***@host/base', chat_key='***', key='***')"


def test_a_recall_without_a_user_hints_once_at_the_users(memory: Engine, caplog: pytest.LogCaptureFixture) -> None:
    memory.remember("prefers tea", user="ana")
    with caplog.at_level(logging.WARNING, "holdfast"):
        assert memory.recall("tea") == memory.recall("tea") == []
        assert memory.recall("tea", user="bob") == []
    assert caplog.messages == ["This recall names no user. Memories of 1 user are only found with user=..."]


def test_a_recall_without_a_user_that_finds_something_needs_no_hint(memory: Engine, caplog: pytest.LogCaptureFixture) -> None:
    memory.remember("prefers tea", user="ana")
    memory.remember("tea is in the kitchen")
    assert memory.recall("tea")
    assert caplog.messages == []


def test_spend_is_listed_since_a_given_day(memory: Engine, clock: FrozenClock) -> None:
    with services(memory).store.write() as tx:
        for days in (0, 1):
            tx.add_spend(spend_of(Usage(calls=1), day=clock.now() - timedelta(days=days), purpose="digest", model="m"))
    assert len(memory.spend()) == 2
    assert [spent.day for spent in memory.spend(since=clock.now())] == ["2026-03-01"]
    assert [spent.day for spent in memory.spend(since="2026-03-01")] == ["2026-03-01"]
    with pytest.raises(InvalidInput):
        memory.spend(since="lately")


def test_stats_are_typed_and_a_plain_dict_if_wanted(memory: Engine) -> None:
    memory.remember("prefers tea", user="ana")
    stats = memory.stats()
    assert (stats.memories, stats.users, stats.memories_by_kind["fact"]) == (1, 1, 1)
    assert stats.to_dict() == services(memory).store.stats()


def test_an_unknown_index_setting_is_refused(folder: Path) -> None:
    with pytest.raises(holdfast.SettingsError, match="index must be memory, chroma"):
        holdfast.open(folder / "memory.db", settings={"index": "magic"}, embedder=HashEmbedder(), worker="none")


def test_a_removed_setting_is_refused_with_what_to_do_instead(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instead = "remove it.*set embedder to use-multilingual"
    for settings in ({"second_embedder": "auto"}, {"second_embedder": "none", "worker": "none"}):
        with pytest.raises(holdfast.SettingsError, match=f"second_embedder in the settings.*{instead}"):
            holdfast.open(folder / "memory.db", settings=settings, embedder=HashEmbedder())
    monkeypatch.setenv("HOLDFAST_SECOND_EMBEDDER", "none")
    with pytest.raises(holdfast.SettingsError, match=f"second_embedder in the environment.*{instead}"):
        holdfast.open(folder / "memory.db", embedder=HashEmbedder(), worker="none")
