"""The everyday benchmark: its data is valid, and its scores are right.

The scores say how often the context block contains the answer, and how often it stays empty for questions about topics that were
never mentioned.
"""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.errors import InvalidInput
from holdfast.text.clean import fold
from holdfast.text.terms import document_terms, query_terms
from holdfast_bench.everyday.benchmark import FEW, measure, run
from holdfast_bench.everyday.people import BACKGROUND, MISSING_ANSWER, TUNING, Person, load_background, load_people

PEOPLE = load_people()


def _texts(person: Person) -> dict[str, str]:
    return {turn.id: turn.text for talk in person.talks for turn in talk.turns}


def test_there_are_enough_questions_of_every_kind_in_both_halves() -> None:
    for half in ("tuning", "test"):
        people = load_people(half=half)
        counts = Counter(question.tier for person in people for question in person.questions)
        assert {person.language for person in people} == {"en", "es"}
        assert counts["plain"] + counts["hard"] >= 150
        assert min(counts[tier] for tier in MISSING_ANSWER) >= 75
    assert {person.author for person in load_people(half="tuning")} == set(TUNING)


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person.id)
def test_every_answer_is_a_turn_that_says_it_and_hard_questions_share_no_word_with_it(person: Person) -> None:
    texts = _texts(person)
    before = {second.id: first.text for talk in person.talks for first, second in pairwise(talk.turns)}
    for question in person.questions:
        assert question.answer | question.related <= set(texts)
        if question.tier in MISSING_ANSWER:
            continue
        reply = question.kind == "reply"
        said = " ".join(f"{before.get(id, '') if reply else ''} {texts[id]}" for id in question.answer)
        assert all(any(fold(spelling) in fold(said) for spelling in spellings) for spellings in question.says), question.id
        terms = {term for code in ("en", "es") for term in document_terms(said, code)}
        shared = [spellings for spellings in query_terms(question.text, ("en", "es")) if spellings & terms]
        assert bool(shared) == (question.tier == "plain"), question.id


def test_the_background_exists_in_both_languages_and_has_only_user_and_assistant_turns() -> None:
    for language in ("en", "es"):
        talks = load_background(BACKGROUND, language)
        assert sum(map(len, talks)) >= 400
        assert all(role in ("user", "assistant") for talk in talks for role, _ in talk)


def test_a_missing_background_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_background(tmp_path, "en")


def test_a_folder_without_people_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no people"):
        load_people(tmp_path)


def test_answers_and_empty_blocks_are_also_measured_for_a_search_by_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = [{"id": f"eva:{n}", "role": "user", "text": text} for n, text in enumerate(("my bike is red", "it rained all day"))]
    question = {"at": "2026-03-01T10:00", "related": []}
    person = {
        "id": "eva", "language": "en", "sessions": [{"id": "s1", "at": "2026-01-01T10:00", "turns": turns}],
        "questions": [
            {**question, "id": "q1", "text": "what color is my bike?", "tier": "plain", "kind": "direct", "answer": ["eva:0"], "says": ["red"]},
            {**question, "id": "q2", "text": "vehicle shade?", "tier": "hard", "kind": "direct", "answer": ["eva:0"], "says": ["red"]},
        ],
        "near": [{**question, "id": "n1", "text": "what did my bike cost?", "related": ["eva:0"]}],
        "off": [{**question, "id": "o1", "text": "capital of Peru"}],
    }  # fmt: skip
    (tmp_path / "one.json").write_text(json.dumps({"author": "one", "people": [person]}), "utf-8")
    run(people=tmp_path, half=None, sizes=[0], embedder="none", as_json=True)
    scores = json.loads(capsys.readouterr().out)
    assert scores["own items, en, plain"]["first"] == 100
    assert scores["own items, en, plain"]["in block"] == 100
    assert scores["own items, en, hard"]["in block"] == 0
    assert scores["own items, en, off"]["quiet"] == 100
    assert scores["own items, en, near"]["quiet"] == 0


@pytest.mark.long
def test_a_small_store_holds_the_answer_and_turns_of_other_talks() -> None:
    outcomes = measure(PEOPLE[0], size=FEW, embedder="none")
    assert len(outcomes) == len(PEOPLE[0].questions)
    assert all(outcome.size == FEW for outcome in outcomes)


@pytest.mark.long
@pytest.mark.ledger("X30")
def test_a_block_holds_the_answer_if_there_is_one_and_stays_quiet_about_other_topics() -> None:
    unseen = load_people(half="test")
    people = [next(person for person in unseen if person.language == language) for language in ("en", "es")]
    outcomes = [outcome for person in people for outcome in measure(person)]
    for tier in ("plain", "off"):
        right = [not outcome.is_miss for outcome in outcomes if outcome.question.tier == tier]
        assert sum(right) >= 0.75 * len(right), tier  # 14 questions; on all of this half, about 90 %
