"""Work of low priority gives way to short requests, and never stops for long."""

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.config.models import make_sentence_reader
from holdfast.forgetting.erase import Erasing, erase
from holdfast.models.local.registry import READERS
from holdfast.protocols import Transaction
from holdfast.runtime.priority import Pace, at_full_speed, give_way, lower_priority, start_pace, urgent, with_pauses
from holdfast.services import services
from holdfast.text.index_terms import chunk_terms, tokenized
from holdfast.text.secrets.redact import redact
from tests.runtime.forking import in_a_forked_child

pytestmark = pytest.mark.ledger("X28")

_WORK_SECONDS = 0.02
_MAX_TRIES = 10


@contextmanager
def _request() -> Iterator[None]:
    """Simulate a short request that runs during the ``with`` block."""
    urgent.enter()
    try:
        yield
    finally:
        urgent.leave()


def _pause(before: Callable[[], object] = lower_priority, wait: Callable[[], object] = give_way) -> float:
    """Call ``before``, work for a moment, and call ``wait``, all in a new context. Return the seconds that ``wait`` took."""

    def run() -> float:
        before()
        time.sleep(_WORK_SECONDS)
        begin = time.monotonic()
        wait()
        return time.monotonic() - begin

    return contextvars.Context().run(run)


def _shortest_pause(before: Callable[[], object] = lower_priority, wait: Callable[[], object] = give_way) -> float:
    """Return the shortest of several pauses, in seconds. On a busy machine, a single pause may take long by chance."""
    return min(_pause(before, wait) for _ in range(_MAX_TRIES))


def test_work_of_low_priority_goes_on_as_soon_as_the_request_ends() -> None:
    def request_that_ends_soon() -> None:
        lower_priority()
        urgent.enter()
        threading.Timer(_WORK_SECONDS, urgent.leave).start()

    assert _shortest_pause(request_that_ends_soon) < _WORK_SECONDS


def test_a_pause_is_at_most_three_times_as_long_as_the_work_before_it() -> None:
    with _request():
        begin = time.monotonic()
        pause = _pause()
        assert 2 * _WORK_SECONDS < pause < time.monotonic() - begin


def test_a_pause_after_a_long_wait_is_short() -> None:
    def wait_long() -> None:
        lower_priority()
        time.sleep(0.3)

    with _request():
        assert _shortest_pause(wait_long) < 0.25


def test_nothing_pauses_without_a_request_or_with_the_usual_priority() -> None:
    assert _shortest_pause() < _WORK_SECONDS
    with _request():
        assert _shortest_pause(lambda: None) < _WORK_SECONDS


def test_a_loop_pauses_before_each_item() -> None:
    with _request():
        assert _pause(wait=lambda: next(iter(with_pauses([1])))) > 2 * _WORK_SECONDS


def test_a_block_at_full_speed_does_not_pause() -> None:
    def wait() -> None:
        with at_full_speed():
            give_way()

    with _request():
        assert _shortest_pause(wait=wait) < _WORK_SECONDS


def test_a_write_transaction_does_not_pause(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder="none", worker="none") as memory, _request():
        with services(memory).store.write():
            assert _pause() > 2 * _WORK_SECONDS  # another context, which has no transaction

        times: list[float] = []

        def write() -> None:
            with services(memory).store.write():
                begin = time.monotonic()
                give_way()
                times.append(time.monotonic() - begin)

        _shortest_pause(wait=write)
        assert min(times) < _WORK_SECONDS


def test_an_erasure_pauses_before_it_removes_rows(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder="none", worker="none") as memory, _request():
        store, id = services(memory).store, memory.remember("keeps bees").id
        begun: list[float] = []

        def removing(_: Transaction) -> None:
            begun.append(time.monotonic())

        def run() -> float:
            lower_priority()
            begin = time.monotonic()
            time.sleep(_WORK_SECONDS)
            erase(store, memory.preset, {"memory": id}, Erasing(now=datetime.now(UTC), check=removing))
            return begin

        begin = contextvars.Context().run(run)
        assert begun[0] - begin > 3 * _WORK_SECONDS


def test_a_model_that_computes_in_this_process_pauses_before_each_text() -> None:
    reader = make_sentence_reader(next(iter(READERS)))
    assert reader is not None
    reader.read("Load the weights.")
    with _request():
        assert _pause(wait=lambda: reader.read("I keep honey in the barn.")) > 2 * _WORK_SECONDS
        assert _shortest_pause(lambda: None, wait=lambda: reader.read("I keep jam in the barn.")) < 2 * _WORK_SECONDS


def test_a_forked_child_starts_without_requests() -> None:
    with _request():
        pause = in_a_forked_child(lambda: str(_shortest_pause()).encode())
    assert float(pause) < _WORK_SECONDS


def test_tokenizing_pauses_between_the_chunks_of_a_text_but_not_in_a_transaction() -> None:
    key = "Heron pond frog reed. " * 2_000, "en"
    chunks = len(chunk_terms(*key))
    begin = time.monotonic()
    chunk_terms(*key)
    without_pauses = time.monotonic() - begin

    def ahead() -> None:
        with tokenized([key]):
            pass

    with _request():
        assert chunks > 5
        assert _pause(wait=ahead) > 2 * _WORK_SECONDS + without_pauses
        assert _shortest_pause(wait=lambda: chunk_terms(*key)) < _WORK_SECONDS + 2 * without_pauses


def test_the_search_for_secrets_pauses() -> None:
    with _request():
        assert _pause(wait=lambda: redact("I keep honey in the barn.")) > 2 * _WORK_SECONDS
        assert _shortest_pause(start_pace, lambda: redact("I keep jam in the barn.")) < _WORK_SECONDS


def test_another_thread_can_lower_the_priority_of_running_work() -> None:
    def lowered_elsewhere() -> None:
        lowering = threading.Thread(target=start_pace().lower)
        lowering.start()
        lowering.join()

    with _request():
        assert _shortest_pause(start_pace) < _WORK_SECONDS
        assert _pause(lowered_elsewhere) > 2 * _WORK_SECONDS


def test_a_block_at_full_speed_does_not_pause_if_the_priority_becomes_low_meanwhile() -> None:
    paces: list[Pace] = []

    def wait() -> None:
        with at_full_speed():
            paces[-1].lower()
            time.sleep(_WORK_SECONDS)
            give_way()

    with _request():
        assert _shortest_pause(lambda: paces.append(start_pace()), wait) < 2 * _WORK_SECONDS
