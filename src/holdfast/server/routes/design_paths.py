"""Routes for chat, sensors and health, with the paths (such as ``/chat/text``) and field names of the Lo-Bug design."""

import socket
from contextlib import closing
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Body, Request
from pydantic import ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from holdfast.access.keys import authorize
from holdfast.config.settings import Settings
from holdfast.errors import HoldfastError, InvalidInput, NoTranscriber
from holdfast.models.remote.providers import PROVIDERS
from holdfast.models.transcribers import Transcriber
from holdfast.server.api import requests
from holdfast.server.api.openapi import problems
from holdfast.server.api.problem import Refused, problem_response
from holdfast.server.api.responses import Model
from holdfast.server.caller import Caller, Calling, needs
from holdfast.server.middleware.security import principal_of
from holdfast.server.middleware.threads import run_chat
from holdfast.server.routes import device, stats
from holdfast.server.routes.idempotency import Route
from holdfast.services import services

router = APIRouter(tags=["device"], route_class=Route)

_AUDIO = ("audio/", "application/octet-stream")
_FILES = ("file", "audio")
_RECORDING = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {"file": {"type": "string", "format": "binary", "minLength": 1}},
                "required": ["file"],
                "description": "The recording. The field may also be named `audio`.",
            }
        },
        "audio/wav": {"schema": {"type": "string", "format": "binary", "minLength": 1}},
    },
}


class Said(Model):
    """The reply of the device. The text is empty if the user was not speaking to the device."""

    response: Annotated[str, Field(examples=["Nice to know, Alex."])]
    """The text to speak. Empty if the user was not speaking to the device."""
    action: Literal["RESPOND", "IGNORE"]
    """`IGNORE` if the user was not speaking to the device, otherwise `RESPOND`."""


class Heard(Said):
    """The reply to a recording, with its transcription."""

    transcription: Annotated[str, Field(examples=["My name is Alex and I work at NASA"])]
    """The recognized text."""


class Ok(Model):
    """The request succeeded."""

    status: Literal["ok"] = "ok"
    """Always `ok`."""


class Health(Model):
    """The health of the server. Fields other than `status` are only returned to callers who may read the whole tenant."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    status: Literal["ok", "degraded"]
    """`ok`, or `degraded` if recall cannot use a model, or if the local Ollama server cannot be reached."""
    notices: list[str] | None = None
    """Notices about parts that recall cannot use now, such as `Searched by words only: ...`."""
    ollama: bool | None = None
    """True if the Ollama server accepts connections. Only set if Ollama provides the chat model."""
    chat: str | None = None
    """The name of the chat model, or `none`."""
    embedder: str | None = None
    """The name of the embedder, or `none`."""
    store: str | None = None
    """The location of the store."""
    queue: dict[str, int] | None = None
    """The number of jobs by state. `waiting_for_model` counts the queued jobs that wait until the chat model answers again."""


@router.post("/chat/text", operation_id="chat_text", responses=problems(chat=True), openapi_extra=needs("write"))
async def chat_text(body: requests.ChatText, caller: Calling, request: Request) -> Said:
    """Send text to the device.

    Returns the reply. The message and the reply are durable when the response is sent; memories are extracted later.
    Without a chat model, the message is stored, memories are extracted from it, and the status is 503.
    """
    parts = caller.may("write")
    if not body.text.strip():
        return _said(await run_in_threadpool(device.ignore, caller, parts, body.text))
    return _said(
        await run_chat(request, partial(device.answer, caller, parts, body.text, persona=request.app.state.settings.persona))
    )


@router.post(
    "/chat/audio",
    operation_id="chat_audio",
    responses=problems(chat=True),
    openapi_extra={**needs("write"), "requestBody": _RECORDING},
)
async def chat_audio(caller: Calling, request: Request) -> Heard:
    """Send a recording to the device.

    Send the recording as a multipart form, or as the bytes of a WAV file. It is transcribed and then handled like text.
    """
    parts = caller.may("write")
    transcriber = _transcriber(request)
    recording = await _recording(request)
    text = (await run_chat(request, partial(transcriber.transcribe, recording))).strip()
    answer = partial(device.answer, persona=request.app.state.settings.persona)
    reply = await run_chat(request, partial(device.ignore if device.is_noise(text) else answer, caller, parts, text))
    return Heard(response=reply.response, action=_action(reply), transcription=text)


@router.delete("/chat/history", operation_id="clear_chat", responses=problems(), openapi_extra=needs("write"))
def clear_chat(caller: Calling) -> Ok:
    """Clear the conversation of the device.

    The model no longer sees the existing messages. They stay stored, and memories are kept.
    """
    device.clear(caller, caller.may("write"))
    return Ok()


@router.post("/context/sensors", operation_id="sensors", responses=problems(), openapi_extra=needs("write"))
def sensors(
    readings: Annotated[dict[str, Any], Body(examples=[{"orientation": "face_up", "battery": 80}])], caller: Calling
) -> Ok:
    """Update the sensor readings.

    Stores the current readings of the device. They are included in the prompts of the following messages.
    """
    device.store_readings(caller, caller.may("write"), readings)
    return Ok()


@router.get("/health", operation_id="health", response_model_exclude_none=True, responses=problems())
def health(request: Request) -> Health:
    """Check the health of the server.

    No key is required. Callers who may read the whole tenant also see its models, its store and its job queue.
    """
    try:
        principal = principal_of(request.scope)
        authorize(principal, "read", whole=True)
    except HoldfastError:
        return Health(status="degraded" if services(request.app.state.pool.operator).reader.notices else "ok")
    with closing(Caller(principal, request.app.state.pool)) as caller:
        return _inside(caller, request.app.state.settings)


def _inside(caller: Caller, settings: Settings) -> Health:
    memory = caller.memory
    chat = services(memory).chat.name
    queue = stats.queue(memory.stats()).model_dump()
    ollama = _listens(settings.chat_url or PROVIDERS["ollama"].base_url) if (chat or "").startswith("ollama:") else None
    notices = services(memory).reader.notices
    return Health(
        status="degraded" if ollama is False or notices else "ok",
        notices=notices,
        ollama=ollama,
        chat=chat or "none",
        embedder=services(memory).embedding.name or "none",
        store=services(memory).store.location,
        queue=queue,
    )


def _listens(url: str) -> bool:
    """Return True if a TCP connection to the URL succeeds."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "localhost", port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _transcriber(request: Request) -> Transcriber:
    found: Transcriber | None = request.app.state.transcriber
    if found is None:
        raise NoTranscriber(
            "No transcriber is configured, so recordings cannot be understood. Set transcriber to openai:whisper-1 (with "
            "transcriber_url for your own server), or to pocketsphinx after pip install 'holdfast-memory[pocketsphinx]'."
        )
    return found


async def _recording(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind.startswith(_AUDIO):
        found = await request.body()
    elif kind == "multipart/form-data":
        found = await _uploaded(request)
    else:
        raise Refused(
            problem_response(415, "unsupported", "Send the recording as audio/wav, or as `file` in multipart/form-data.")
        )
    if not found:
        raise InvalidInput("The recording is empty. Send the bytes of a WAV file.")
    return found


async def _uploaded(request: Request) -> bytes:
    async with request.form(max_files=4, max_fields=16) as form:
        files = [form.get(name) for name in _FILES]
        upload = next((each for each in files if isinstance(each, UploadFile)), None)
        if upload is None:
            raise InvalidInput("The form has no recording. Send it in the field `file` or `audio`.")
        return await upload.read()


def _said(spoken: device.DeviceReply) -> Said:
    return Said(response=spoken.response, action=_action(spoken))


def _action(spoken: device.DeviceReply) -> Literal["RESPOND", "IGNORE"]:
    return "IGNORE" if spoken.action == device.IGNORE else "RESPOND"
