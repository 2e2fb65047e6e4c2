"""A portrait describes a person: facts of all areas of life, the lasting facts first, and no trifles."""

import pytest

from holdfast.learning.summaries.portrait import portrait
from holdfast.testing.samples import a_memory
from holdfast.types import Memory

pytestmark = pytest.mark.ledger("X12")

HOME = a_memory("Lives in Tartu", kind="profile", key="home", origin="explicit")
JOB = a_memory("Works as a violin maker", kind="profile", key="job", origin="explicit")
HEALTH = [a_memory(f"Is allergic to {what}", origin="explicit") for what in ("penicillin", "latex", "pollen", "wasps", "gluten")]
TRIFLES = [a_memory(f"The {what} squeaks", origin="explicit") for what in ("door", "chair", "gate", "lid", "bed", "bike")]


def _texts(memories: list[Memory]) -> list[str]:
    return [each.text for each in portrait(memories, limit=5)]


def test_home_and_work_come_first_although_many_newer_facts_exist() -> None:
    found = _texts([HOME, JOB, *HEALTH, *TRIFLES])
    assert found[:2] == [HOME.text, JOB.text]
    assert len(found) == 5
    assert not [text for text in found if "squeaks" in text]


def test_trifles_fill_a_short_portrait_only() -> None:
    assert len([text for text in _texts([HOME, *TRIFLES]) if "squeaks" in text]) == 3


def test_small_talk_is_left_out() -> None:
    assert _texts([a_memory("that was nice of you", origin="auto")]) == []
