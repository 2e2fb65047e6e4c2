"""Tests of the learning benchmark: its scoring, and the format of the labeled set."""

import json
from collections import Counter
from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from holdfast.cli.app import app
from holdfast.text.clean import fold
from holdfast.types import Message, Put
from holdfast_bench.learning.benchmark import by_language, measure, open_learner, show
from holdfast_bench.learning.labelled_set import (
    SCOPE,
    Case,
    ChangePair,
    Item,
    changes,
    conversations,
    make_case,
    rows,
    utterances,
)
from holdfast_bench.learning.real_talk import real_talk
from holdfast_bench.learning.scores import CaseResult, Learner, Score, score_case, score_change, total

LYON, NURSE = Item(has=("Lyon",)), Item(has=("nurse",))
TYPES = {"personal", "preference", "event", "decision", "knowledge"}
FILES = ["dev", "test", "conversations", "changes"]
SPLITS = [name for name in ("dev", "test") if any(rows(name))]
"""Splits that are not empty. The test split is empty while no utterances are held out."""


def keeping(*texts: str) -> Learner:
    """Return a learner (a function that extracts memories) that extracts these texts from any conversation."""
    return lambda messages: [Put(scope=SCOPE, kind="fact", text=text) for text in texts]


def scored(*kept: str, keep: Sequence[Item] = (LYON, NURSE), drop: Sequence[str] = ()) -> CaseResult:
    return score_case(make_case("one", ["I live in Lyon and work as a nurse"], keep, drop), keeping(*kept))


def never(old: str, new: str, language: str) -> bool:
    """Return False: no statement replaces another."""
    return False


def test_a_memory_with_two_items_counts_for_both() -> None:
    assert scored("lives in Lyon, is a nurse").score == Score(right=1, kept=1, found=2, expected=2)


def test_an_unexpected_memory_is_wrong() -> None:
    result = scored("lives in Lyon", "likes tea")
    assert (result.score.precision, result.wrong) == (0.5, ("likes tea",))


def test_an_item_that_no_memory_has_is_missed() -> None:
    result = scored("lives in Lyon")
    assert (result.score.recall, result.missed) == (0.5, (NURSE,))


@pytest.mark.parametrize("again", ["LIVES IN LYON.", "has a home in Lyon"], ids=["same words", "other words"])
def test_a_duplicate_counts_once(again: str) -> None:
    assert scored("lives in Lyon", again).score == Score(right=1, kept=1, found=1, expected=2)


def test_a_wrong_memory_said_twice_counts_once() -> None:
    assert scored("likes tea", "Likes tea!").score.kept == 1


def test_every_string_of_an_item_must_be_there() -> None:
    assert scored("has a sister", keep=[Item(has=("sister", "Lyon"))]).score.found == 0


def test_an_item_does_not_count_with_a_string_it_must_not_have() -> None:
    assert scored("lived in Lyon until 2019", keep=[Item(has=("Lyon",), has_not=("until",))]).score.right == 0


def test_case_and_accents_do_not_count() -> None:
    assert scored("vive en córdoba", keep=[Item(has=("Cordoba",))]).score.found == 1


def test_a_memorys_key_counts_as_part_of_it() -> None:
    case = make_case("one", ["I live in Lyon"], [Item(has=("home", "Lyon"))])
    assert score_case(case, lambda _: [Put(scope=SCOPE, kind="fact", key="home", text="Lyon")]).score.found == 1


def test_a_memory_with_a_dropped_string_is_wrong_though_it_has_an_item() -> None:
    result = scored("lives in Lyon, password hunter2", keep=[LYON], drop=["hunter2"])
    assert result.score == Score(right=0, kept=1, found=0, expected=1, leaks=1)


def test_scores_are_none_if_there_is_nothing_to_score() -> None:
    nothing = scored(keep=[]).score
    assert (nothing.precision, nothing.recall, nothing.f1) == (None, None, None)


def test_f1_is_the_harmonic_mean() -> None:
    assert Score(right=1, kept=2, found=1, expected=1).f1 == pytest.approx(2 / 3)


def test_scores_add_up_by_counts() -> None:
    both = total([Score(right=1, kept=1, found=1, expected=4), Score(right=1, kept=3, found=1, expected=1)])
    assert (both.precision, both.recall) == (0.5, 0.4)


def test_languages_are_scored_apart_and_together() -> None:
    spoken = [make_case("a", ["hi"], [LYON], language="en"), make_case("b", ["hola"], [NURSE], language="es")]
    scores = by_language([score_case(case, keeping("Lyon")) for case in spoken])
    assert {name: score.recall for name, (_, score) in scores.items()} == {"en": 1.0, "es": 0.0, "all": 0.5}


@pytest.mark.parametrize(
    ("truth", "said", "score"),
    [
        (True, True, Score(right=1, kept=1, found=1, expected=1)),
        (True, False, Score(expected=1)),
        (False, True, Score(kept=1)),
        (False, False, Score()),
    ],
)
def test_a_decision_about_a_change_is_scored_against_the_label(*, truth: bool, said: bool, score: Score) -> None:
    pair = ChangePair(id="one", language="en", old="I live in Lyon", new="I live in Metz", replaces=truth, why="moved")
    assert score_change(pair, lambda old, new, language: said).score == score


def test_a_learner_that_keeps_nothing_finds_nothing() -> None:
    report = measure(keeping(), never, ["dev"])
    assert total(result.score for result in report.utterances["dev"]).recall == 0


def test_a_learner_that_knows_the_labels_is_perfect() -> None:
    cases = {case.id: case for case in [*utterances("dev"), *utterances("test"), *conversations()]}

    def oracle(messages: Sequence[Message]) -> list[Put]:
        return list(keeping(*(" ".join(item.has) for item in cases[messages[0].session].keep))(messages))

    report = measure(oracle, never, ["dev", "test"])
    results = [*report.utterances["dev"], *report.utterances["test"], *report.conversations]
    assert [result.case.id for result in results if result.wrong or result.missed] == []


def test_a_judge_that_knows_the_labels_is_perfect() -> None:
    truth = {(pair.old, pair.new): pair.replaces for pair in changes()}
    report = measure(keeping(), lambda old, new, language: truth[old, new], [])
    assert total(result.score for result in report.changes or ()).f1 == 1.0


def test_an_engine_with_rules_alone_learns_and_judges() -> None:
    case = make_case("one", ["I live in Lyon.", "what time is it?"], [LYON])
    with open_learner(None) as learner:
        assert score_case(case, learner.learn).score.f1 == 1.0
        assert learner.judge("I live in Lyon.", "I moved to Oslo.", "en")
        assert not learner.judge("I live in Lyon.", "I like Oslo.", "en")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("dev", {"en": 519, "es": 368}),
        ("test", {"en": 116, "es": 90}),
        ("conversations", {"en": 20, "es": 10}),
        ("changes", {"en": 75, "es": 55}),
    ],
)
def test_each_language_has_its_share(name: str, counts: dict[str, int]) -> None:
    assert Counter(row["language"] for row in rows(name)) == counts


def test_ids_are_unique() -> None:
    ids = [row["id"] for name in FILES for row in rows(name)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["dev", "test"])
def test_no_utterance_occurs_twice(name: str) -> None:
    texts = Counter(fold(row["text"]) for other in ("dev", "test") for row in rows(other))
    assert [row["id"] for row in rows(name) if texts[fold(row["text"])] > 1] == []


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("language", ["en", "es"])
def test_a_little_over_half_of_the_utterances_have_something_to_keep(name: str, language: str) -> None:
    having = [bool(row["keep"]) for row in rows(name) if row["language"] == language]
    assert 0.5 <= sum(having) / len(having) <= 0.6


def _cases() -> list[Case]:
    return [*utterances("dev"), *utterances("test"), *conversations()]


def test_every_expected_memory_was_stated() -> None:
    said = {case.id: fold(str(case)) for case in _cases()}
    expected = [(case.id, part) for case in _cases() for item in case.keep for part in item.has]
    assert len(said) > 1000
    assert [(id, part) for id, part in expected if fold(part) not in said[id]] == []


def test_every_forbidden_string_occurs_in_the_messages() -> None:
    assert [(case.id, part) for case in conversations() for part in case.drop if fold(part) not in fold(str(case))] == []


def test_items_have_strings_and_a_known_type() -> None:
    items = [item for name in ("dev", "test", "conversations") for row in rows(name) for item in row["keep"]]
    assert [item for item in items if not item["has"] or not all(item["has"]) or item["type"] not in TYPES] == []


def test_messages_of_tools_and_assistants_have_their_own_origin() -> None:
    origins = {(m.role, m.origin) for case in conversations() for m in case.messages if m.role != "user"}
    assert origins == {("assistant", "assistant"), ("tool", "tool"), ("tool", "web")}


def test_changes_replace_and_look_alikes_do_not() -> None:
    pairs = list(rows("changes"))
    assert Counter(pair["verdict"] for pair in pairs) == {"replaces": 78, "keeps": 52}
    assert {pair["why"] for pair in pairs if pair["verdict"] == "keeps"} == {"look-alike"}
    assert {pair["why"] for pair in pairs if pair["verdict"] == "replaces"} == {
        "moved",
        "fact",
        "job",
        "name",
        "date",
        "preference",
        "ended",
    }


@pytest.mark.long
def test_the_command_prints_each_part_by_language() -> None:
    shown = CliRunner().invoke(app, ["bench", "learn", "--split", "test", "--limit", "25"])
    assert shown.exit_code == 0
    assert all(part in shown.stdout for part in ("utterances, test", "conversations", "changes", " en ", " es "))
    assert "utterances, dev" not in shown.stdout


@pytest.mark.long
def test_the_command_prints_json_with_misses() -> None:
    shown = CliRunner().invoke(app, ["bench", "learn", "--split", "dev", "--misses", "--json", "--limit", "40"])
    part = json.loads(shown.stdout)["utterances"]["dev"]
    assert set(part["scores"]) == {"en", "es", "all"}
    assert part["scores"]["all"]["cases"] == 40
    assert part["misses"]
    assert all(miss["missed"] or miss["wrong"] for miss in part["misses"])


def test_a_missing_model_is_not_measured() -> None:
    shown = CliRunner().invoke(app, ["bench", "learn", "--chat", "local:nope", "--limit", "1"])
    assert shown.exit_code != 0
    assert "utterances" not in shown.stdout


def test_misses_are_shown_with_their_messages(capsys: pytest.CaptureFixture[str]) -> None:
    show(measure(keeping("likes tea"), lambda old, new, language: False, ["dev"]), misses=True, as_json=False)
    shown = capsys.readouterr().out
    assert "missed: Waffles" in shown
    assert "wrong: likes tea" in shown
    assert "said keeps (moved)" in shown


def test_real_conversations_are_reported_first() -> None:
    result = CliRunner().invoke(app, ["bench", "learn", "--split", "test", "--limit", "1"])
    assert result.exit_code == 0
    assert "real conversations" in result.output.splitlines()[0]
    now = real_talk()[-1]
    assert now.memories >= 100
    assert sum(now.shares.values()) == pytest.approx(1.0)
    assert 0 < now.clear < 1
