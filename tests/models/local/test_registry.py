"""The model registry is complete and consistent."""

import re

import pytest

from holdfast.errors import ModelUnknown
from holdfast.models.local.registry import (
    CHAT_MODELS,
    DEFAULT_MODEL,
    GGUF,
    MODELS,
    NETWORK,
    VOCABULARY,
    ChatSpec,
    ModelSpec,
    WheelMember,
    find,
    find_any,
    find_chat,
)

every_chat_model = pytest.mark.parametrize("spec", CHAT_MODELS.values(), ids=CHAT_MODELS)
every_model = pytest.mark.parametrize("spec", MODELS.values(), ids=MODELS)


def test_a_model_is_found_by_its_name() -> None:
    assert find("arctic-embed-s").name == "arctic-embed-s"
    assert find(DEFAULT_MODEL) is MODELS[DEFAULT_MODEL]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ModelUnknown, match=r"'gpt-9'.*all-minilm-l6-v2, arctic-embed-s") as caught:
        find("gpt-9")
    assert caught.value.code == "model_unknown"


@every_model
def test_a_model_has_a_network_and_a_vocabulary(spec: ModelSpec) -> None:
    assert {weight.filename for weight in spec.files} == {NETWORK, VOCABULARY}


@every_model
def test_every_file_has_a_whole_hash_a_size_and_a_carrier(spec: ModelSpec) -> None:
    for weight in spec.files:
        assert re.fullmatch(r"[0-9a-f]{64}", weight.sha256)
        assert weight.size > 0
        assert weight.included or any(isinstance(carrier, WheelMember) for carrier in weight.carriers)


@every_model
def test_a_matching_pair_is_closer_than_an_unrelated_one(spec: ModelSpec) -> None:
    unrelated, matching = spec.calibration
    assert -1 < unrelated < matching < 1


@every_model
def test_a_model_has_a_license_and_a_description(spec: ModelSpec) -> None:
    assert spec.licence == "Apache-2.0"
    assert spec.description


def test_models_that_share_a_file_name_the_same_bytes() -> None:
    downloaded = [weight for spec in MODELS.values() for weight in spec.files if not weight.included]
    assert len({weight.sha256 for weight in downloaded if weight.filename == VOCABULARY}) == 1


@every_chat_model
def test_a_chat_model_is_one_file_with_a_whole_hash_and_a_carrier(spec: ChatSpec) -> None:
    (weight,) = spec.files
    assert weight.filename == GGUF
    assert re.fullmatch(r"[0-9a-f]{64}", weight.sha256)
    assert weight.size == spec.size > 0
    assert weight.carriers
    assert spec.licence == "Apache-2.0"
    assert spec.max_context > 0


def test_every_model_is_found_by_its_name_among_those_of_its_kind() -> None:
    assert {find_any(name).name for name in (*MODELS, *CHAT_MODELS)} == {*MODELS, *CHAT_MODELS}
    assert find_chat("qwen2.5-1.5b") is CHAT_MODELS["qwen2.5-1.5b"]
    with pytest.raises(ModelUnknown, match="arctic-embed-s"):
        find("qwen2.5-1.5b")
    with pytest.raises(ModelUnknown, match=r"qwen2\.5-1\.5b"):
        find_chat("arctic-embed-s")
