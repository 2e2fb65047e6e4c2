"""The labels for the reader, and the spelling variants that training derives from them."""

import importlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest

TRAINING = Path(__file__).resolve().parents[2] / "training"
LABELS = TRAINING / "reader" / "labels"
Load: TypeAlias = Callable[[str], ModuleType]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.syspath_prepend(str(TRAINING))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"reader.{name}")

    return load


@pytest.mark.parametrize("name", ["real", "clauses", "wishes", "changes"])
def test_every_label_is_an_answer_that_the_reader_can_give(name: str, module: Load) -> None:
    schema = module("schema")
    for row in rows(name):
        for head, answer in schema.numbers(row).items() if name in ("real", "clauses") else ():
            assert 0 <= answer < len(schema.HEADS[head]), row["id"]
        assert row.get("consent", "none").replace("dont-save", "off_record") in schema.HEADS["consent"]
        assert row.get("change", "ends") in schema.HEADS["change"]


@pytest.mark.parametrize("name", ["real", "clauses", "wishes", "changes", "people"])
def test_no_id_appears_twice(name: str) -> None:
    ids = [row["id"] for row in rows(name)]
    assert len(ids) == len(set(ids))


def test_a_message_ends_or_repeats_facts_that_its_person_has() -> None:
    for row in rows("people"):
        for message in row["messages"]:
            named = [*message["ends"], *message["repeats"]]
            assert len(set(named)) == len(named), row["id"]
            assert all(0 <= number < len(row["facts"]) for number in named), row["id"]
            assert bool(message["ends"]) == (message["how"] in ("direct", "sideways")), row["id"]


def test_real_clauses_are_stored_without_their_text() -> None:
    known = {"id", "source", "split", "draw", "lang", "at", "sum", "span", "partial"}
    labels = {"keep", "whose", "neg", "kind", "time", "real", "act", "consent", "reply"}
    for row in rows("real"):
        assert set(row) <= known | labels
        assert all(len(value) <= 24 for field, value in row.items() if isinstance(value, str) and field != "id")


def test_each_source_of_real_text_is_in_one_split() -> None:
    splits: dict[str, set[str]] = {}
    for row in rows("real"):
        splits.setdefault(row["source"], set()).add(row["split"])
    assert all(len(found) == 1 for found in splits.values())
    assert {source for source, found in splits.items() if found == {"test"}} == {"meena", "persuasion", "arena"}


def test_clauses_picked_with_the_reader_are_never_held_out_or_tested(module: Load) -> None:
    split = module("examples")._split
    active = [row for row in rows("real") if row["draw"] == "active"]
    assert len(active) > 1000
    assert {split(row) for row in active} == {"train"}
    assert "dev" in {split({**row, "draw": "plain"}) for row in active}


def test_every_second_label_has_a_first_label() -> None:
    first = {row["id"] for name in ("real", "clauses") for row in rows(name)}
    assert {row["id"] for row in rows("second")} <= first


def test_a_clause_is_picked_if_the_reader_is_uncertain_or_the_engine_keeps_it(module: Load) -> None:
    reason = module("pick_uncertain").reason
    assert reason(0.5, 0.0) == "uncertain"
    assert reason(0.99, 0.6) == "uncertain"
    assert reason(0.99, 0.9) == "kept"
    assert reason(0.01, 0.1) == ""


def test_a_training_text_that_repeats_a_forbidden_text_is_reported(module: Load) -> None:
    check, examples = module("check_overlap"), module("examples")
    forbidden = check.overlap.Forbidden(["my uncle keeps nine grey donkeys behind the old mill", "I like that one"])

    def example(text: str) -> Any:
        return examples.Example(id="a:0:0:0", source="a", split="train", lang="en", first="", text=text, labels={})

    long, short = check.shared(
        forbidden,
        [example("well my uncle keeps nine grey donkeys behind the barn"), example("I like that one"), example("I live in Lyon")],
    )
    assert [text for _, text in long] == ["well my uncle keeps nine grey donkeys behind the barn"]
    assert [text for _, text in short] == ["I like that one"]


def test_unseen_wishes_are_never_trained_on() -> None:
    assert {row["split"] for row in rows("wishes") if row["source"] == "consent_unseen"} == {"test"}


def test_a_dialogue_that_we_wrote_is_in_one_split() -> None:
    splits: dict[str, set[str]] = {}
    for row in rows("clauses"):
        splits.setdefault(row["id"].rsplit(":", 2)[0], set()).add(row["split"])
    assert all(len(found) == 1 for found in splits.values())


def test_the_span_lies_in_the_clause_and_only_where_it_is_kept() -> None:
    for row in rows("clauses"):
        assert ("span" in row) == (row.get("keep", 0) == 1), row["id"]
        if "span" in row:
            start, end = row["span"]
            assert 0 <= start < end <= len(row["text"])


def test_a_span_stays_on_its_words_when_the_spelling_changes(module: Load) -> None:
    noisy = module("noise").noisy
    text = "well, I really don't eat pork (my doctor says so!)"
    start = text.index("I really")
    changed = set()
    for seed in range(200):
        found, (span,) = noisy(text, [(start, start + len("I really don't eat pork"))], "en", random.Random(seed))
        words = found[span[0] : span[1]].split()
        assert words[0] == "I"
        assert words[-1][0] == "p"
        changed.add(found)
    assert text in changed
    assert len(changed) > 20


def test_further_training_holds_all_answers_but_wishes_and_new_sources(module: Load) -> None:
    examples = module("examples")
    known = {"split": "train", "lang": "en", "first": "", "text": "I live in Ghent."}
    wish = examples.Example(id="w:1", source="w", labels={"consent": 1}, **known)
    old, new = (
        examples.Example(id=f"{name}:1", source=name, labels={"keep": 1, "consent": 0}, **known) for name in ("old", "new")
    )
    pair = examples.Example(id="p:1", source="p", labels={"change": 2}, is_pair=True, how="direct", **known)
    held = {each.id: each.is_held for each in examples.held([wish, old, new, pair], ["new"])}
    assert held == {"w:1": False, "old:1": True, "new:1": False, "p:1": True, "p:1 alone": True}


def test_marked_words_lie_inside_the_old_text_and_only_changes_and_wishes_mark_any() -> None:
    known = rows("parts")
    assert len({row["id"] for row in known}) == len(known) > 2000
    for row in known:
        ends = [0, *(end for _, end in row["gone"])]
        assert all(before <= start < end <= len(row["old"]) for before, (start, end) in zip(ends, row["gone"], strict=False))
        assert bool(row["gone"]) == (row["how"] != "none"), row["id"]


def test_each_later_message_ends_words_that_the_old_text_has_once_or_none(module: Load) -> None:
    people = rows("later")
    assert len({person["id"] for person in people}) == len(people) >= 500
    for person in people:
        for message in person["later"]:
            assert all(person["old"].count(words) == 1 for words in message["gone"]), person["id"]
            assert bool(message["gone"]) == (message["how"] != "none"), person["id"]
    first = list(module("examples")._later(people[:1]))
    assert [pair.text for pair in first] == [message["new"] for message in people[0]["later"]]
    marked = [[pair.first[start:end] for start, end in pair.gone] for pair in first]
    assert marked == [message["gone"] for message in people[0]["later"]]


def test_pairs_with_marked_words_are_trained_while_the_others_are_held(module: Load) -> None:
    examples = module("examples")
    known = {
        "split": "train",
        "lang": "en",
        "first": "I live in Ghent.",
        "labels": {"change": 2},
        "is_pair": True,
        "how": "direct",
    }
    pairs = [
        examples.Example(id=f"{name}:1", source=name, text=f"I left ({name}).", **known) for name in ("parts_a", "later_b", "p")
    ]
    held = {each.id: each.is_held for each in examples.held(pairs, ["marked"]) if each.is_pair}
    assert held == {"parts_a:1": False, "later_b:1": False, "p:1": True}


def test_texts_of_joined_facts_mark_the_facts_that_a_message_ends(module: Load) -> None:
    examples = module("examples")
    person = {
        "id": "p:1",
        "source": "p",
        "split": "train",
        "lang": "en",
        "facts": ["Keeps bees", "Works at a bank", "Has two sons"],
        "messages": [{"t": "the hives are sold", "ends": [0], "repeats": [], "how": "direct"}],
    }
    made = list(examples._joined([person]))
    assert made
    for pair in made:
        assert [pair.first[start:end] for start, end in pair.gone] == ["Keeps bees"]
        assert pair.first != "Keeps bees"


def test_the_words_of_unrelated_pairs_are_not_trained(module: Load) -> None:
    examples = module("examples")
    pair = examples.Example(
        id="x", source="x", split="train", lang="en", first="I live in Ghent.", text="ok", labels={"change": 0}, is_pair=True
    )
    assert examples._with_words(examples.replace(pair, how="crossed")).gone is None
    assert examples._with_words(examples.replace(pair, how="lookalike")).gone == ()
    ended = examples.replace(pair, how="direct", labels={"change": 2})
    assert examples._with_words(ended).gone == ((0, len(pair.first)),)
