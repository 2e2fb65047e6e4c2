"""Recall keeps its time limit. Without a working model, search by meaning is missing and a notice says so, but recall answers."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from holdfast import Engine, Hits
from holdfast.errors import ModelUnavailable, SettingsError
from holdfast.protocols import Candidate, Role, Vectors
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.services import services
from holdfast.testing import HashEmbedder
from tests.models.remote.chat_server import ChatServer, Refuse, Silence, Step
from tests.server.http_support import eventually

OpenMemory = Callable[..., Engine]
MODEL = "ollama:nomic-embed-text"
LIMIT = 0.3
GRACE = 1.2
"""Seconds that the search itself may take on a busy machine. ``LIMIT + GRACE`` is less than the time for which a model hangs."""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(HashEmbedder(dimensions=768)) as server:
        yield server


@pytest.fixture
def remote(open_memory: OpenMemory, server: ChatServer) -> Engine:
    """A memory with an embedder on a server, and one text with a vector."""
    memory = open_memory(embedder=MODEL, settings={"embedder_url": server.url})
    memory.remember("the parrot is called Basil", user="ana")
    memory.drain()
    assert timed(memory)[1].notices == ()
    return memory


def timed(memory: Engine, query: str = "what is the parrot called?") -> tuple[float, Hits]:
    started = time.monotonic()
    hits = memory.recall(query, user="ana")
    return time.monotonic() - started, hits


def by_meaning(hits: Hits) -> bool:
    return any(hit.similarity is not None for hit in hits)


def pause_over(memory: Engine) -> None:
    services(memory).embedding.model.end_pauses()


# An embedder on a server


def test_a_server_that_hangs_costs_the_limit_once_and_words_answer(remote: Engine, server: ChatServer) -> None:
    server.script(*[Silence(30.0)] * 20)
    seconds, hits = timed(remote, "parrot called?")
    assert seconds < LIMIT + GRACE
    assert [hit.text for hit in hits] == ["the parrot is called Basil"]
    assert not by_meaning(hits)
    assert hits.notices == (
        f"Searched by words only: {MODEL} did not answer in time. A recall waits at most 0.3 s (setting recall_timeout).",
    )
    asked = len(server.requests)
    for number in range(5):
        seconds, hits = timed(remote, f"parrot number {number}?")
        assert seconds < GRACE
        assert hits.notices[0].startswith("Searched by words only: ")
    assert len(server.requests) == asked


def test_a_context_block_keeps_the_limit_too_and_carries_the_notice(remote: Engine, server: ChatServer) -> None:
    server.script(*[Silence(30.0)] * 20)
    started = time.monotonic()
    context = remote.context("parrot called?", user="ana")
    assert time.monotonic() - started < LIMIT + GRACE
    assert "Basil" in context.text
    assert context.notices[0].startswith("Searched by words only: ")
    assert "Searched" not in context.text


@pytest.mark.parametrize("step", [Refuse(500, "out of memory"), Refuse(401, "bad key")])
def test_a_server_that_fails_is_paused_and_its_error_is_stated(remote: Engine, server: ChatServer, step: Step) -> None:
    server.script(*[step] * 20)
    seconds, hits = timed(remote, "parrot called?")
    assert seconds < LIMIT + GRACE
    assert hits.notices[0].startswith(f"Searched by words only: {MODEL}")
    asked = len(server.requests)
    assert timed(remote, "parrot name?")[0] < GRACE
    assert len(server.requests) <= asked + 1  # a retry of the first call may still be under way


def test_the_first_answer_in_time_ends_the_outage(remote: Engine, server: ChatServer) -> None:
    server.script(Refuse(400, "no"))
    assert not by_meaning(timed(remote, "parrot called?")[1])
    assert services(remote).reader.notices
    server.forget()
    pause_over(remote)
    seconds, hits = timed(remote, "parrot called?")
    assert seconds < LIMIT + GRACE
    assert (by_meaning(hits), hits.notices) == (True, ())
    assert services(remote).reader.notices == []


def test_a_late_vector_of_a_query_is_cached_for_the_next_recall(open_memory: OpenMemory) -> None:
    embedder = Sleeping(0.6)
    memory = open_memory(embedder=embedder, settings={"recall_timeout": 0.1})
    memory.remember("the parrot is called Basil", user="ana")
    memory.drain()
    query = "what is the parrot called?"
    assert not by_meaning(timed(memory, query)[1])
    eventually(lambda: (embedder.name, query) in services(memory).embedding.queries)
    seconds, hits = timed(memory, query)
    assert seconds < GRACE
    assert (by_meaning(hits), hits.notices) == (True, ())


def test_background_work_pauses_after_a_failed_call_of_the_embedder(remote: Engine, server: ChatServer) -> None:
    server.script(*[Refuse(400, "no")] * 50)
    asked = len(server.requests)
    for number in range(10):
        remote.remember(f"box {number}", user="ana")
        services(remote).scheduler.run_once()
    assert len(server.requests) == asked + 1
    server.forget()
    remote.drain()
    assert remote.stats().waiting_for_vectors == 0


def test_new_texts_are_embedded_within_the_time_limit_or_reported_in_a_notice(remote: Engine, server: ChatServer) -> None:
    remote.remember("the hamster is called Olive", user="ana")
    assert timed(remote, "hamster?")[1].notices == ()
    for number in range(100):
        remote.remember(f"box {number} of the inventory", user="ana")
    seconds, hits = timed(remote, "which box?")
    assert seconds < LIMIT + GRACE + 0.3  # a batch of 32 texts is stored too
    assert hits.notices[-1].endswith("items are not searchable by meaning yet.")
    remote.drain()
    assert timed(remote, "which box?")[1].notices == ()
    assert server.requests


@pytest.mark.long
def test_the_first_recall_of_a_program_does_not_spend_its_limit_on_imports(tmp_path: Path, server: ChatServer) -> None:
    code = (
        "import sys, holdfast\n"
        "from holdfast.services import services\n"
        f"memory = holdfast.open({str(tmp_path / 'm.db')!r}, embedder={MODEL!r}, worker='none', "
        f"settings={{'embedder_url': {server.url!r}}})\n"
        "assert 'openai' not in sys.modules\n"
        "services(memory).embedding.embedder()\n"
        "assert 'openai' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert server.requests == []


# A custom embedder


class Sleeping(HashEmbedder):
    """A custom embedder that sleeps before each query."""

    computes = False

    def __init__(self, seconds: float) -> None:
        super().__init__(name="sleeping")
        self.seconds = seconds
        self.threads = 0

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
        if role == "query":
            self.threads += 1
            time.sleep(self.seconds)
        return super().embed(texts, role=role)


def test_a_custom_embedder_that_hangs_blocks_only_one_thread(open_memory: OpenMemory) -> None:
    embedder = Sleeping(2.0)
    memory = open_memory(embedder=embedder)
    memory.remember("the parrot is called Basil", user="ana")
    memory.drain()
    embedder.threads = 0  # the fingerprint was embedded
    seconds, hits = timed(memory)
    assert seconds < LIMIT + GRACE
    assert hits.notices[0].startswith("Searched by words only: sleeping did not answer in time.")
    for number in range(3):
        pause_over(memory)
        assert timed(memory, f"parrot {number}?")[0] < GRACE
    assert embedder.threads == 1


def test_a_function_that_sleeps_keeps_the_limit_too(open_memory: OpenMemory) -> None:
    def embed(text: str) -> list[float]:
        time.sleep(2.0 if text.endswith("?") else 0.0)
        return [1.0, 0.0, float(len(text))]

    memory = open_memory(embedder=embed)
    memory.remember("the parrot is called Basil", user="ana")
    memory.drain()
    seconds, hits = timed(memory)
    assert seconds < LIMIT + GRACE
    assert hits
    assert hits.notices


def test_an_embedder_that_computes_here_has_no_limit_so_scores_do_not_depend_on_load(open_memory: OpenMemory) -> None:
    embedder = Sleeping(0.5)
    memory = open_memory(embedder=EmbedderSource(name=embedder.name, load=lambda: embedder, computes=True))
    memory.remember("the parrot is called Basil", user="ana")
    hits = timed(memory)[1]
    assert (by_meaning(hits), hits.notices) == (True, ())


def test_the_limit_is_a_setting(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=Sleeping(0.5), settings={"recall_timeout": 10})
    memory.remember("the parrot is called Basil", user="ana")
    assert by_meaning(timed(memory)[1])
    with pytest.raises(SettingsError, match="recall_timeout"):
        open_memory(settings={"recall_timeout": 0})


# Weights and backlog


def test_missing_weights_are_stated_by_every_recall(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("HOLDFAST_MODELS", str(folder / "no-models"))
    memory = open_memory(embedder="arctic-embed-s")
    memory.remember("the parrot is called Basil", user="ana")
    for _ in range(3):
        hits = memory.recall("parrot", user="ana")
        assert [hit.text for hit in hits] == ["the parrot is called Basil"]
        assert hits.notices[0].startswith("Searched by words only: The weights of arctic-embed-s are not on this machine")
    assert memory.recall("which pet does she have?", user="ana").notices == hits.notices
    assert list(memory.context("parrot", user="ana").notices) == services(memory).reader.notices


def test_the_backlog_counts_only_data_that_the_reader_may_see(open_memory: OpenMemory) -> None:
    memory = open_memory()
    for number in range(200):
        memory.remember(f"box {number} of the inventory", user="ana")
    memory.remember("the parrot is called Basil", user="bob")
    assert memory.recall("parrot?", user="bob").notices == ()
    notices = memory.recall("which box?", user="ana").notices
    assert notices == ("168 items are not searchable by meaning yet.",)
    memory.drain()
    assert memory.recall("which box?", user="ana").notices == ()


def test_without_an_embedder_by_choice_there_is_no_notice(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none")
    memory.remember("the parrot is called Basil", user="ana")
    assert memory.recall("parrot", user="ana").notices == ()
    assert memory.context("", user="ana").notices == ()


# Rerankers


class SlowReranker:
    """A custom reranker that waits, like a reranker on a server."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls = 0

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> Sequence[float | None]:
        self.calls += 1
        threading.Event().wait(self.seconds)
        return [0.5] * len(candidates)


def test_a_reranker_that_hangs_costs_the_limit_once_and_hits_keep_their_order(open_memory: OpenMemory) -> None:
    reranker = SlowReranker(2.0)
    memory = open_memory(reranker=reranker)
    for text in ("the parrot is called Basil", "the hamster is called Olive"):
        memory.remember(text, user="ana")
    memory.drain()
    seconds, hits = timed(memory)
    assert seconds < LIMIT + GRACE
    assert hits[0].text == "the parrot is called Basil"
    assert hits.notices[0].startswith("Not reranked: The reranker slow did not answer in time.")
    assert timed(memory)[0] < GRACE
    assert reranker.calls == 1
    assert services(memory).reader.notices == [hits.notices[0]]


# The check


def test_doctor_says_that_an_embedder_is_down(remote: Engine, server: ChatServer) -> None:
    finding = next(each for each in remote.doctor() if each.check == "embedder")
    assert finding.ok
    server.script(*[Refuse(400, "no such model")] * 5)
    finding = next(each for each in remote.doctor() if each.check == "embedder")
    assert not finding.ok
    assert finding.detail.startswith("Searched by words only: ")
    assert "no such model" in finding.detail


def test_doctor_says_that_an_embedder_is_too_slow_for_a_recall(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=Sleeping(0.4))
    finding = next(each for each in memory.doctor() if each.check == "embedder")
    assert not finding.ok
    assert "a recall waits at most 0.3 s" in finding.detail
    assert finding.remedy is not None
    assert re.fullmatch(r"Set recall_timeout to \d\.\d or more, or use a faster embedder", finding.remedy)
    assert next(each for each in memory.doctor(deep=False) if each.check == "embedder").ok


def test_an_embedder_that_raises_an_error_is_reported_as_a_notice(open_memory: OpenMemory) -> None:
    class Broken(HashEmbedder):
        computes = False

        def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
            if role == "query":
                raise ModelUnavailable("no route")
            return super().embed(texts, role=role)

    memory = open_memory(embedder=Broken(name="broken"))
    memory.remember("the parrot is called Basil", user="ana")
    assert memory.recall("parrot", user="ana").notices == ("Searched by words only: no route.",)
