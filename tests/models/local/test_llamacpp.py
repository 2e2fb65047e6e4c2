"""Tests of the llama.cpp chat model: schemas, timeouts, forks and interrupts."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.chat import ChatModel, Reply, Schema, Turn
from holdfast.errors import InvalidInput, ModelBusy, ModelError, ModelUnavailable, ModelUnknown, WeightsCorrupt, WeightsMissing
from holdfast.models.local.llamacpp import LlamaCppChat

MODEL = "qwen2.5-coder-1.5b"
GREETING = [Turn(role="user", text="Say hello.")]
LONG = [Turn(role="user", text="Ana moved to Lyon in March and works as a nurse. " * 60)]
HOME: Schema = {
    "type": "object",
    "properties": {"person": {"type": "string"}, "city": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["person", "city", "age"],
}

needs_package = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="needs xllamacpp")


@pytest.fixture(scope="module")
def model(weights_of: Callable[[str], Path]) -> Iterator[LlamaCppChat]:
    pytest.importorskip("xllamacpp")
    chat = LlamaCppChat(f"local:{MODEL}", weights_of(MODEL), context=2048)
    yield chat
    chat.close()


@pytest.mark.parametrize("name", ["qwen2.5-1.5b", "local:", "gguf:", "openai:gpt-4o", ""])
def test_the_error_for_an_unknown_name_shows_the_two_valid_forms(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnknown, match=r"local:NAME or gguf:/path"):
        LlamaCppChat(name, tmp_path)


def test_an_embedder_is_not_a_chat_model(tmp_path: Path) -> None:
    with pytest.raises(ModelUnknown, match=MODEL):
        LlamaCppChat("local:arctic-embed-s", tmp_path)


@pytest.mark.parametrize("options", [{"context": 0}, {"threads": 0}, {"temperature": -1.0}])
def test_invalid_options_are_refused(options: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        LlamaCppChat(f"local:{MODEL}", tmp_path, **options)


def test_missing_weights_come_with_the_command_to_fetch_them(tmp_path: Path) -> None:
    model: ChatModel = LlamaCppChat(f"local:{MODEL}", tmp_path)
    assert model.name == f"local:{MODEL}"
    with pytest.raises(WeightsMissing, match=f"holdfast models pull {MODEL}"):
        model.chat(GREETING)


def test_a_failed_load_leaves_the_model_free_for_the_next_question(tmp_path: Path) -> None:
    model = LlamaCppChat(f"local:{MODEL}", tmp_path)
    for _ in range(2):
        with pytest.raises(WeightsMissing):
            model.chat(GREETING, timeout=1)


def test_a_missing_custom_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"mine\.gguf cannot be read"):
        LlamaCppChat(f"gguf:{tmp_path / 'mine.gguf'}", tmp_path).load()


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"PK\x03\x04 a zip file")
    with pytest.raises(WeightsCorrupt, match="is not a GGUF file"):
        LlamaCppChat(f"gguf:{tmp_path / 'mine.gguf'}", tmp_path).load()


@needs_package
def test_a_damaged_custom_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(ModelError, match=r"cannot load .*mine\.gguf"):
        LlamaCppChat(f"gguf:{tmp_path / 'mine.gguf'}", tmp_path).load()


def test_a_missing_package_comes_with_the_command_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    code = (
        "import sys; from pathlib import Path; sys.modules['xllamacpp'] = None; "
        "from holdfast.errors import ExtraMissing; from holdfast.models.local.llamacpp import LlamaCppChat\n"
        "try: LlamaCppChat(f'gguf:{sys.argv[1]}', Path()).load()\n"
        "except ExtraMissing as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(tmp_path / "mine.gguf")]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert "pip install 'holdfast-memory[llamacpp]'" in answer.stdout


@pytest.mark.weights
def test_an_answer_is_counted_and_costs_nothing(model: LlamaCppChat) -> None:
    reply = model.chat(GREETING, max_tokens=16, timeout=200)
    assert reply.text
    assert reply.usage.calls == 1
    assert reply.usage.input_tokens > 5
    assert 0 < reply.usage.output_tokens <= 16
    assert reply.usage.cost == 0


@pytest.mark.weights
@pytest.mark.parametrize(
    ("text", "person", "city"),
    [("Ana is 34 and lives in Porto.", "Ana", "Porto"), ("Íñigo tiene 34 años y vive en Logroño.", "Íñigo", "Logroño")],
)
def test_a_schema_gives_json_of_that_shape_in_its_order(model: LlamaCppChat, text: str, person: str, city: str) -> None:
    reply = model.chat([Turn(role="user", text=text)], schema=HOME, max_tokens=60, timeout=200)
    found = json.loads(reply.text)
    assert list(found) == ["person", "city", "age"]
    assert found == {"person": person, "city": city, "age": 34}
    assert reply.stop == "end"


@pytest.mark.weights
def test_a_truncated_answer_is_marked_as_truncated(model: LlamaCppChat) -> None:
    assert model.chat(GREETING, max_tokens=1, timeout=200).stop == "length"


@pytest.mark.weights
def test_the_pieces_of_a_stream_make_up_its_reply(model: LlamaCppChat) -> None:
    *pieces, reply = model.stream(GREETING, max_tokens=16, timeout=200)
    assert isinstance(reply, Reply)
    assert "".join(str(piece) for piece in pieces) == reply.text


@pytest.mark.weights
def test_a_stream_that_is_closed_leaves_the_model_free(model: LlamaCppChat) -> None:
    answer = model.stream([Turn(role="user", text="Count from 1 to 1000.")], max_tokens=1500, timeout=250)
    assert isinstance(next(answer), str)
    answer.close()  # type: ignore[attr-defined]
    assert model.chat(GREETING, max_tokens=2, timeout=60).text


@pytest.mark.weights
def test_the_timeout_also_holds_while_a_long_question_is_read(model: LlamaCppChat) -> None:
    model.load()
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="longer timeout") as caught:
        model.chat(LONG, timeout=0.5)
    assert time.monotonic() - began < 3
    assert getattr(caught.value.usage, "calls", 0) == 1
    assert model.chat(GREETING, max_tokens=2, timeout=200).text


@pytest.mark.weights
def test_a_request_that_waits_too_long_for_its_turn_raises_model_busy(model: LlamaCppChat) -> None:
    def be_asked_first() -> None:
        with suppress(ModelUnavailable):
            model.chat(LONG, max_tokens=1, timeout=1.5)

    model.load()
    first = threading.Thread(target=be_asked_first)
    first.start()
    time.sleep(0.2)
    with pytest.raises(ModelBusy):
        model.chat(GREETING, timeout=0.2)
    first.join()


@pytest.mark.weights
def test_a_question_longer_than_the_context_is_refused_with_what_to_do(model: LlamaCppChat) -> None:
    with pytest.raises(ModelError, match="larger context"):
        model.chat([Turn(role="user", text=LONG[0].text * 5)], timeout=60)


@pytest.mark.weights
@pytest.mark.skipif(sys.platform != "linux", reason="sockets are read as Linux lists them")
def test_the_model_listens_on_no_port_and_leaves_no_socket_file(model: LlamaCppChat) -> None:
    model.load()
    own = {path.readlink().name for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert not [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]
    names = [line.split()[7] for line in Path("/proc/net/unix").read_text().splitlines()[1:] if line.endswith("unused.sock")]
    assert names
    assert not [name for name in names if Path(name).exists()]


@pytest.mark.weights
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_from_a_process_with_a_model_answers_and_ends(weights_of: Callable[[str], Path]) -> None:
    pytest.importorskip("xllamacpp")
    code = (
        "import os, sys; from pathlib import Path; from holdfast.chat import Turn; "
        "from holdfast.models.local.llamacpp import LlamaCppChat; "
        "model = LlamaCppChat(sys.argv[1], Path(sys.argv[2]), context=512); "
        "ask = lambda: model.chat([Turn(role='user', text='Say hello.')], max_tokens=2, timeout=200).text; "
        "first = ask(); child = os.fork(); second = ask(); "
        "child or sys.exit(second != first); "
        "sys.exit(os.waitpid(child, 0)[1] or second != first)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, f"local:{MODEL}", str(weights_of(MODEL))]
    assert subprocess.run(command, env=environment, timeout=250, check=False).returncode == 0
