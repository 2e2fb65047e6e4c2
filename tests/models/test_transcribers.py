"""Tests of speech to text: over HTTP, with a local engine, and with invalid input."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from holdfast.errors import AnswerInvalid, InvalidInput, ModelError, ModelUnknown
from holdfast.models.transcribers import PocketSphinxTranscriber, find_transcriber, read_wav


class _SpeechServer(BaseHTTPRequestHandler):
    """Answers each recording with the next scripted response."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append((self.path, body, self.headers.get("Authorization")))  # type: ignore[attr-defined]
        status, answer = self.server.answers.pop(0)  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, to keep the output of the tests clean."""


@contextmanager
def speech_server(*answers: tuple[int, bytes]) -> Iterator[tuple[str, list[tuple[str, bytes, str | None]]]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _SpeechServer)
    server.answers, server.heard = list(answers), []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", server.heard  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_recording_is_sent_as_a_file_with_the_model_and_the_key() -> None:
    with speech_server((200, b'{"text": "hello there"}')) as (url, heard):
        found = find_transcriber("openai:whisper-1", url, "k1")
        assert found is not None
        assert found.transcribe(b"RIFF-bytes") == "hello there"
    ((path, body, key),) = heard
    assert (path, key) == ("/v1/audio/transcriptions", "Bearer k1")
    assert b"RIFF-bytes" in body
    assert b"whisper-1" in body


def test_a_server_that_fails_for_a_moment_is_asked_again() -> None:
    with speech_server((500, b"{}"), (200, b'{"text": "hello"}')) as (url, heard):
        found = find_transcriber("own:model", url)
        assert found is not None
        assert (found.transcribe(b"x"), len(heard)) == ("hello", 2)


def test_an_answer_without_a_text_is_an_error() -> None:
    with speech_server((200, b'{"words": []}')) as (url, _):
        found = find_transcriber("openai:whisper-1", url)
        assert found is not None
        with pytest.raises(AnswerInvalid):
            found.transcribe(b"x")


def test_an_unreachable_server_is_a_model_error() -> None:
    found = find_transcriber("openai:whisper-1", "http://127.0.0.1:9/v1", "k")
    assert found is not None
    with pytest.raises(ModelError):
        found.transcribe(b"x")


def test_the_name_none_selects_no_transcriber() -> None:
    assert find_transcriber("none") is None


@pytest.mark.parametrize("name", ["whisper", "anthropic:claude", "nobody:model", "openai:"])
def test_an_unknown_name_is_reported(name: str) -> None:
    with pytest.raises(ModelUnknown, match="pocketsphinx"):
        find_transcriber(name)


@pytest.mark.parametrize("recording", [b"", b"RIFF", b"not audio at all", b"RIFF\x24\x00\x00\x00WAVEfmt "])
def test_an_invalid_recording_is_refused(recording: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_wav(recording, rate=16_000)


def test_the_local_engine_refuses_an_invalid_recording() -> None:
    with pytest.raises(InvalidInput):
        PocketSphinxTranscriber().transcribe(b"ID3")
