"""Speech into text: by a server that speaks as OpenAI does, or by PocketSphinx on this machine."""

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

__all__ = ["OpenAITranscriber", "PocketSphinxTranscriber", "Transcriber", "find_transcriber", "transcriber_key"]

_SPHINX_RATE: Final = 16_000
_MAX_SECONDS: Final = 600


class Transcriber(Protocol):
    """Turns a recording into the words that were said."""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        ...

    def transcribe(self, recording: bytes) -> str:
        """Return what was said, or nothing where nothing was."""
        ...


def find_transcriber(name: str, url: str | None = None, key: str | None = None) -> Transcriber | None:
    """Return a transcriber by its name in the settings; nothing is imported or called before the first recording."""
    provider, _, model = name.partition(":")
    if name.casefold() == "none":
        return None
    if name.casefold() == "pocketsphinx":
        return PocketSphinxTranscriber()
    known = PROVIDERS.get(provider.casefold())
    if not model or (known is None and url is None) or (known is not None and known.package != "openai"):
        raise ModelUnknown(f"There is no transcriber {name!r}; there are openai:whisper-1, pocketsphinx and none.")
    address = url or (known.base_url if known else "")
    variable = known.key_variable if known and url is None else None
    return OpenAITranscriber(Service(name=name, model=model, base_url=address, key=key, key_variable=variable))


def transcriber_key(name: str) -> str | None:
    """Return the environment variable that holds the key for a transcriber, None where there is none."""
    return key_variable(name) if ":" in name else None


class OpenAITranscriber:
    """Transcribes over HTTP, at ``/audio/transcriptions``. Safe to use from several threads and after a fork."""

    def __init__(self, service: Service, *, patience: RetryPolicy | None = None, timeout: float = 60.0) -> None:
        self._connection = ProviderConnection(service, package="openai", connect=connect_openai)
        self._patience = patience or RetryPolicy()
        self._timeout = timeout

    @property
    def name(self) -> str:
        """Its full name, such as ``openai:whisper-1``."""
        return self._connection.service.name

    def transcribe(self, recording: bytes) -> str:
        """Send a recording and return its words."""
        file = ("recording.wav", recording, "audio/wav")
        request = {"model": self._connection.service.model, "file": file, "response_format": "json"}
        budget = CallBudget(self._patience, timeout=self._timeout, price=None)
        while True:
            try:
                text = self._connection.json(_send, request, budget).get("text")
            except Fault as fault:
                budget.wait_and_call_again(fault)
            else:
                if not isinstance(text, str):
                    raise AnswerInvalid(f"{self.name} gave no text for the recording.")
                return text

    def close(self) -> None:
        """Let go of open connections."""
        self._connection.close()


def _send(client: Any) -> Callable[..., Any]:
    return client.audio.transcriptions.with_streaming_response.create  # type: ignore[no-any-return]


class PocketSphinxTranscriber:
    """Transcribes on this machine, in English, with the model that the package brings. One recording at a time."""

    name = "pocketsphinx"

    def __init__(self) -> None:
        self._decoder: Any = None
        self._lock = threading.Lock()
        forks.register(self)

    def after_fork(self) -> None:
        """Make a new lock: the old one may be held by a thread that is not here."""
        self._lock = threading.Lock()

    def transcribe(self, recording: bytes) -> str:
        """Return the words of a WAV recording; only what sounds like speech is looked at, as it hears words in silence."""
        samples = read_wav(recording, rate=_SPHINX_RATE)
        sphinx = _sphinx()
        with self._lock:
            if self._decoder is None:
                self._decoder = sphinx.Decoder(samprate=_SPHINX_RATE, loglevel="FATAL")
            found = [self._words(speech) for speech in _utterances(sphinx, samples)]
        return " ".join(words for words in found if words)

    def _words(self, speech: bytes) -> str:
        self._decoder.start_utt()
        self._decoder.process_raw(speech, full_utt=True)
        self._decoder.end_utt()
        found = self._decoder.hyp()
        return str(found.hypstr) if found is not None else ""


def _utterances(sphinx: Any, samples: bytes) -> Iterator[bytes]:
    """Cut out the stretches in which somebody speaks."""
    ears = sphinx.Endpointer(sample_rate=_SPHINX_RATE)
    size, speech = ears.frame_bytes, b""
    whole = len(samples) - len(samples) % size
    for start in range(0, whole, size):
        speech += ears.process(samples[start : start + size]) or b""
        if speech and not ears.in_speech:
            yield speech
            speech = b""
    if ears.in_speech:
        speech += ears.end_stream(samples[whole:]) or b""
    if speech:
        yield speech


def _sphinx() -> Any:
    try:
        return importlib.import_module("pocketsphinx")
    except ImportError as error:
        raise ExtraMissing("PocketSphinx is not installed: pip install 'holdfast[pocketsphinx]'") from error


def read_wav(recording: bytes, *, rate: int) -> bytes:
    """Return a WAV recording as 16-bit samples of one channel at this rate."""
    try:
        with wave.open(io.BytesIO(recording)) as file:
            channels, width, own = file.getnchannels(), file.getsampwidth(), file.getframerate()
            frames = file.readframes(min(file.getnframes(), _MAX_SECONDS * own))
    except (wave.Error, EOFError, ValueError) as error:
        raise InvalidInput(f"The recording is no WAV file that can be read: {error or 'it ends too early'}.") from error
    if width not in (1, 2, 4) or own < 1 or channels < 1:
        raise InvalidInput("The recording must have samples of 8, 16 or 32 bits.")
    kinds = {1: np.uint8, 2: np.int16, 4: np.int32}
    whole = frames[: len(frames) - len(frames) % (width * channels)]
    samples = np.frombuffer(whole, dtype=kinds[width]).astype(np.float64).reshape(-1, channels).mean(axis=1)
    samples = (samples - 128) * 256 if width == 1 else samples / 65536 if width == 4 else samples
    if own != rate and len(samples):
        places = np.arange(0, len(samples), own / rate)
        samples = np.interp(places, np.arange(len(samples)), samples)
    return bytes(samples.clip(-32768, 32767).astype("<i2").tobytes())
