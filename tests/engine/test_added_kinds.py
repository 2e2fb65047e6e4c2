"""Kinds that a caller adds to a preset. The store records plain kinds, so they are known when it is opened again."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Engine, InvalidInput, Kind
from holdfast.adapters import ITEM

BOTH = pytest.mark.everywhere("sqlite", "postgres")
SECRET = "password: hunter2hunter2"


@BOTH
def test_an_added_kind_is_a_kind_of_the_preset(open_memory: Callable[..., Engine]) -> None:
    recipe = Kind(name="recipe", meaning="How to cook a dish", keyed="one")
    memory = open_memory(kinds=[recipe, ITEM])
    assert memory.remember("boil it", kind="recipe", key="egg").kind == "recipe"
    assert memory.remember(SECRET, kind="item", key="k").text == SECRET
    assert {"fact", "recipe", "item"} <= {kind.name for kind in memory.preset.kinds}


@BOTH
@pytest.mark.ledger("X14")
def test_later_openings_know_the_plain_kinds_of_a_store(open_memory: Callable[..., Engine]) -> None:
    log = Kind(name="log", meaning="An entry of a log", plain=True, lifetime=timedelta(days=2))
    open_memory(kinds=[ITEM]).remember(SECRET, kind="item", key="k", user="ana")
    open_memory(kinds=[log])
    later = open_memory()
    assert [kind for kind in later.preset.kinds if kind.plain] == [ITEM, log]
    assert later.remember(SECRET, kind="item", key="other", user="ana").text == SECRET
    assert SECRET not in later.for_user("ana").context("what is the password?").text


@BOTH
def test_a_changed_plain_kind_replaces_the_recorded_one(open_memory: Callable[..., Engine]) -> None:
    open_memory(kinds=[Kind(name="log", meaning="An entry", plain=True)])
    changed = Kind(name="log", meaning="An entry", plain=True, lifetime="day")
    open_memory(kinds=[changed])
    assert changed in open_memory().preset.kinds


def test_a_kind_that_is_not_plain_is_not_recorded(open_memory: Callable[..., Engine]) -> None:
    open_memory(kinds=[Kind(name="recipe", meaning="How to cook a dish")])
    assert "recipe" not in {kind.name for kind in open_memory().preset.kinds}


def test_another_kind_with_a_name_of_the_preset_is_an_error(open_memory: Callable[..., Engine]) -> None:
    with pytest.raises(InvalidInput, match="already has another kind 'fact'"):
        open_memory(kinds=[Kind(name="fact", meaning="Something else", plain=True)])
    memory = open_memory(kinds=[ITEM, ITEM])
    assert memory.preset.kinds.count(ITEM) == 1
