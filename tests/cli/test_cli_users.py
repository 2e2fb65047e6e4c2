"""The ``users`` commands, and the hint for a mistyped user name."""

import pytest

from .support import Holdfast

UNKNOWN = "There is no user 'Anna' in this store. Did you mean 'ana'? Run `holdfast users list` to see all.\n"


def test_users_are_listed_by_name_with_counts(holdfast: Holdfast) -> None:
    holdfast.talk("I'm allergic to peanuts.", user="bob")
    holdfast("remember", "prefers tea", "--user", "ana")
    holdfast("remember", "prefers coffee", "--user", "ana", "--app", "kitchen")
    holdfast("remember", "for all", "--shared")
    holdfast("users", "set", "zoë", "--language", "es")
    holdfast("remember", "of another tenant", "--user", "eve", "--tenant", "acme")

    found = holdfast.json("users", "list")

    assert [(each["user"], each["memories"], each["sessions"]) for each in found] == [("ana", 2, 0), ("bob", 0, 1), ("zoë", 0, 0)]
    assert [each["last_at"] is None for each in found] == [False, False, True]
    lines = holdfast("users", "list").stdout.splitlines()
    assert lines[0].split() == ["user", "memories", "sessions", "last", "activity"]
    assert [line.split()[0] for line in lines[1:]] == ["ana", "bob", "zoë"]


def test_users_are_listed_in_pages(holdfast: Holdfast) -> None:
    for name in ("carl", "ana", "bob"):
        holdfast("users", "set", name, "--language", "en")

    assert [each["user"] for each in holdfast.json("users", "list", "--limit", "1", "--offset", "1")] == ["bob"]
    assert "No more users." in holdfast("users", "list", "--offset", "3").stderr


def test_a_store_without_users_explains_how_users_are_created(holdfast: Holdfast) -> None:
    assert "--user" in holdfast("users", "list").stderr
    assert holdfast.json("users", "list") == []


@pytest.mark.parametrize("command", [("recall", "tea"), ("list",), ("context", "tea"), ("sessions",)])
def test_a_mistyped_user_gets_a_hint_where_nothing_is_found(holdfast: Holdfast, command: tuple[str, ...]) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")

    result = holdfast(*command, "--user", "Anna")

    assert result.stdout == ""
    assert result.stderr.endswith(UNKNOWN)
    assert "There is no user" not in holdfast(*command, "--user", "ana").stderr


def test_a_mistyped_user_gets_no_hint_where_something_is_found(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")
    holdfast("remember", "tea is at five", "--shared")

    result = holdfast("recall", "tea", "--user", "Anna")
    assert "tea is at five" in result.stdout
    assert "There is no user" not in result.stderr


def test_an_unknown_user_without_a_similar_name_gets_no_suggestion(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")

    assert holdfast("list", "--user", "xyzzy").stderr == (
        "There is no user 'xyzzy' in this store. Run `holdfast users list` to see all.\n"
    )


def test_a_known_user_of_whom_nothing_is_found_is_not_called_unknown(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")
    holdfast("users", "set", "bob", "--language", "en")

    assert holdfast("list", "--user", "bob").stderr == (
        "Nothing was found for user 'bob'. Run `holdfast stats` to see what the store holds.\n"
    )


def test_an_empty_result_names_the_options_that_narrowed_it(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")

    recalled = holdfast("recall", "tea", "--user", "ana", "--kind", "decision", "--as-of", "2001-01-01")
    assert recalled.stderr.endswith("Nothing was found with --kind, --as-of. Try again without them.\n")
    listed = holdfast("list", "--user", "ana", "--key", "drink")
    assert listed.stderr == "Nothing was found with --key. Try again without it.\n"


def test_recall_in_an_empty_store_says_how_to_begin(holdfast: Holdfast) -> None:
    assert "There are no memories yet. Try: holdfast remember" in holdfast("recall", "tea").stderr
