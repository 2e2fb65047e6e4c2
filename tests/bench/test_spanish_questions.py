"""Tests of the Spanish questions: the data is valid, questions share no word with their answer, and recall finds the answers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast_bench
from holdfast.errors import ModelError
from holdfast.models.local.registry import DEFAULT_MODEL, find
from holdfast.models.local.weights import locate
from holdfast.text.terms import document_terms, query_terms
from holdfast_bench.recall.benchmark import run
from holdfast_bench.recall.datasets import load

FOLDER = Path(holdfast_bench.__file__).parent / "questions"
HALVES = ("spanish-tuning", "spanish-test")
WITHIN, ACROSS = "Spanish asked in Spanish", "English asked in Spanish"

every_half = pytest.mark.parametrize("half", HALVES)


@every_half
def test_every_question_names_a_turn_of_its_own_talk(half: str) -> None:
    for conversation in load(FOLDER / f"{half}.json").conversations:
        turns = [turn.id for session in conversation.sessions for turn in session.turns]
        asked = [question.id for question in conversation.questions]
        assert len(turns) == len(set(turns))
        assert len(asked) == len(set(asked))
        assert {id for question in conversation.questions for id in question.evidence} <= set(turns)


@every_half
def test_no_question_in_spanish_shares_a_telling_word_with_its_answer(half: str) -> None:
    for conversation in load(FOLDER / f"{half}.json").conversations:
        said = {turn.id: turn.text for session in conversation.sessions for turn in session.turns}
        for question in conversation.questions:
            if question.category not in (WITHIN, ACROSS):
                continue
            terms = {term for code in ("en", "es") for term in document_terms(said[question.evidence[0]], code)}
            assert not [word for word in query_terms(question.text, ("en", "es")) if word & terms], question.text


def test_the_halves_share_neither_facts_nor_people() -> None:
    tuning, test = (load(FOLDER / f"{half}.json").conversations for half in HALVES)
    assert not {conversation.id for conversation in tuning} & {conversation.id for conversation in test}
    facts = [
        {turn.text for conversation in conversations for session in conversation.sessions for turn in session.turns}
        for conversations in (tuning, test)
    ]
    assert {text for text in facts[0] & facts[1] if len(text) > 50} == set()


@pytest.mark.long
def test_questions_in_spanish_find_their_answers(capsys: pytest.CaptureFixture[str], models_folder: Callable[[], Path]) -> None:
    models_folder()
    run(FOLDER / "spanish-test.json", as_json=True)
    scores = json.loads(capsys.readouterr().out)
    assert scores[f"  {WITHIN}"]["R@1"] >= 0.70
    assert scores[f"  {WITHIN}"]["R@5"] >= 0.90
    assert scores[f"  {ACROSS}"]["R@1"] >= 0.90


@pytest.fixture
def models_folder() -> Callable[[], Path]:
    """Return a function that returns the folder of the models. It skips the test if the default model's weights are missing."""

    def folder() -> Path:
        from holdfast.config.folders import models_directory  # noqa: PLC0415

        try:
            locate(find(DEFAULT_MODEL), models_directory())
        except ModelError as error:
            pytest.skip(f"needs real weights: {error}")
        return models_directory()

    return folder
