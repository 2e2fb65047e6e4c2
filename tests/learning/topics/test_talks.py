"""Finding and naming topics without a chat model, on conversations that were written before the rules."""

import pytest

from holdfast.learning.topics.subjects import is_device_talk
from tests.learning.topics.measure_talks import measure


@pytest.mark.long
@pytest.mark.ledger("R3", "R6")
@pytest.mark.parametrize(("split", "found"), [("tune", 11), ("held", 10), ("check", 5)])
def test_topics_are_found_and_named_and_small_talk_leaves_none(split: str, found: int) -> None:
    scores = measure(split)
    assert scores["found"][0] >= found
    assert scores["small"][1] - scores["small"][0] <= 1
    assert scores["small-new"][0] == scores["small-new"][1]
    assert scores["named"][1] - scores["named"][0] <= 1


@pytest.mark.parametrize(
    "text", ["What time is it in Oslo?", "Set an alarm for eight.", "¿Qué día es hoy?", "Bajá la música.", "Is it going to rain?"]
)
def test_a_request_to_operate_the_device_has_no_topic(text: str) -> None:
    assert is_device_talk(text)


@pytest.mark.parametrize(
    "text",
    ["What time should the bread go in?", "Set the oven to 200.", "¿Qué tal va el limonero?", "Is it worth booking a hotel?"],
)
def test_a_question_about_something_is_not_operating_the_device(text: str) -> None:
    assert not is_device_talk(text)
