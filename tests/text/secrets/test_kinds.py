"""Generated secrets of many kinds are redacted, and generated look-alikes are not."""

import pytest

from holdfast.text.secrets.redact import redact
from tests.text.secrets.kinds import KINDS, look_alikes, secrets


@pytest.mark.parametrize("seed", [1, 20, 300])
def test_at_least_99_percent_of_the_secrets_are_redacted(seed: int) -> None:
    missed = [each for each in secrets(960, seed=seed) if each.value in redact(each.text).text]
    assert len(missed) <= 9, missed


@pytest.mark.parametrize("kind", KINDS)
def test_at_least_one_secret_of_every_kind_is_redacted(kind: str) -> None:
    assert any(each.value not in redact(each.text).text for each in secrets(len(KINDS), seed=5) if each.kind == kind)


@pytest.mark.parametrize("seed", [1, 20, 300])
def test_at_most_1_percent_of_the_look_alikes_are_redacted(seed: int) -> None:
    hit = [(text, redact(text).text) for text in look_alikes(1000, seed=seed) if redact(text).found]
    assert len(hit) <= 10, hit


@pytest.mark.parametrize("seed", [1, 20])
def test_a_generated_secret_is_redacted_only_once(seed: int) -> None:
    for each in secrets(320, seed=seed):
        once = redact(each.text).text
        assert redact(once).text == once
