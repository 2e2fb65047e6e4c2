"""The HTTP routes of the voice device design: background noise, sensor readings and recordings. Also its verification script."""

import io
import json
import shutil
import subprocess
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.config.settings import Settings
from holdfast.models.transcribers import PocketSphinxTranscriber
from holdfast.server.routes.device import format_readings, is_noise
from holdfast.testing import ScriptedChat
from tests.models.remote.chat_server import ChatServer, ReceivedRequest
from tests.server.http_support import Served, eventually, process, serving

pytestmark = pytest.mark.ledger("L9")


class Hears:
    """A transcriber that returns a fixed text."""

    name = "told"

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.recordings: list[bytes] = []

    def transcribe(self, recording: bytes) -> str:
        self.recordings.append(recording)
        return self.texts.pop(0)


def recording(seconds: float = 0.2, *, rate: int = 16_000, channels: int = 1, width: int = 2) -> bytes:
    """A WAV file of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(width)
        out.setframerate(rate)
        out.writeframes((b"\x80" if width == 1 else b"\0" * width) * int(seconds * rate) * channels)
    return file.getvalue()


def _messages(served: Served) -> list[tuple[str, str, str | None]]:
    kept = served.client.get("/v1/sessions/device/messages").json()["items"]
    return [(each["role"], each["text"], each["action"]) for each in kept]


@pytest.fixture
def model() -> ScriptedChat:
    return ScriptedChat(respond=lambda asked: "IGNORE" if "static" in asked.turns[-1].text else "Nice to know, Alex.")


@pytest.fixture
def device(tmp_path: Path, model: ScriptedChat) -> Iterator[Served]:
    with serving(tmp_path, preset="lobug", chat=model) as server:
        yield server


def _alex(asked: ReceivedRequest) -> str:
    """A chat model that knows the user's name only if the prompt contains it."""
    told = "\n".join(str(each.get("content")) for each in asked.body["messages"])
    last = str(asked.body["messages"][-1]["content"])
    if "JSON" in told and "fact" in told.casefold() and "voice assistant" not in told:
        return (
            '[{"fact": "The user\'s name is Alex", "type": "personal"}, {"fact": "The user works at NASA", "type": "personal"}]'
        )
    if "remember my name" in last:
        memories = told.partition("[Relevant memories]")[2]
        return "Yes, you are Alex." if "Alex" in memories else "No."
    return "Nice to know, Alex. What can I help with?"


def _curl(url: str, body: dict[str, Any]) -> Any:
    """Send a request with curl, as the design's verification script does."""
    command = ["curl", "-s", "-X", "POST", f"{url}/chat/text", "-H", "Content-Type: application/json", "-d", json.dumps(body)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)


@pytest.mark.long
@pytest.mark.ledger("L2")
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_name_told_before_a_restart_is_known_after_it(tmp_path: Path) -> None:
    with ChatServer(respond=_alex) as model:
        environment = {"HOLDFAST_CHAT_URL": model.url, "HOLDFAST_PRESET": "lobug", "NO_PROXY": "*"}
        chat = ("--chat", "ollama:llama3.2")
        with process(tmp_path, *chat, **environment) as server:
            url = server.url.replace("127.0.0.1", "localhost")
            health = json.loads(subprocess.run(["curl", "-s", f"{url}/health"], capture_output=True, check=True).stdout)
            assert (health["status"], health["ollama"]) == ("ok", True)
            first = _curl(url, {"text": "My name is Alex and I work at NASA"})
            assert first == {"response": "Nice to know, Alex. What can I help with?", "action": "RESPOND"}
            eventually(lambda: httpx.get(f"{server.url}/v1/memories").json()["total"] >= 2)
            assert server.stop() == 0
        with process(tmp_path, *chat, **environment) as server:
            again = _curl(server.url.replace("127.0.0.1", "localhost"), {"text": "Do you remember my name?"})
            said = httpx.get(f"{server.url}/v1/sessions/device/messages").json()["items"]
    assert again == {"response": "Yes, you are Alex.", "action": "RESPOND"}
    assert [each["role"] for each in said] == ["user", "assistant"] * 2


def test_a_message_that_the_model_marks_as_noise_is_stored_and_not_learned_from(device: Served) -> None:
    device.client.post("/chat/text", json={"text": "My name is Alex"})
    answer = device.client.post("/chat/text", json={"text": "my name is static"}).json()
    assert answer == {"response": "", "action": "IGNORE"}
    assert _messages(device)[2:] == [("user", "my name is static", "IGNORE"), ("assistant", "IGNORE", "IGNORE")]
    device.client.post("/v1/work")
    learnt = [each["text"] for each in device.client.get("/v1/memories").json()["items"]]
    assert not [text for text in learnt if "static" in text]


def test_noise_is_not_in_the_next_prompt(device: Served, model: ScriptedChat) -> None:
    device.client.post("/chat/text", json={"text": "my name is static"})
    device.client.post("/chat/text", json={"text": "Hello"})
    assert "static" not in model.asked[-1].text


def test_noise_does_not_empty_the_working_memory(device: Served, model: ScriptedChat) -> None:
    device.client.post("/chat/text", json={"text": "My name is Alex"})
    for _ in range(12):
        device.client.post("/chat/text", json={"text": " "})
    device.client.post("/chat/text", json={"text": "What did I just say?"})
    assert [turn.text for turn in model.asked[-1].turns[1:]] == ["My name is Alex", "Nice to know, Alex.", "What did I just say?"]


@pytest.mark.ledger("L1")
def test_the_conversation_can_be_cleared_and_the_log_stays(device: Served, model: ScriptedChat) -> None:
    device.client.post("/chat/text", json={"text": "My name is Alex"})
    assert device.client.delete("/chat/history").json() == {"status": "ok"}
    device.client.post("/chat/text", json={"text": "Hello again"})
    assert [turn.text for turn in model.asked[-1].turns[1:]] == ["Hello again"]
    assert len(_messages(device)) == 4


@pytest.mark.ledger("L8")
def test_the_personality_is_a_setting_and_noise_is_still_explained(tmp_path: Path, model: ScriptedChat) -> None:
    with serving(tmp_path, preset="lobug", chat=model, settings=Settings(persona="You are Lo-Bug, a grumpy beetle.")) as server:
        assert server.client.post("/chat/text", json={"text": "Hello"}).json()["action"] == "RESPOND"
        system = model.asked[-1].turns[0].text
        assert system.startswith("You are Lo-Bug, a grumpy beetle.")
        assert "IGNORE" in system
        assert "voice assistant" not in system


@pytest.mark.ledger("L3")
def test_without_a_model_the_device_still_learns(tmp_path: Path) -> None:
    with serving(tmp_path, preset="lobug") as server:
        answer = server.client.post("/chat/text", json={"text": "My name is Alex and I work at NASA."})
        assert (answer.status_code, answer.json()["code"]) == (503, "no_chat_model")
        server.client.post("/v1/work")
        learned = [each["text"] for each in server.client.get("/v1/memories").json()["items"]]
        assert any("NASA" in text for text in learned)


def test_an_empty_message_is_ignored_without_a_model_call(device: Served, model: ScriptedChat) -> None:
    assert device.client.post("/chat/text", json={"text": "  "}).json()["action"] == "IGNORE"
    assert model.asked == []
    assert [action for _, _, action in _messages(device)] == ["IGNORE", "IGNORE"]


def test_sensor_readings_are_in_the_prompt(device: Served, model: ScriptedChat) -> None:
    readings = {"device_orientation": "face_up", "battery": {"level": 80}, "charging": False}
    assert device.client.post("/context/sensors", json=readings).json() == {"status": "ok"}
    device.client.post("/chat/text", json={"text": "Hello"})
    line = "[Current physical state: Device orientation: face_up, Battery level: 80, Charging: no]"
    assert line in model.asked[-1].text


def test_sensor_readings_must_be_a_json_object(device: Served) -> None:
    answer = device.client.post("/context/sensors", json=[1, 2])
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_sensor_readings_become_one_line_that_cannot_close_a_block() -> None:
    line = format_readings({"note": "a]\n[b", "<tag>": ["x", 1], "none": None, "deep": {"a": {"b": 2}}})
    assert "\n" not in line
    assert line.startswith("Note: a] [b, ")
    assert line.endswith("Deep a b: 2")


@pytest.mark.parametrize("shape", ["file", "audio", "raw"])
def test_a_recording_is_heard_and_answered(tmp_path: Path, model: ScriptedChat, shape: str) -> None:
    hears = Hears("My name is Alex")
    with serving(tmp_path, preset="lobug", chat=model, transcriber=hears) as server:
        if shape == "raw":
            answer = server.client.post("/chat/audio", content=recording(), headers={"content-type": "audio/wav"})
        else:
            answer = server.client.post("/chat/audio", files={shape: ("a.wav", recording(), "audio/wav")})
        assert answer.json() == {"response": "Nice to know, Alex.", "action": "RESPOND", "transcription": "My name is Alex"}
        assert _messages(server)[0] == ("user", "My name is Alex", None)
    assert hears.recordings == [recording()]


@pytest.mark.parametrize("heard", ["", " [BLANK_AUDIO] ", "um, uh...", "(music)", "Eh... este..."])
def test_a_recording_of_nothing_is_ignored_and_logged(tmp_path: Path, model: ScriptedChat, heard: str) -> None:
    with serving(tmp_path, preset="lobug", chat=model, transcriber=Hears(heard)) as server:
        answer = server.client.post("/chat/audio", content=recording(), headers={"content-type": "audio/wav"}).json()
        assert (answer["response"], answer["action"]) == ("", "IGNORE")
        assert [action for _, _, action in _messages(server)] == ["IGNORE", "IGNORE"]
    assert model.asked == []


@pytest.mark.parametrize("said", ["Hello", "uh, hello?", "5", "¿Qué?", "no"])
def test_a_message_with_a_word_is_not_noise(said: str) -> None:
    assert not is_noise(said)


def test_the_error_without_a_transcriber_says_what_to_set(device: Served) -> None:
    answer = device.client.post("/chat/audio", content=recording(), headers={"content-type": "audio/wav"})
    assert (answer.status_code, answer.json()["code"]) == (503, "no_transcriber")
    assert "pocketsphinx" in answer.json()["detail"]
    assert "openai:whisper-1" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"json": {"audio": "x"}}, 415, "unsupported"),
        ({"content": b"", "headers": {"content-type": "audio/wav"}}, 400, "invalid_input"),
        ({"files": {"other": b"x"}}, 400, "invalid_input"),
        ({"content": b"--x\r\nbroken", "headers": {"content-type": "multipart/form-data; boundary=x"}}, 400, "invalid_input"),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data"}}, 400, "invalid_input"),
    ],
)
def test_an_invalid_recording_is_refused(tmp_path: Path, options: dict[str, Any], status: int, code: str) -> None:
    with serving(tmp_path, chat=ScriptedChat("ok"), transcriber=Hears("hi")) as server:
        answer = server.client.post("/chat/audio", **options)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_recording_over_the_limit_is_too_large(tmp_path: Path) -> None:
    with serving(tmp_path, transcriber=Hears("hi")) as server:
        answer = server.client.post("/chat/audio", content=bytes(33 << 20), headers={"content-type": "audio/wav"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.long
@pytest.mark.parametrize("form", [{}, {"rate": 44_100, "channels": 2}, {"rate": 8_000, "width": 1}, {"width": 4}])
def test_the_local_transcriber_hears_nothing_in_silence(form: dict[str, int]) -> None:
    pytest.importorskip("pocketsphinx")
    assert is_noise(PocketSphinxTranscriber().transcribe(recording(1.0, **form)))


def test_health_shows_more_to_callers_with_more_rights(served: Served) -> None:
    inside = served.client.get("/health").json()
    assert (inside["status"], inside["chat"], inside["queue"]["queued"]) == ("ok", "none", 0)
    served.key("admin")
    assert served.client.get("/health").json() == {"status": "ok"}


@pytest.mark.long
def test_a_model_server_that_is_gone_shows_in_health(tmp_path: Path) -> None:
    with process(tmp_path, "--chat", "ollama:llama3.2", HOLDFAST_CHAT_URL="http://127.0.0.1:9/v1") as server:
        health = httpx.get(f"{server.url}/health").json()
    assert (health["status"], health["ollama"]) == ("degraded", False)
