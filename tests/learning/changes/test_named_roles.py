"""A report of what a known person did does not end the fact that the person has a role."""

import pytest

from holdfast import Engine
from holdfast.learning.changes.things.named_things import reports_role_holder

pytestmark = pytest.mark.ledger("X24")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My accountant is Nina Park.", "Nina confirmed the VAT thing yesterday."),
        ("Mi asesora fiscal es Amparo Ruiz.", "Lo del IVA trimestral me lo confirmó Amparo ayer."),
    ],
)
def test_what_a_known_person_did_leaves_their_role(memory: Engine, old: str, new: str) -> None:
    for text in (old, new):
        with memory.session(user="ana") as talk:
            talk.add("user", text)
        memory.drain()
    assert old in [found.text for found in memory.memories(user="ana")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My accountant is Nina Park.", "Nina retired last month."),
        ("My accountant is Nina Park.", "My accountant is Tom Reed now."),
        ("Mi dentista es Amparo.", "Amparo dejó la clínica."),
    ],
)
def test_words_of_a_change_still_count(old: str, new: str) -> None:
    assert not reports_role_holder(old, new)
