"""The ``apps`` commands, as text and as JSON."""

import pytest

from .support import Holdfast


def remember(holdfast: Holdfast, text: str, app: str) -> None:
    holdfast("remember", text, "--app", app, "--preset", "apps")


def test_an_app_is_installed_listed_and_shown(holdfast: Holdfast) -> None:
    holdfast("apps", "install", "calendar", "--name", "My calendar")
    remember(holdfast, "prefers mornings", "calendar")
    assert "calendar  My calendar  installed" in holdfast("apps").stdout
    (listed,) = holdfast.json("apps", "list")
    assert (listed["app"], listed["name"], listed["installed"], listed["memory_count"]) == ("calendar", "My calendar", True, 1)
    shown = holdfast.json("apps", "show", "calendar")
    assert [memory["text"] for memory in shown["memories"]] == ["prefers mornings"]


def test_sharing_is_chosen_and_withdrawn(holdfast: Holdfast) -> None:
    remember(holdfast, "has a cello lesson on Monday", "calendar")
    assert holdfast.json("recall", "cello", "--app", "mail") == []
    assert holdfast.json("apps", "install", "calendar", "--share-with", "mail")["shares_with"] == ["mail"]
    assert [hit["text"] for hit in holdfast.json("recall", "cello", "--app", "mail")] == ["has a cello lesson on Monday"]
    assert "shares with all apps" in holdfast("apps", "install", "calendar", "--share-with-all").stdout
    assert holdfast.json("apps", "install", "calendar", "--share-with-none")["shares_with"] == []
    assert holdfast.json("recall", "cello", "--app", "mail") == []
    assert holdfast.error("apps", "install", "calendar", "--share-with", "x", "--share-with-all", exit=2)["code"] == "usage"


def test_uninstalling_keeps_memories_unless_a_purge_is_confirmed(holdfast: Holdfast) -> None:
    remember(holdfast, "prefers mornings", "calendar")
    assert holdfast.json("apps", "uninstall", "calendar") == {"app": "calendar", "purged": 0, "kept": 1}
    assert holdfast.json("apps", "list") == []
    assert [app["app"] for app in holdfast.json("apps", "list", "--uninstalled")] == ["calendar"]
    assert "--yes" in holdfast.error("apps", "uninstall", "calendar", "--purge", exit=2)["message"]
    assert holdfast.json("apps", "uninstall", "calendar", "--purge", "--yes")["purged"] == 1


def test_a_purge_asks_first_and_says_how_many(holdfast: Holdfast) -> None:
    for text in ("one thing", "another thing"):
        remember(holdfast, text, "calendar")
    assert holdfast.error("apps", "purge", "calendar", exit=2)["code"] == "usage"
    assert holdfast("apps", "purge", "calendar", "--yes").stdout == "Removed 2 memories of calendar.\n"
    assert holdfast.json("apps", "purge", "calendar", "--yes") == {"app": "calendar", "purged": 0}


def test_metrics_are_printed_for_people_and_for_programs(holdfast: Holdfast) -> None:
    remember(holdfast, "prefers mornings", "calendar")
    assert "apps with memories         1 of 1 (100%)" in holdfast("apps", "metrics").stdout
    measured = holdfast.json("apps", "metrics", "--since", "2026-01-01")
    assert (measured["apps"], measured["creations"], measured["energy_share"]) == (1, 0, None)
    assert holdfast.error("apps", "metrics", "--since", "2999-01-01")["code"] == "invalid_input"


@pytest.mark.parametrize("command", ["show", "uninstall"])
def test_an_unknown_app_is_an_error(holdfast: Holdfast, command: str) -> None:
    assert holdfast.error("apps", command, "calender")["code"] == "not_found"


@pytest.mark.ledger("A2", "A5")
def test_apps_have_commands_for_compactions_context_and_energy(holdfast: Holdfast) -> None:
    for number in range(11):
        remember(holdfast, f"The user's locker {number} is in hall {number * 7}.", "gym")
    holdfast("--preset", "apps", "worker", "--once")
    assert len(holdfast.json("--preset", "apps", "apps", "show", "gym")["memories"]) == 10
    (removed,) = holdfast.json("--preset", "apps", "apps", "compactions", "gym")
    assert removed["batch"] in holdfast("--preset", "apps", "apps", "compactions", "gym").stdout
    block = holdfast.json("--preset", "apps", "apps", "context", "gym", "--point", "selection")
    assert block["text"].startswith("(memories for app: gym)")
    assert len(block["memories"]) == 10
    holdfast("--preset", "apps", "undo", removed["batch"])
    assert holdfast.json("apps", "energy", "--level", "0.5", "--used", "100")["level"] == 0.5
    assert "battery 50%" in holdfast("apps", "energy").stdout
    assert holdfast.error("apps", "energy", "--level", "2", exit=2)["code"] == "usage"
