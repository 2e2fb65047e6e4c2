"""The ``revise`` command."""

from .support import Holdfast


def test_revise_changes_the_text_and_keeps_the_id_and_the_rest(holdfast: Holdfast) -> None:
    old = holdfast.json("remember", "prefers tea", "--key", "drink", "--user", "ana", "--tag", "drinks", "--importance", "7")

    new = holdfast.json("revise", old["id"], "prefers", "green", "tea", "--reason", "said so today")

    assert (new["id"], new["text"], new["revision"]) == (old["id"], "prefers green tea", old["revision"] + 1)
    assert (new["key"], new["user"], new["tags"], new["importance"]) == ("drink", "ana", ["drinks"], 7.0)
    assert holdfast.json("history", old["id"])[-1]["reason"] == "said so today"


def test_revise_changes_other_fields_and_leaves_the_text(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "prefers tea", "--user", "ana", "--tag", "old")["id"]

    new = holdfast.json("revise", id, "--tag", "a", "--tag", "b", "--importance", "9", "--topic", "drinks", "--pinned")
    assert (new["text"], new["tags"], new["importance"], new["topic"], new["pinned"]) == (
        "prefers tea",
        ["a", "b"],
        9.0,
        "drinks",
        True,
    )
    again = holdfast.json("revise", id, "--no-tags", "--no-pinned")
    assert (again["tags"], again["pinned"], again["topic"]) == ([], False, "drinks")


def test_revise_reads_the_text_from_standard_input(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "vive en Rosario")["id"]

    assert (
        holdfast.json("revise", id, "-", input="Vive en Córdoba\ny toma mate 🧉\n")["text"] == "Vive en Córdoba\ny toma mate 🧉"
    )


def test_revise_prints_the_memory_as_show_does_and_how_to_undo(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "prefers tea", "--user", "ana")["id"]

    result = holdfast("revise", id, "prefers coffee")

    assert result.stdout == holdfast("show", id).stdout
    holdfast("undo", result.stderr.split()[-1])
    assert holdfast.json("show", id)["text"] == "prefers tea"


def test_revise_without_changes_or_with_an_unknown_id_fails(holdfast: Holdfast) -> None:
    id = holdfast.json("remember", "prefers tea", "--tag", "a")["id"]

    assert holdfast.error("revise", id, exit=2)["code"] == "usage"
    assert holdfast.error("revise", id, "--reason", "why not", exit=2)["code"] == "usage"
    assert holdfast.error("revise", id, "--tag", "a", "--no-tags", exit=2)["code"] == "usage"
    assert holdfast.error("revise", id, "-")["code"] == "invalid_input"
    assert holdfast.error("revise", "mem_nothing", "text")["code"] == "not_found"
