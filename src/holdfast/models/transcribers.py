"""Speech to text, through an OpenAI-compatible server or with PocketSphinx on this machine."""

import importlib
import io
import threading
import wave
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import numpy as np

from holdfast.errors import AnswerInvalid, ExtraMissing, InvalidInput, ModelUnknown
from holdfast.models.remote.connection import ProviderConnection
from holdfast.models.remote.faults import Service
from holdfast.models.remote.openai_chat import connect_openai
from holdfast.models.remote.providers import PROVIDERS, key_variable
from holdfast.models.remote.retrying import CallBudget, Fault, RetryPolicy
from holdfast.runtime import forks
from holdfast.types.translatable import translatable

__all__ = ["OpenAITranscriber", "PocketSphinxTranscriber", "Transcriber", "find_transcriber", "transcriber_key"]

_SPHINX_RATE: Final = 16_000
"""Sample rate that PocketSphinx expects, in samples per second."""
_MAX_SECONDS: Final = 600
"""Maximum length of a recording, in seconds. The rest of a longer recording is ignored."""


class Transcriber(Protocol):
    """Converts a recording to text."""

    @property
    def name(self) -> str:
        """The name used in the settings."""
        ...

    def transcribe(self, recording: bytes) -> str:
        """Return the text of a recording, or an empty string if it contains no speech."""
        ...


def find_transcriber(name: str, url: str | None = None, key: str | None = None) -> Transcriber | None:
    """Return a transcriber by its name in the settings, or None for ``none``. Nothing is loaded before the first recording."""
    provider, _, model = name.partition(":")
    if name.casefold() == "none":
        return None
    if name.casefold() == "pocketsphinx":
        return PocketSphinxTranscriber()
    known = PROVIDERS.get(provider.casefold())
    if not model or (known is None and url is None) or (known is not None and known.package != "openai"):
        raise ModelUnknown(
            translatable(
                "model.transcriber",
                "Unknown transcriber {name!r}. Use PROVIDER:MODEL such as openai:whisper-1, pocketsphinx or none.",
                name=name,
            )
        )
    address = url or (known.base_url if known else "")
    variable = known.key_variable if known and url is None else None
    return OpenAITranscriber(Service(name=name, model=model, base_url=address, key=key, key_variable=variable))


def transcriber_key(name: str) -> str | None:
    """Return the environment variable that holds the API key of a transcriber, or None if it needs no key."""
    return key_variable(name) if ":" in name else None


class OpenAITranscriber:
    """Transcribes at a server's ``/audio/transcriptions`` endpoint. Safe to use from several threads and after a fork."""

    def __init__(self, service: Service, *, retry_policy: RetryPolicy | None = None, timeout: float = 60.0) -> None:
        self._connection = ProviderConnection(service, package="openai", connect=connect_openai)
        self._retry_policy = retry_policy or RetryPolicy()
        self._timeout = timeout

    @property
    def name(self) -> str:
        """The full name, such as ``openai:whisper-1``."""
        return self._connection.service.name

    def transcribe(self, recording: bytes) -> str:
        """Send a recording and return its text."""
        file = ("recording.wav", recording, "audio/wav")
        request = {"model": self._connection.service.model, "file": file, "response_format": "json"}
        budget = CallBudget(self._retry_policy, timeout=self._timeout, price=None)
        while True:
            try:
                text = self._connection.json(_send, request, budget).get("text")
            except Fault as fault:
                budget.wait_before_retry(fault)
            else:
                if not isinstance(text, str):
                    raise AnswerInvalid(f"{self.name} returned no text for the recording.")
                return text

    def close(self) -> None:
        """Close open connections."""
        self._connection.close()


def _send(client: Any) -> Callable[..., Any]:
    return client.audio.transcriptions.with_streaming_response.create  # type: ignore[no-any-return]


class PocketSphinxTranscriber:
    """Transcribes English on this machine, one recording at a time, with the model of the ``pocketsphinx`` package."""

    name = "pocketsphinx"

    def __init__(self) -> None:
        self._decoder: Any = None
        self._lock = threading.Lock()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock, because in the child process a thread that no longer exists may hold the old lock."""
        self._lock = threading.Lock()

    def transcribe(self, recording: bytes) -> str:
        """Return the text of a WAV recording. Pauses are skipped, because the decoder would find words in silence."""
        samples = read_wav(recording, rate=_SPHINX_RATE)
        sphinx = _sphinx()
        with self._lock:
            if self._decoder is None:
                self._decoder = sphinx.Decoder(samprate=_SPHINX_RATE, loglevel="FATAL")
            texts = [self._decode(speech) for speech in _utterances(sphinx, samples)]
        return " ".join(text for text in texts if text)

    def _decode(self, speech: bytes) -> str:
        self._decoder.start_utt()
        self._decoder.process_raw(speech, full_utt=True)
        self._decoder.end_utt()
        hypothesis = self._decoder.hyp()
        return str(hypothesis.hypstr) if hypothesis is not None else ""


def _utterances(sphinx: Any, samples: bytes) -> Iterator[bytes]:
    """Yield the segments of a recording that contain speech."""
    endpointer = sphinx.Endpointer(sample_rate=_SPHINX_RATE)
    size, speech = endpointer.frame_bytes, b""
    whole = len(samples) - len(samples) % size
    for start in range(0, whole, size):
        speech += endpointer.process(samples[start : start + size]) or b""
        if speech and not endpointer.in_speech:
            yield speech
            speech = b""
    if endpointer.in_speech:
        speech += endpointer.end_stream(samples[whole:]) or b""
    if speech:
        yield speech


def _sphinx() -> Any:
    try:
        return importlib.import_module("pocketsphinx")
    except ImportError as error:
        raise ExtraMissing("PocketSphinx is not installed: pip install 'holdfast-memory[pocketsphinx]'") from error


def read_wav(recording: bytes, *, rate: int) -> bytes:
    """Convert a WAV recording to 16-bit mono samples at the given rate."""
    try:
        with wave.open(io.BytesIO(recording)) as file:
            channels, width, source_rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            frames = file.readframes(min(file.getnframes(), _MAX_SECONDS * source_rate))
    except (wave.Error, EOFError, ValueError) as error:
        raise InvalidInput(f"The recording is not a readable WAV file: {error or 'it is truncated'}.") from error
    if width not in (1, 2, 4) or source_rate < 1 or channels < 1:
        raise InvalidInput("The recording must be a WAV file with samples of 8, 16 or 32 bits.")
    dtypes = {1: np.uint8, 2: np.int16, 4: np.int32}
    whole = frames[: len(frames) - len(frames) % (width * channels)]
    samples = np.frombuffer(whole, dtype=dtypes[width]).astype(np.float64).reshape(-1, channels).mean(axis=1)
    samples = (samples - 128) * 256 if width == 1 else samples / 65536 if width == 4 else samples
    if source_rate != rate and len(samples):
        positions = np.arange(0, len(samples), source_rate / rate)
        samples = np.interp(positions, np.arange(len(samples)), samples)
    return bytes(samples.clip(-32768, 32767).astype("<i2").tobytes())
