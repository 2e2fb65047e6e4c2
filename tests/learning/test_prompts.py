"""The extraction prompts: their examples, their dates, and the instruction to keep nothing that the user wants off the record."""

import json
import re
from datetime import UTC, datetime

import pytest

from holdfast.learning.answer_check.check import Evidence, problem
from holdfast.learning.answer_check.evidence import evidence_for
from holdfast.learning.ask_model import load_prompt
from holdfast.learning.capture_kinds import EXTRACTORS
from holdfast.text.json.find import conform
from holdfast.types import Message, Scope

_EXAMPLE = re.compile(
    r"(?:^known: 1 \| (?P<known>.+)\n)?^1 \| (?P<day>\S+) \| user \| (?P<said>.+)\n=> (?P<answer>.+)$", re.MULTILINE
)
_ALL = [(name, language) for name in EXTRACTORS for language in ("en", "es")]


def evidence(example: re.Match[str], language: str) -> Evidence:
    at = datetime.fromisoformat(example["day"]).replace(tzinfo=UTC)
    message = Message(
        id="msg", session="one", scope=Scope(user="ana"), role="user", text=example["said"], at=at, seq=1, language=language
    )
    found = evidence_for([message], [message], [])
    return Evidence(sources=found.sources, known=[example["known"]] if example["known"] else [])


@pytest.mark.parametrize(("name", "language"), _ALL)
def test_the_examples_are_answers_that_would_be_kept(name: str, language: str) -> None:
    extractor = EXTRACTORS[name]
    examples = list(_EXAMPLE.finditer(load_prompt(extractor.prompt, language).system))
    answers = [json.loads(example["answer"]) for example in examples]
    assert [len(answer["items"]) for answer in answers] == [0, 0, 2, 1, 1]
    for example, answer in zip(examples, answers, strict=True):
        assert conform(answer, extractor.schema) == (answer, ())
        assert [problem(item[extractor.text], evidence(example, language)) for item in answer["items"]] == [None] * len(
            answer["items"]
        )


@pytest.mark.parametrize(("name", "language"), _ALL)
def test_each_prompt_names_dates_instructions_and_wishes_not_to_be_remembered(name: str, language: str) -> None:
    system = load_prompt(EXTRACTORS[name].prompt, language).system
    assert "happened_at" in system
    assert "ended_at" in system
    assert ("asks not to keep" if language == "en" else "no se guarde") in system


@pytest.mark.parametrize("name", ["summary", "paragraph"])
def test_summaries_leave_out_what_the_user_asks_not_to_keep(name: str) -> None:
    assert "asks not to keep" in load_prompt(name, "en").system
    assert "no se guarde" in load_prompt(name, "es").system
