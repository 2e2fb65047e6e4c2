"""The local embedder satisfies the embedder protocol, and is safe with threads, forks and missing weights."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.errors import InvalidInput, WeightsCorrupt, WeightsMissing
from holdfast.models.local.embedder import LocalEmbedder
from holdfast.models.local.registry import DEFAULT_MODEL, MODELS, NETWORK, VOCABULARY, find
from holdfast.models.local.weights import path_of, pull, verify
from holdfast.protocols import Embedder
from holdfast.testing.embedders import EmbedderSuite
from tests.runtime.forking import in_a_forked_child


class TestArctic(EmbedderSuite):
    @pytest.fixture
    def embedder(self, arctic: LocalEmbedder) -> Embedder:
        return arctic


class TestMiniLM(EmbedderSuite):
    @pytest.fixture
    def embedder(self, minilm: LocalEmbedder) -> Embedder:
        return minilm


@pytest.fixture(scope="module")
def arctic(weights_of: Callable[[str], Path]) -> LocalEmbedder:
    return LocalEmbedder(find("arctic-embed-s"), weights_of("arctic-embed-s"))


@pytest.fixture(scope="module")
def minilm(weights_of: Callable[[str], Path]) -> LocalEmbedder:
    return LocalEmbedder(find("all-minilm-l6-v2"), weights_of("all-minilm-l6-v2"))


def test_nothing_is_loaded_before_the_first_text(tmp_path: Path) -> None:
    embedder = LocalEmbedder(find("arctic-embed-s"), tmp_path)
    assert (embedder.name, embedder.dimensions) == ("arctic-embed-s", 384)
    with pytest.raises(WeightsMissing, match="holdfast models pull arctic-embed-s"):
        embedder.embed(["text"], role="document")


def test_a_damaged_network_of_the_right_size_is_reported_as_damaged(tmp_path: Path) -> None:
    spec = find("arctic-embed-s")
    spec = replace(spec, files=tuple(replace(weight, size=1000) for weight in spec.files))
    for weight in spec.files:
        path = path_of(weight, tmp_path)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\xff" * 1000)
    with pytest.raises(WeightsCorrupt, match=f"{NETWORK}.* is damaged"):
        LocalEmbedder(spec, tmp_path).load()


def test_the_default_embedder_is_included_and_intact(tmp_path: Path) -> None:
    assert set(verify(find(DEFAULT_MODEL), tmp_path)) == {NETWORK, VOCABULARY}
    assert LocalEmbedder(find(DEFAULT_MODEL), tmp_path).embed(["¿Dónde vive Ana?"], role="query").shape == (1, 384)


def test_an_included_file_that_is_missing_is_an_error_that_says_to_reinstall(tmp_path: Path) -> None:
    spec = find(DEFAULT_MODEL)
    spec = replace(spec, files=tuple(replace(weight, included=f"no-such/{weight.filename}") for weight in spec.files))
    with pytest.raises(WeightsCorrupt, match="Reinstall Holdfast"):
        LocalEmbedder(spec, tmp_path).load()
    with pytest.raises(WeightsCorrupt, match="Reinstall Holdfast"):
        pull(spec, tmp_path)


def test_loading_notices_changed_bytes_of_an_included_file_and_says_to_reinstall(tmp_path: Path) -> None:
    spec, folder = find(DEFAULT_MODEL), tmp_path / "package"
    folder.mkdir()
    for weight in spec.files:
        content = bytearray(path_of(weight, tmp_path).read_bytes())
        content[1000] ^= 1
        (folder / weight.filename).write_bytes(content)
    spec = replace(spec, files=tuple(replace(weight, included=str(folder / weight.filename)) for weight in spec.files))
    with pytest.raises(WeightsCorrupt, match="Reinstall Holdfast"):
        LocalEmbedder(spec, tmp_path).load()


def test_loading_an_included_file_writes_nothing_next_to_it(tmp_path: Path) -> None:
    spec = find(DEFAULT_MODEL)
    LocalEmbedder(spec, tmp_path).load()
    assert not list(path_of(spec.files[0], tmp_path).parent.glob(".*"))


def test_the_default_embedder_finds_a_spanish_fact_by_an_english_question_and_the_reverse(tmp_path: Path) -> None:
    embedder = LocalEmbedder(find(DEFAULT_MODEL), tmp_path)
    facts = ["Soy alérgica a los cacahuetes.", "My brother plays the cello.", "Vivo en Salamanca.", "The dog is called Bruno."]
    questions = [
        "What food must she avoid?",
        "¿Qué instrumento toca su hermano?",
        "Which city is home?",
        "¿Cómo se llama el perro?",
    ]
    found = embedder.embed(questions, role="query") @ embedder.embed(facts, role="document").T
    assert found.argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_a_single_text_instead_of_a_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="list of texts"):
        LocalEmbedder(find(DEFAULT_MODEL), tmp_path).embed("text", role="document")


def test_an_unknown_role_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'passage'"):
        LocalEmbedder(find(DEFAULT_MODEL), tmp_path).embed(["text"], role="passage")  # type: ignore[arg-type]


def test_a_question_carries_the_prefix_of_its_model(arctic: LocalEmbedder) -> None:
    question = arctic.embed(["Where does Ana live?"], role="query")
    prefixed = f"{find(DEFAULT_MODEL).query_prefix}Where does Ana live?"
    assert np.array_equal(question, arctic.embed([prefixed], role="document"))
    assert not np.array_equal(question, arctic.embed(["Where does Ana live?"], role="document"))


@pytest.mark.parametrize("name", MODELS)
def test_calibration_lies_between_unrelated_and_matching_pairs(name: str, weights_of: Callable[[str], Path]) -> None:
    embedder = LocalEmbedder(find(name), weights_of(name))
    questions = ["Where do I live?", "Any allergies?", "What is the dog called?", "Which database do we use?"]
    answers = [
        "I live in Lyon now.",
        "Tom is allergic to peanuts.",
        "The dog is called Biscuit.",
        "We decided to use the PostgreSQL database.",
    ]
    cosines = embedder.embed(questions, role="query") @ embedder.embed(answers, role="document").T
    middle = sum(embedder.calibration) / 2
    others = cosines[~np.eye(len(questions), dtype=bool)]
    assert others.mean() < middle < np.diag(cosines).mean()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_embeds_as_its_parent_does(arctic: LocalEmbedder) -> None:
    expected = arctic.embed(["text"], role="query")
    assert in_a_forked_child(lambda: arctic.embed(["text"], role="query").tobytes()) == expected.tobytes()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
def test_a_process_that_embeds_long_texts_stays_below_200_megabytes(
    weights_of: Callable[[str], Path],
) -> None:
    code = (
        "import sys; from pathlib import Path; from holdfast.models.local.embedder import LocalEmbedder; "
        "from holdfast.models.local.registry import find; "
        "embedder = LocalEmbedder(find(sys.argv[1]), Path(sys.argv[2])); "
        "embedder.embed(['short', 'a sentence of words. ' * 75, 'word ' * 2000, 'short'], role='document'); "
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, DEFAULT_MODEL, str(weights_of(DEFAULT_MODEL))]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True)
    assert int(answer.stdout) < 200 * 1024


_EXIT = """
import sys, threading
from pathlib import Path
from holdfast.models.local.embedder import LocalEmbedder
from holdfast.models.local.registry import DEFAULT_MODEL, find

embedder, started = LocalEmbedder(find(DEFAULT_MODEL), Path(sys.argv[1])), threading.Event()

def embed():
    while True:
        embedder.embed(["tea " * 200], role="document")
        started.set()

threading.Thread(target=embed, daemon=True).start()
assert started.wait(60)
"""


def test_a_program_can_end_while_a_daemon_thread_embeds(weights_of: Callable[[str], Path]) -> None:
    """Without waiting, ONNX Runtime aborts the process ("terminate called without an active exception")."""
    ran = subprocess.run(
        [sys.executable, "-c", _EXIT, str(weights_of(DEFAULT_MODEL))], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")
