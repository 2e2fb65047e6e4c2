"""Routes for the server's models: which models are configured, whether they work, choosing others, and the local Ollama server."""

import io
import time
import tomllib
import wave
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field

from holdfast.chat import Turn, spend_of, usage_of
from holdfast.config.model_choice import ModelRole, choices, choose_model, chosen_for_next_start
from holdfast.config.ollama import find_ollama
from holdfast.config.readiness import model_problems
from holdfast.config.settings import Settings
from holdfast.errors import ModelError
from holdfast.models.transcribers import Transcriber
from holdfast.protocols import Candidate
from holdfast.server.api.openapi import problems
from holdfast.server.api.requests import Body
from holdfast.server.api.responses import Model, TextCode
from holdfast.server.caller import Caller, Calling, needs
from holdfast.server.middleware.threads import run_chat
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types.translatable import translatable

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)
_Role = Annotated[ModelRole, Path(description="The role of the model.")]
_TEST_SECONDS = 30.0
"""Maximum time that the test of a chat model waits."""


class ConfiguredModel(Model):
    """The model configured for a role, such as `chat` or `embedder`."""

    role: ModelRole
    """`chat` replies and extracts, `embedder` searches by meaning, `reranker` sorts hits, `reader` extracts without a chat model,
    and `transcriber` understands recordings."""
    name: Annotated[str | None, Field(examples=["ollama:llama3.2"])] = None
    """The name of the model, or null if none is configured."""
    problem: str | None = None
    """Why the model cannot be used now, or null. No model was called to find out."""
    problem_code: TextCode | None = None
    """The code and the values for translating `problem`, or null."""
    next: Annotated[str | None, Field(examples=["ollama:llama3.2"])] = None
    """The model that the settings file names for the next start, if it is another one. Otherwise null."""
    set_by: Annotated[str | None, Field(examples=["HOLDFAST_CHAT"])] = None
    """The variable that sets the model, or `argument`. Null if the model can be chosen with `PUT /v1/models/{role}`."""
    choices: Annotated[list[str], Field(examples=[["none", "talk-embed-s"]])]
    """The models of this role that are on the server's machine, and `none`. Models of providers, such as `openai:gpt-4o-mini`, also work."""


class ChosenModel(Body):
    """The model that the server should use after its next start."""

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["ollama:llama3.2"])]
    """The name of the model, or `none`."""


class SavedModel(Model):
    """The model that the server will use after its next start."""

    role: ModelRole
    """The role of the model."""
    name: str
    """The name of the model."""
    place: Annotated[str, Field(examples=["/home/ana/.holdfast/holdfast.toml"])]
    """The settings file that names the model now."""


class ModelList(Model):
    """The models of the server."""

    items: list[ConfiguredModel]
    """One entry per role."""


class ModelTest(Model):
    """The result of a test: one call to a model."""

    role: ModelRole
    """The role of the model."""
    name: str | None = None
    """The name of the model, or null if none is configured."""
    ok: bool
    """True if the model answered."""
    milliseconds: float
    """The duration of the call, including the time to load the model."""
    detail: Annotated[str, Field(examples=["384 numbers per vector"])]
    """What the model answered, or why it did not."""
    detail_code: TextCode | None = None
    """The code and the values for translating `detail`, or null."""


class LocalOllama(Model):
    """Result of the search for an Ollama server on the machine of the Holdfast server."""

    found: bool
    """True if an Ollama server answered."""
    url: Annotated[str | None, Field(examples=["http://127.0.0.1:11434"])] = None
    """The address of the Ollama server, or null."""
    models: Annotated[list[str], Field(examples=[["llama3.2:latest"]])]
    """The names of its models."""


@router.get("/models", operation_id="list_models", responses=problems(), openapi_extra=needs("admin"))
def models(caller: Calling, request: Request) -> ModelList:
    """List models.

    Returns the configured model of each role and whether it can be used. The key must be an admin key of the operator.
    """
    caller.operate()
    chosen: Settings = request.app.state.settings
    names = _names(caller, request)
    known = {each.setting: str(each.error) for each in model_problems(chosen, caller.memory.preset)}
    parts = services(caller.memory)
    known |= {name: text for name, text in (("embedder", parts.embedding.problem), ("reranker", parts.reranking.problem)) if text}
    items = [_configured(role, name, known.get(role)) for role, name in names.items()]
    return ModelList(items=[_with_choice(each, chosen, request) for each in items])


@router.put("/models/{role}", operation_id="choose_model", responses=problems(409), openapi_extra=needs("admin"))
def choose(role: _Role, body: ChosenModel, caller: Calling, request: Request) -> SavedModel:
    """Choose a model.

    Checks that the model can be used, and saves its name in the settings file. The server uses it from its next start. If a variable
    or an argument of the command line sets the model, nothing is changed. The key must be an admin key of the operator.
    """
    caller.operate()
    state, name = request.app.state, body.name.strip()
    path = choose_model(role, name, state.settings, caller.memory.preset, set_at_start=state.set_at_start)
    return SavedModel(role=role, name=name, place=str(path))


@router.post("/models/{role}/test", operation_id="test_model", responses=problems(), openapi_extra=needs("admin"))
async def test_model(role: _Role, caller: Calling, request: Request) -> ModelTest:
    """Test a model.

    Calls the model once. A call to a chat model is counted as spend with the purpose `test`. The key must be an admin key of the
    operator.
    """
    caller.operate()
    return await run_chat(request, partial(_test, role, caller, request))


@router.get("/ollama", operation_id="find_ollama", responses=problems(), openapi_extra=needs("admin"))
def ollama(caller: Calling) -> LocalOllama:
    """Find a local Ollama server.

    Looks for Ollama on the machine of the Holdfast server only, and waits half a second at most. The key must be an admin key
    of the operator.
    """
    caller.operate()
    found = find_ollama()
    return LocalOllama(found=found is not None, url=found.url if found else None, models=list(found.models) if found else [])


def _configured(role: ModelRole, name: str | None, problem: str | None) -> ConfiguredModel:
    if name is None:
        return ConfiguredModel(role=role, choices=[])
    return ConfiguredModel(role=role, name=name, problem=problem, problem_code=TextCode.of(problem), choices=[])


def _with_choice(model: ConfiguredModel, settings: Settings, request: Request) -> ConfiguredModel:
    """Return a copy of a configured model, completed with the models that can be chosen instead.

    ``choices`` lists the local models and ``none``. ``next`` is the model for the next start if it is another one.

    If an environment variable or an argument sets the model, no other model can be chosen. Both fields then stay empty, and
    ``set_by`` is the name of the variable, or ``argument``.
    """
    fixed = request.app.state.set_at_start.get(model.role)
    more = {"next": chosen_for_next_start(model.role, settings), "choices": choices(model.role)}
    return model.model_copy(update=more if fixed is None else {"set_by": fixed or "argument"})


def _names(caller: Caller, request: Request) -> dict[ModelRole, str | None]:
    parts, transcriber = services(caller.memory), request.app.state.transcriber
    reader = parts.sentence_reader
    return {
        "chat": parts.chat.name,
        "embedder": parts.embedding.name,
        "reranker": parts.reranking.name,
        "reader": reader.name if reader else None,
        "transcriber": transcriber.name if transcriber else None,
    }


def _test(role: ModelRole, caller: Caller, request: Request) -> ModelTest:
    name = _names(caller, request)[role]
    tests: dict[ModelRole, Callable[[], str]] = {
        "chat": partial(_ask_chat, caller),
        "embedder": partial(_embed, caller),
        "reranker": partial(_rerank, caller),
        "reader": partial(_read, caller),
        "transcriber": partial(_transcribe, request.app.state.transcriber),
    }
    started, ok = time.perf_counter(), False
    try:
        detail = tests[role]() if name else translatable("test.none", "No model is configured.")
        ok = name is not None
    except ModelError as error:
        detail = str(error)
    took = 1000 * (time.perf_counter() - started)
    return ModelTest(role=role, name=name, ok=ok, milliseconds=took, detail=detail, detail_code=TextCode.of(detail))


@cache
def _prompts() -> dict[str, str]:
    return tomllib.loads((FilePath(__file__).parent / "model_test.toml").read_text("utf-8"))


def _ask_chat(caller: Caller) -> str:
    parts = services(caller.memory)
    parts.chat.presence.end_pauses()
    model, problem = parts.chat.model()
    if model is None:
        raise ModelError(problem or translatable("test.no_chat", "The chat model is not available."))
    usage = None
    try:
        reply = model.chat([Turn(role="user", text=_prompts()["chat"])], max_tokens=64, timeout=_TEST_SECONDS)
        usage = reply.usage
        return reply.text.strip()[:200] or translatable("test.no_text", "The model answered without text.")
    except ModelError as error:
        usage = usage_of(error)
        raise
    finally:
        if usage is not None and usage.calls:
            with parts.store.write() as tx:
                tx.add_spend(spend_of(usage, day=parts.clock.now(), purpose="test", model=model.name))


def _embed(caller: Caller) -> str:
    embedding = services(caller.memory).embedding
    embedding.model.retry()
    embedder = embedding.embedder()
    if embedder is None:
        raise ModelError(embedding.problem or translatable("test.no_embedder", "The embedder is not available."))
    return translatable(
        "test.numbers", "{n} numbers per vector", n=len(embedder.embed([_prompts()["sentence"]], role="query")[0])
    )


def _rerank(caller: Caller) -> str:
    parts, prompts = services(caller.memory), _prompts()
    now = parts.clock.now()
    candidates = [Candidate(text=prompts[name], at=now) for name in ("sentence", "unrelated")]
    ratings = parts.reranking.rate(prompts["question"], candidates, now=now)
    return ", ".join("none" if each is None else f"{each:.2f}" for each in ratings)


def _read(caller: Caller) -> str:
    reader = services(caller.memory).sentence_reader
    assert reader is not None
    return str(reader.read(_prompts()["sentence"]))[:200]


def _transcribe(transcriber: Transcriber) -> str:
    """Test a transcriber with half a second of silence. Return the text that the transcriber found.

    If the transcriber found no text, return a sentence that says that this is the correct result.
    """
    recording = io.BytesIO()
    with wave.open(recording, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(16_000))
    return transcriber.transcribe(recording.getvalue()).strip()[:200] or translatable(
        "test.silence", "The model answered without text, as it should for silence."
    )
