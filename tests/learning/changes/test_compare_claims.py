"""The included sentence reader compares old and new claims (single facts in a text). A new claim ends only what it changes."""

from collections.abc import Callable

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.engine import Engine
from holdfast.learning.changes.compare_claims import ClaimComparer
from holdfast.models.local.registry import DEFAULT_READER
from holdfast.protocols import Comparison, Reading, SentenceReader

OpenMemory = Callable[..., Engine]


class Counting:
    """A reader that counts its comparisons."""

    def __init__(self, reader: SentenceReader) -> None:
        self._reader = reader
        self.name = reader.name
        self.compared = 0

    def read(self, sentence: str, *, before: str = "") -> Reading:
        return self._reader.read(sentence, before=before)

    def compare(self, old: str, new: str) -> Comparison:
        self.compared += 1
        return self._reader.compare(old, new)


@pytest.fixture
def counting() -> Counting:
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    return Counting(reader)


@pytest.fixture
def comparer(counting: Counting) -> ClaimComparer:
    return ClaimComparer(counting)


def _tell(memory: Engine, text: str) -> None:
    with memory.session(user="ana") as talk:
        talk.add("user", text)
    memory.drain()


@pytest.mark.ledger("X24")
@pytest.mark.parametrize("new", ["I moved to Munich last week."])
def test_a_move_ends_the_old_home_and_leaves_the_locker_code(comparer: ClaimComparer, new: str) -> None:
    change = comparer.change("Lives in Berlin. Locker code 4411.", new)
    assert change is not None
    assert change.kept == ("Locker code 4411.",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work at KPMG.", "I quit my job at KPMG."),
        ("I drive a Honda Civic.", "I sold my car."),
    ],
)
def test_a_memory_of_one_claim_ends_as_a_whole(comparer: ClaimComparer, old: str, new: str) -> None:
    change = comparer.change(old, new)
    assert change is not None
    assert change.kept == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin.", "My brother moved to Munich."),
        ("I'm allergic to nuts.", "My son is allergic to eggs."),
        ("I live in Berlin.", "I'm vegan."),
    ],
)
def test_a_claim_about_someone_or_something_else_ends_nothing(comparer: ClaimComparer, old: str, new: str) -> None:
    assert comparer.change(old, new) is None


def test_a_paraphrase_repeats_and_another_fact_does_not(comparer: ClaimComparer) -> None:
    assert comparer.repeats("I'm vegan.", "I don't eat any animal products.")
    assert not comparer.repeats("I'm vegan.", "My brother moved to Munich.")


@pytest.mark.parametrize("old", ["", "  ", "I live in Berlin. " * 7], ids=["empty", "blank", "seven claims"])
def test_a_text_without_claims_and_a_summary_are_not_compared(counting: Counting, old: str) -> None:
    assert ClaimComparer(counting).change(old, "I moved to Munich.") is None
    assert counting.compared == 0


@pytest.mark.ledger("X24")
def test_after_a_move_a_memory_keeps_what_did_not_change(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember("Lives in Berlin. Locker code 4411.", user="ana", origin="auto")
    _tell(memory, "I moved to Munich in February.")
    live = {found.text for found in memory.memories(user="ana")}
    (ended,) = [found for found in memory.memories(user="ana", retired=True) if found.status != "live"]
    assert ended.text == "Lives in Berlin. Locker code 4411."
    assert live == {"Locker code 4411", "I moved to Munich in February 2026."}


def test_without_a_reader_a_memory_ends_by_rules_alone(open_memory: OpenMemory) -> None:
    memory = open_memory(settings={"reader": "none"})
    memory.remember("I live in Berlin.", user="ana", origin="auto")
    _tell(memory, "I moved to Munich in February.")
    assert {found.text for found in memory.memories(user="ana")} == {"I moved to Munich in February."}


def test_a_sentence_that_refers_to_an_ended_claim_ends_with_it(open_memory: OpenMemory) -> None:
    memory = open_memory(settings={"reader": "none"})
    memory.remember("Lives in Berlin. Loves it there. Locker code 4411.", user="ana", origin="auto")
    _tell(memory, "I moved to Munich in February.")
    assert {found.text for found in memory.memories(user="ana")} == {"Locker code 4411", "I moved to Munich in February."}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Shelf number 1 is for jars and nothing else.", "Shelf number 2 is for jars and nothing else."),
        ("El armario n.º 3 es para las copas.", "Decidimos que el armario n.º 4 es para las copas."),
    ],
)
def test_a_thing_with_another_number_is_not_changed(comparer: ClaimComparer, old: str, new: str) -> None:
    assert comparer.change(old, new) is None


@pytest.mark.ledger("X24")
@pytest.mark.parametrize(
    ("old", "new"),
    [("My manager is Deepa.", "Deepa's manager is Kiran."), ("My dog is called Rulo.", "Ana's dog is called Max.")],
)
def test_a_change_of_somebody_elses_thing_does_not_end_the_users_claim(comparer: ClaimComparer, old: str, new: str) -> None:
    assert comparer.change(old, new) is None


@pytest.mark.ledger("X24")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Estoy embarazada de siete meses.", "Ya nació la niña, 3 kilos doscientos."),
        ("I weigh two hundred and ten pounds.", "I'm down to one ninety five now"),
    ],
)
def test_a_certain_change_counts_without_a_common_word_or_area(comparer: ClaimComparer, old: str, new: str) -> None:
    assert comparer.change(old, new) is not None


@pytest.mark.ledger("X24")
def test_a_move_between_places_that_the_reader_does_not_know_ends_the_old_home(open_memory: OpenMemory) -> None:
    memory = open_memory()
    _tell(memory, "Vivo en Triana.")
    memory.remember("Nací en 1987.", user="ana")
    _tell(memory, "Me he mudado a Nervión.")
    assert {found.text for found in memory.memories(user="ana")} == {"Me he mudado a Nervión.", "Nací en 1987."}


@pytest.mark.ledger("X24")
def test_nothing_is_kept_of_a_claim_that_is_restated_with_another_time(comparer: ClaimComparer) -> None:
    change = comparer.change("I go to bed at ten.", "I go to bed at eleven thirty now")
    assert change is not None
    assert change.kept == ()
