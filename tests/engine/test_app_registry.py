"""The app registry: installing, listing, sharing, uninstalling, purging, contexts and metrics."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Engine
from holdfast.apps import AppEntry
from holdfast.errors import InvalidInput, NotFound
from holdfast.services import services
from holdfast.testing import FrozenClock, ScriptedChat

OpenMemory = Callable[..., Engine]


@pytest.fixture
def memory(open_memory: OpenMemory) -> Engine:
    return open_memory(preset="apps")


def converse(memory: Engine, app: str, *said: str, user: str | None = None) -> str:
    talk = memory.session(app=app, user=user)
    for number, text in enumerate(said):
        talk.add("assistant" if number % 2 else "user", text)
    talk.end()
    memory.drain()
    return talk.id


def listed(memory: Engine, *, uninstalled: bool = False) -> dict[str, AppEntry]:
    return {entry.app: entry for entry in memory.apps.list(uninstalled=uninstalled)}


# The registry.


@pytest.mark.ledger("A7")
def test_an_installed_app_is_listed_with_its_name_and_its_memories(memory: Engine, clock: FrozenClock) -> None:
    memory.apps.install("calendar", name="My calendar", metadata={"vendor": "acme"})
    memory.remember("prefers mornings", app="calendar")
    memory.remember("ana has a dentist on Friday", app="calendar", user="ana")
    entry = listed(memory)["calendar"]
    assert (entry.name, entry.installed, entry.memory_count) == ("My calendar", True, 2)
    assert (entry.installed_at, entry.uninstalled_at, entry.metadata) == (clock.now(), None, {"vendor": "acme"})


def test_an_app_with_conversations_only_is_listed_as_not_installed(memory: Engine) -> None:
    memory.remember("grows tomatoes", app="garden")
    entry = listed(memory)["garden"]
    assert (entry.name, entry.installed, entry.memory_count, entry.installed_at) == ("garden", False, 1, None)


def test_installing_again_changes_what_is_given_and_keeps_the_rest(memory: Engine, clock: FrozenClock) -> None:
    first = memory.apps.install("calendar", name="My calendar", shares_with=["mail"])
    clock.advance(timedelta(days=1))
    assert memory.apps.install("calendar") == first
    renamed = memory.apps.install("calendar", name="Our calendar")
    assert (renamed.name, renamed.shares_with, renamed.installed_at) == ("Our calendar", ("mail",), first.installed_at)


def test_the_registry_outlives_a_restart(open_memory: OpenMemory) -> None:
    before = open_memory(preset="apps")
    before.apps.install("calendar", name="My calendar", shares_with="all")
    entries = before.apps.list()
    before.close()
    assert open_memory(preset="apps").apps.list() == entries


@pytest.mark.parametrize("name", ["", "  ", "*", "x" * 600])
def test_an_invalid_name_is_refused(memory: Engine, name: str) -> None:
    with pytest.raises(InvalidInput):
        memory.apps.install(name)


def test_names_of_apps_are_cleaned(memory: Engine) -> None:
    memory.apps.install(" cal\nendar ")
    memory.remember("prefers mornings", app="cal endar")
    assert listed(memory)["cal endar"].memory_count == 1


@pytest.mark.ledger("A8")
def test_uninstalling_keeps_memories_and_they_are_there_when_it_is_installed_again(memory: Engine, clock: FrozenClock) -> None:
    memory.apps.install("calendar")
    memory.remember("prefers mornings", app="calendar")
    assert memory.apps.uninstall("calendar") == 0
    assert listed(memory) == {}
    gone = listed(memory, uninstalled=True)["calendar"]
    assert (gone.installed, gone.uninstalled_at, gone.memory_count) == (False, clock.now(), 1)
    clock.advance(timedelta(days=1))
    again = memory.apps.install("calendar")
    assert (again.installed, again.installed_at, again.memory_count) == (True, clock.now(), 1)
    assert "mornings" in memory.apps.context("calendar").text


@pytest.mark.ledger("A8")
def test_uninstalling_with_a_purge_removes_memories_and_nothing_of_others(memory: Engine) -> None:
    memory.remember("prefers mornings", app="calendar")
    memory.remember("prefers evenings", app="calendar", user="ana")
    memory.remember("grows tomatoes", app="garden")
    assert memory.apps.uninstall("calendar", purge_memories=True) == 2
    assert memory.apps.memories("calendar") == []
    assert [each.text for each in memory.apps.memories("garden")] == ["grows tomatoes"]


def test_an_uninstalled_app_can_still_have_conversations_and_stays_uninstalled(memory: Engine) -> None:
    memory.apps.install("calendar")
    memory.apps.uninstall("calendar")
    converse(memory, "calendar", "I prefer mornings for meetings with Phoenix.", "Noted.")
    entry = listed(memory, uninstalled=True)["calendar"]
    assert (entry.installed, entry.memory_count) == (False, 1)


def test_an_unknown_app_cannot_be_uninstalled(memory: Engine) -> None:
    with pytest.raises(NotFound):
        memory.apps.uninstall("calender")
    with pytest.raises(NotFound):
        memory.apps.get("calender")


def test_uninstalling_can_remove_all_data_of_an_app(memory: Engine, files_with: Callable[[str], list[str]]) -> None:
    memory.apps.install("wardrobe-app", name="Wardrobe of Wanda")
    memory.apps.install("mail", shares_with=["wardrobe-app"])
    converse(memory, "wardrobe-app", "I keep seventeen velvet jackets in the attic.", "Nice.")
    assert memory.apps.uninstall("wardrobe-app", everything=True) == 1
    assert listed(memory, uninstalled=True).keys() == {"mail"}
    assert memory.sessions(app="wardrobe-app") == []
    memory.close()
    for needle in ("velvet jackets", "Wardrobe of Wanda", "wardrobe-app"):
        assert files_with(needle) == []


def test_erasing_an_app_removes_its_record_and_its_name(memory: Engine) -> None:
    memory.apps.install("calendar")
    memory.apps.install("mail", shares_with=["calendar"])
    receipt = memory.erase(app="calendar")
    assert receipt.verified
    assert [(entry.app, entry.shares_with) for entry in memory.apps.list(uninstalled=True)] == [("mail", ())]


@pytest.mark.ledger("A7")
def test_the_app_of_a_conversation_is_looked_up(memory: Engine) -> None:
    talk = converse(memory, "calendar", "I prefer mornings.", "Noted.")
    memory.session(id="ses_free", shared=True).add("user", "hello")
    assert memory.apps.of_conversation(talk) == "calendar"
    assert memory.apps.of_conversation("ses_free") is None
    with pytest.raises(NotFound):
        memory.apps.of_conversation("ses_absent")


# Purging.


@pytest.mark.ledger("A7")
def test_a_purge_counts_what_it_removes_for_good(memory: Engine, files_with: Callable[[str], list[str]]) -> None:
    for text in ("alpacas of Arequipa", "bagpipes of Braga", "cormorants of Cádiz"):
        memory.remember(text, app="garden")
    memory.apps.install("garden")
    assert memory.apps.purge("garden") == 3
    assert memory.apps.purge("garden") == 0
    assert listed(memory)["garden"].installed
    assert memory.memories(app="garden", retired=True) == []
    memory.close()
    assert files_with("bagpipes of Braga") == []


@pytest.mark.parametrize("digested", [True, False])
def test_purged_memories_are_not_extracted_again_from_messages(open_memory: OpenMemory, *, digested: bool) -> None:
    memory = open_memory()
    talk = memory.session(app="garden")
    talk.add("user", "I keep seventeen alpacas behind the house.")
    talk.end()
    if digested:
        memory.drain()
    assert memory.apps.purge("garden") == int(digested)
    memory.drain()
    assert memory.apps.memories("garden") == []
    assert memory.recall("alpacas", app="garden") == []


def test_a_purge_during_a_model_call_takes_effect(open_memory: OpenMemory) -> None:
    opened: list[Engine] = []

    def purge_meanwhile(_: object) -> str:
        opened[0].apps.purge("garden")
        return '{"paragraph": "The user keeps seventeen alpacas behind the house."}'

    opened.append(open_memory(preset="apps", chat=ScriptedChat(respond=purge_meanwhile)))
    converse(opened[0], "garden", "I keep seventeen alpacas behind the house.", "Nice.")
    assert opened[0].apps.memories("garden") == []


# Sharing.


@pytest.mark.ledger("A12")
@pytest.mark.parametrize("preset", ["apps", "default"])
@pytest.mark.parametrize("chosen", [["mail"], "all"])
def test_an_app_may_share_its_memories_and_take_that_back(open_memory: OpenMemory, preset: str, chosen: list[str] | str) -> None:
    memory = open_memory(preset=preset)
    memory.remember("The user has a cello lesson on Monday.", app="calendar")
    memory.apps.install("mail")
    assert "cello" not in memory.context("When is my cello lesson?", app="mail").text
    memory.apps.share("calendar", chosen)
    assert "cello" in memory.context("When is my cello lesson?", app="mail").text
    assert [hit.text for hit in memory.recall("cello lesson", app="mail")] == ["The user has a cello lesson on Monday."]
    memory.apps.share("calendar", ())
    assert "cello" not in memory.context("When is my cello lesson?", app="mail").text
    assert memory.recall("cello lesson", app="mail") == []


def test_shared_memories_are_listed_apart_from_the_apps_own(memory: Engine, clock: FrozenClock) -> None:
    memory.apps.install("calendar", shares_with=["mail"])
    memory.remember("The user has a cello lesson on Monday.", app="calendar")
    memory.remember("The user signs with Ana.", app="mail")
    day = clock.now().date()
    assert memory.apps.context("mail").text.endswith(
        "Use these memories to provide context-aware responses.\n\n"
        f"(memories shared by other apps)\n1. [Created: {day}] [App: calendar] The user has a cello lesson on Monday."
    )


@pytest.mark.parametrize("app", ["tasks", None])
def test_memories_shared_with_one_app_are_not_visible_to_other_apps(memory: Engine, app: str | None) -> None:
    memory.apps.install("calendar", shares_with=["mail"])
    memory.remember("The user has a cello lesson on Monday.", app="calendar")
    assert memory.recall("cello lesson", app=app) == []


def test_shared_memories_are_not_passed_on(memory: Engine) -> None:
    memory.apps.install("calendar", shares_with=["mail"])
    memory.apps.install("mail", shares_with=["tasks"])
    memory.remember("The user has a cello lesson on Monday.", app="calendar")
    assert memory.recall("cello lesson", app="tasks") == []


def test_memories_are_shared_but_messages_are_not(memory: Engine) -> None:
    memory.apps.install("calendar", shares_with="all")
    memory.session(app="calendar").add("user", "My cello lesson is on Monday.")
    assert memory.recall("cello lesson", app="mail") == []


def test_apps_that_only_read_a_shared_memory_cannot_forget_it(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.apps.install("calendar", shares_with="all")
    kept = memory.remember("cello lesson on Monday", app="calendar", key="monday")
    with pytest.raises(NotFound):
        memory.forget(kept.id, app="mail")
    with pytest.raises(NotFound):
        memory.forget(key="monday", app="mail")
    assert memory.memories(app="mail") == []
    assert memory.get(kept.id).status == "live"


def test_sharing_ends_with_the_app(memory: Engine) -> None:
    memory.apps.install("calendar", shares_with="all")
    memory.remember("The user has a cello lesson on Monday.", app="calendar")
    memory.apps.uninstall("calendar")
    assert memory.recall("cello lesson", app="mail") == []
    memory.apps.install("calendar")
    assert memory.recall("cello lesson", app="mail") == []


def test_an_uninstalled_app_shares_nothing(memory: Engine) -> None:
    memory.apps.install("calendar")
    memory.apps.uninstall("calendar")
    with pytest.raises(NotFound):
        memory.apps.share("calendar", "all")


@pytest.mark.parametrize("wrong", ["mail", ["*"], [""]])
def test_sharing_is_given_as_a_list_or_as_all(memory: Engine, wrong: object) -> None:
    with pytest.raises(InvalidInput):
        memory.apps.install("calendar", shares_with=wrong)  # type: ignore[arg-type]


@pytest.mark.ledger("A12")
def test_memories_of_a_user_in_an_app_are_shown_only_to_that_user(memory: Engine) -> None:
    memory.remember("Meetings are in room four.", app="calendar")
    memory.remember("Ana prefers mornings.", app="calendar", user="ana")
    memory.apps.install("calendar", shares_with=["mail"])
    for user, expected in ((None, False), ("ana", True), ("bob", False)):
        for app in ("calendar", "mail"):
            text = memory.apps.context(app, user=user).text
            assert "room four" in text
            assert ("Ana prefers" in text) == expected, (app, user)


# Context at the three points.


def test_the_context_at_each_point_uses_the_right_query(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory()  # the default preset, where the query decides what is shown
    for text in ("the cello lesson is on Monday", "the alpacas need shearing", "the roof leaks in Lyon"):
        memory.remember(text, app="diary")
        clock.advance(timedelta(days=1))
    talk = memory.session(app="diary")
    talk.add("user", "Tell me about the alpacas")
    talk.add("assistant", "What about them?")
    talk.add("user", "and the cello lesson?")

    def first(point: str) -> str:
        return memory.apps.context("diary", point, conversation=talk.id, max_tokens=75).hits[0].text  # type: ignore[arg-type]

    assert first("unanswered") == "the cello lesson is on Monday"
    both = [hit.text for hit in memory.apps.context("diary", "review", conversation=talk.id).hits[:2]]
    assert sorted(both) == ["the alpacas need shearing", "the cello lesson is on Monday"]
    assert first("selection") == "the roof leaks in Lyon"


@pytest.mark.ledger("A5")
@pytest.mark.parametrize("point", ["unanswered", "review", "selection"])
def test_the_block_is_the_same_at_all_three_points(memory: Engine, point: str) -> None:
    memory.remember("The user has a cello lesson on Monday.", app="calendar")
    talk = memory.session(app="calendar")
    talk.add("user", "hello")
    text = memory.apps.context("calendar", point, conversation=talk.id).text  # type: ignore[arg-type]
    assert text.startswith("(memories for app: calendar)\n")
    assert text == memory.context("hello", app="calendar").text


def test_the_block_shows_the_display_name_of_an_app(memory: Engine) -> None:
    memory.apps.install("com.acme.cal", name="<Calendar>\n2")
    memory.remember("The user has a cello lesson on Monday.", app="com.acme.cal")
    assert memory.apps.context("com.acme.cal").text.startswith("(memories for app: &lt;Calendar&gt; 2)\n")


def test_the_context_of_a_users_conversation_has_that_users_memories(memory: Engine) -> None:
    memory.remember("Ana prefers mornings.", app="calendar", user="ana")
    talk = memory.session(app="calendar", user="ana")
    talk.add("user", "hello")
    assert "mornings" in memory.apps.context("calendar", "review", conversation=talk.id).text


@pytest.mark.parametrize(("app", "user"), [("mail", None), ("calendar", "bob")])
def test_another_apps_or_users_conversation_is_not_found(memory: Engine, app: str, user: str | None) -> None:
    talk = memory.session(app="calendar", user="ana")
    talk.add("user", "hello")
    with pytest.raises(NotFound):
        memory.apps.context(app, "review", conversation=talk.id, user=user)


def test_a_point_that_does_not_exist_is_refused(memory: Engine) -> None:
    with pytest.raises(InvalidInput, match="unanswered, review, selection"):
        memory.apps.context("calendar", "later")  # type: ignore[arg-type]


# Metrics.


def test_a_conversation_whose_context_came_before_its_first_message_is_counted(memory: Engine) -> None:
    memory.remember("The user has a cello lesson on Monday.", app="calendar")
    talk = memory.session(app="calendar")
    services(memory).reader.uses.note_shown(talk.id, talk.scope, memory.apps.context("calendar"))
    services(memory).scheduler.flush()
    talk.add("user", "hello")
    assert memory.apps.metrics().conversations_with_memories == 1


def test_a_conversation_whose_context_has_no_memories_is_not_counted(memory: Engine) -> None:
    talk = memory.session(app="calendar")
    talk.add("user", "hello")
    memory.apps.context("calendar", "unanswered", conversation=talk.id)
    assert memory.apps.metrics().conversations_with_memories == 0
