"""Apps never see each other's memories or messages, whatever the names and texts are."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import Engine
from holdfast.errors import InvalidInput
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.text.clean import clean_name

_NAMES = st.text(min_size=1, max_size=8).filter(lambda name: bool(name.strip()) and name.strip() != "*")
_APPS = st.lists(_NAMES, min_size=2, max_size=5, unique=True)
_SAID = st.lists(st.tuples(st.integers(0, 9), st.sampled_from([None, "ana"]), st.text(max_size=60), st.booleans()), max_size=14)


@pytest.mark.long
@pytest.mark.ledger("A6")
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(apps=_APPS, said=_SAID, preset=st.sampled_from(["apps", "default"]))
@example(apps=["a", "A"], said=[(0, None, "x", True), (1, "ana", "y", False)], preset="default")
@example(apps=["a%", "a_", "a'"], said=[(n, None, "the cello", False) for n in range(6)], preset="apps")
def test_no_app_ever_sees_anothers_words(apps: list[str], said: list[tuple[int, str | None, str, bool]], preset: str) -> None:
    names = list(dict.fromkeys(cleaned for name in apps if (cleaned := _cleaned(name))))
    with (
        tempfile.TemporaryDirectory() as folder,
        holdfast.open(
            Path(folder) / "memory.db", preset=preset, embedder=HashEmbedder(), worker="none", clock=FrozenClock()
        ) as memory,
    ):
        for name in names:
            memory.apps.install(name)
        for number, user, text, as_message in said:
            if names:
                _store(memory, names[number % len(names)], number % len(names), user, text, as_message=as_message)
        memory.drain()
        for place, name in enumerate(names):
            for user in (None, "ana"):
                _check(memory, name, place, user, len(names))


def _cleaned(name: str) -> str | None:
    try:
        return clean_name(name, what="app")
    except InvalidInput:
        return None


def _store(memory: Engine, app: str, place: int, user: str | None, text: str, *, as_message: bool) -> None:
    """Store a text as a message or as a memory. The text contains a word that only this app and user have (the mark)."""
    marked = f"I like the mark{place}q{user or 'all'} of the cello, {text}"
    if as_message:
        talk = memory.session(app=app, user=user)
        talk.add("user", marked)
        talk.end()
    else:
        memory.remember(marked, app=app, user=user)


def _check(memory: Engine, app: str, place: int, user: str | None, count: int) -> None:
    """Assert that no result for an app contains the mark (a unique word) of another app or user."""
    foreign = [f"mark{other}q" for other in range(count) if other != place]
    foreign += [] if user else [f"mark{place}qana"]
    answers = [memory.apps.context(app, user=user).text, memory.context("the mark of the cello", app=app, user=user).text]
    answers += [hit.text for hit in memory.recall("the mark of the cello", app=app, user=user, limit=50)]
    answers += [found.text for found in memory.memories(app=app, user=user)]
    assert not [mark for mark in foreign for answer in answers if mark in answer]
