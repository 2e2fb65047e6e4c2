"""The local sentence reader: its analysis of sentences, its comparisons, arbitrary text, threads, forks and damaged weights."""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.config.preloading import preload
from holdfast.errors import SettingsError, WeightsCorrupt, WeightsMissing
from holdfast.models.local.reader import LocalReader, _span
from holdfast.models.local.registry import DEFAULT_READER, READERS, ReaderSpec, Weight
from holdfast.models.local.weights import path_of, verify
from holdfast.presets import find_preset
from holdfast.protocols import Comparison, Reading, SentenceReader
from holdfast.protocols.sentence_reader import Act, Area, Meant, Owner, When, Wish
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing.engines import build_engine
from tests.runtime.forking import in_a_forked_child

FACT = "I have worked as a nurse in Lyon since 2015."


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> LocalReader:
    """Return the included reader. Its weights are in the package, so the folder of downloaded weights is empty."""
    return LocalReader(READERS[DEFAULT_READER], tmp_path_factory.mktemp("models"))


def _not_included() -> ReaderSpec:
    """Return the reader's registry entry as if the package ``holdfast_models`` did not contain its files."""
    spec = READERS[DEFAULT_READER]
    return replace(spec, files=tuple(replace(weight, included=None) for weight in spec.files))


def test_the_network_has_no_operator_whose_scale_depends_on_the_processor(tmp_path: Path) -> None:
    """The network does not contain the operator ``DynamicQuantizeLinear``.

    ONNX Runtime computes this operator with other scales on ARM than on x86, so the reader's results would differ.
    """
    network = path_of(READERS[DEFAULT_READER].files[0], tmp_path)
    assert b"MatMulInteger" in network.read_bytes()
    assert b"DynamicQuantizeLinear" not in network.read_bytes()


def test_the_included_weights_are_those_of_the_registry(tmp_path: Path) -> None:
    assert set(verify(READERS[DEFAULT_READER], tmp_path)) == {"model.onnx", "vocab.txt"}
    assert READERS[DEFAULT_READER].size <= 25_500_000


def test_it_satisfies_the_protocol(reader: LocalReader) -> None:
    as_protocol: SentenceReader = reader
    assert as_protocol.name == "talk-reader-s"
    assert isinstance(as_protocol.read(FACT), Reading)
    assert isinstance(as_protocol.compare(FACT, "I moved to Oslo."), Comparison)


def test_a_fact_is_worth_keeping_and_small_talk_is_not(reader: LocalReader) -> None:
    fact, talk = reader.read(FACT), reader.read("Haha, good morning!")
    assert fact.keep > 0.9
    assert talk.keep < 0.1
    assert (fact.owner, fact.act, talk.act) == ("user", "statement", "smalltalk")


def test_the_previous_turn_changes_the_meaning_of_a_short_reply(reader: LocalReader) -> None:
    asked = reader.read("Two, Pixel and Byte.", before="Do you have any pets?")
    alone = reader.read("Two, Pixel and Byte.")
    assert asked.keep > alone.keep
    assert asked.act == "reply"


@pytest.mark.parametrize("before", ["", " ", "What do you do? " * 500, "x" * 10_000])
def test_the_previous_turn_may_be_empty_or_long(reader: LocalReader, before: str) -> None:
    assert 0 <= reader.read(FACT, before=before).keep <= 1


def test_a_missing_previous_turn_equals_an_empty_one(reader: LocalReader) -> None:
    assert reader.read(FACT) == reader.read(FACT, before="")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a",
        "?",
        "word " * 5000,
        "x" * 10_000,
        "[SEP] [CLS] [MASK]",
        "🎉",
        "\u200b",
        "東京に住んでいます",
        "a\u0000b\u0301",
    ],
    ids=["empty", "blank", "letter", "mark", "many words", "long word", "special", "emoji", "invisible", "japanese", "control"],
)
def test_any_text_gets_a_reading_within_bounds(reader: LocalReader, text: str) -> None:
    found = reader.read(text)
    assert 0 <= found.keep <= 1
    assert 0 <= found.start <= found.end <= len(text)
    assert found.owner in get_args(Owner)
    assert found.area in get_args(Area)
    assert found.time in get_args(When)
    assert found.meant in get_args(Meant)
    assert found.act in get_args(Act)
    assert set(found.wishes) == set(get_args(Wish))
    assert sum(found.wishes.values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("text", ["", "word " * 5000, "x" * 10_000, "🎉"], ids=["empty", "many words", "long word", "emoji"])
def test_any_two_claims_can_be_compared(reader: LocalReader, text: str) -> None:
    for found in (reader.compare(text, FACT), reader.compare(FACT, text)):
        assert found.leaves + found.repeats + found.ends == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "Since I'm diabetic, what desserts can I eat?",
        "  Recommend a restaurant,   my wife is vegan-ish… and I'm allergic to shellfish.",
        "Tengo dos perros, Canela y Toby, ¿qué pienso me recomiendas?",
        "can you book me a table for Zoë's 40th at Café Müller, we're 12?",
    ],
    ids=["question", "blanks", "spanish", "accents"],
)
def test_a_span_covers_whole_words(reader: LocalReader, text: str) -> None:
    found = reader.read(text)
    assert found.start < found.end
    assert not text[found.start : found.end][0].isspace()
    assert text[found.start - 1 : found.start].strip() == ""
    assert text[found.end : found.end + 1].strip() == ""


def test_a_span_is_the_run_of_words_with_the_greatest_sum() -> None:
    words = [(0, 1), (2, 3), (4, 5), (6, 7)]
    scores = np.array([-1.0, 2.0, -0.5, 2.0, 9.0], dtype=np.float32)  # the last one is that of the end mark
    assert _span(scores, words, [1, 1, 1, 1]) == (2, 7)


def test_a_word_counts_as_much_as_its_best_token() -> None:
    scores = np.array([-1.0, 3.0, -5.0, -1.0, 0.0], dtype=np.float32)
    assert _span(scores, [(0, 1), (2, 6), (7, 8)], [1, 2, 1]) == (2, 6)


def test_words_beyond_the_limit_and_words_without_tokens_are_not_part_of_a_span() -> None:
    scores = np.array([1.0, 1.0, 9.0], dtype=np.float32)  # two tokens were read, and the end mark
    assert _span(scores, [(0, 1), (2, 3), (4, 5), (6, 7)], [1, 0, 1, 5]) == (0, 5)


def test_a_text_without_words_has_an_empty_span() -> None:
    assert _span(np.zeros(1, dtype=np.float32), [], []) == (0, 0)


def test_threads_get_the_same_readings_as_one_thread(tmp_path: Path) -> None:
    new = LocalReader(READERS[DEFAULT_READER], tmp_path)  # several threads load it
    texts = [FACT, "Good morning!", "I'm allergic to nuts.", "Vivo en Rosario."] * 8
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(new.read, texts))
    assert found == [new.read(text) for text in texts]


def test_a_forked_child_reads_too(reader: LocalReader) -> None:
    expected = repr(reader.read(FACT))
    assert in_a_forked_child(lambda: repr(reader.read(FACT)).encode()) == expected.encode()


def test_without_weights_loading_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match="talk-reader-s"):
        LocalReader(_not_included(), tmp_path).load()


def test_with_damaged_weights_reading_is_an_error(tmp_path: Path) -> None:
    spec = _not_included()
    for weight in spec.files:
        _write(weight, tmp_path, b"\0" * weight.size)
    with pytest.raises(WeightsCorrupt, match=r"model\.onnx is damaged"):
        LocalReader(spec, tmp_path).read(FACT)


class Loading(LocalReader):
    """A reader that records whether it was loaded."""

    loaded = False

    def load(self) -> None:
        super().load()
        self.loaded = True


def test_the_server_loads_the_model_at_start(tmp_path: Path) -> None:
    reader = Loading(READERS[DEFAULT_READER], tmp_path)
    store = SQLiteStore(tmp_path / "memory.db")
    with build_engine(store, preset=find_preset("default"), worker="none", sentence_reader=reader) as memory:
        preload(memory)
    assert reader.loaded


def test_a_server_starts_without_the_reader_and_logs_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader = LocalReader(_not_included(), tmp_path)
    store = SQLiteStore(tmp_path / "memory.db")
    with build_engine(store, preset=find_preset("default"), worker="none", sentence_reader=reader) as memory:
        preload(memory)
    (logged,) = [entry for entry in caplog.records if entry.levelno == logging.WARNING]
    assert logged.message.startswith("The sentence reader cannot be used. Rules extract memories. The weights of talk-reader-s")


def _write(weight: Weight, directory: Path, content: bytes) -> None:
    path = path_of(weight, directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_the_setting_takes_a_name_or_none() -> None:
    assert make_sentence_reader("none") is None
    assert make_sentence_reader("None") is None
    assert make_sentence_reader(DEFAULT_READER) is make_sentence_reader(DEFAULT_READER)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"Unknown reader 'gpt'\. Use talk-reader-s or none\."):
        make_sentence_reader("gpt")
