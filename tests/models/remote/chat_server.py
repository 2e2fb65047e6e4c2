"""A real HTTP server with the APIs of OpenAI, Ollama and Anthropic. It sends scripted replies and failures.

::

    with ChatServer() as server:
        server.script(Refuse(429, retry_after="1"), "Hello.")
        model = chat_model("openai:gpt-4o-mini", base_url=server.url)
        model.chat([Turn(role="user", text="Hi")])
        assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2

Each request uses up the next step of the script. A step is a text (the model's reply) or one of the classes below. When
the script is empty, the reply is "ok". Requests for vectors are answered by ``embedder`` while the next
step is a text, and leave this step in the script. Any other next step, such as ``Refuse``, answers them, too.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from holdfast.testing import HashEmbedder

LONG = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A received request."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Say:
    """Reply with a text and tool calls: ``{"name": ..., "arguments": ...}``. ``tokens=None`` omits the token counts."""

    text: str | None = ""
    tools: Sequence[Mapping[str, Any]] = ()
    cut_off: bool = False
    tokens: tuple[int, int] | None = (11, 7)
    break_off: bool = False
    """True to end the stream early, without an error."""
    complain: Mapping[str, Any] | None = None
    """Error event with which the stream ends, or None for no error."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Respond with an error status, in the provider's format."""

    status: int
    message: str = "no"
    code: str | None = None
    retry_after: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Send:
    """Respond with arbitrary bytes. ``promise`` sets a wrong Content-Length."""

    body: bytes = field(repr=False)
    status: int = 200
    content_type: str | None = "application/json"
    promise: int | None = None


@dataclass(frozen=True, slots=True)
class Flood:
    """Respond with 50 MB."""

    status: int = 200


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection instead of responding."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Send nothing for some seconds, then close the connection."""

    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Drip:
    """Send an endless response byte by byte."""

    seconds: float = 0.02
    status: int = 200


Step = str | Say | Refuse | Send | Flood | Reset | Silence | Drip

MISBEHAVIOR: Mapping[str, Step] = {
    "too many requests": Refuse(429, retry_after="0"),
    "broken": Refuse(500),
    "overloaded": Refuse(529),
    "bad gateway with a page": Send(b"<html><body><h1>502 Bad Gateway</h1></body></html>", 502, "text/html"),
    "refused": Refuse(400, "the prompt is too long"),
    "key refused": Refuse(401, "bad key"),
    "forbidden": Refuse(403, "not for you"),
    "no such model": Refuse(404, "model 'x' not found"),
    "reset": Reset(),
    "half of the body": Send(b'{"choices": [', promise=5000),
    "truncated JSON": Send(b'{"choices": [{"message": {"content": "hel'),
    "a page": Send(b"<!doctype html><title>Sign in</title>", content_type="text/html"),
    "a page called JSON": Send(b"<!doctype html><title>Sign in</title>"),
    "empty": Send(b""),
    "empty with no type": Send(b"", content_type=None),
    "no content": Send(b"", 204),
    "huge": Flood(),
    "huge error": Flood(500),
    "huge complaint": Flood(400),
    "a list": Send(b"[1, 2]"),
    "null": Send(b"null"),
    "a number with too many digits": Send(b"1" * 100_000),
    "nested too deeply": Send(b"[" * 200_000),
    "not UTF-8": Send(b'{"choices": "\xff\xfe\xfa"}'),
    "an object without fields": Send(b"{}"),
    "null fields": Send(b'{"choices": null, "content": null, "data": null, "usage": null}'),
    "no choices": Send(b'{"choices": [], "content": {}, "data": []}'),
    "fields of other types": Send(b'{"choices": [7], "content": "x", "data": [null], "usage": [1]}'),
    "a choice without a message": Send(b'{"choices": [{"message": null}], "usage": {"prompt_tokens": "many"}}'),
    "an error called a success": Send(b'{"error": {"message": "out of memory"}}'),
    "a redirect": Send(b"", 307),
    "a bare event": Send(b"data: {}\n\n", content_type="text/event-stream"),
    "an event that is not JSON": Send(b"data: {oops\n\n", content_type="text/event-stream"),
}
"""Wrong responses. Each must result in a ``ModelError`` within the limits on calls and time."""

ODD_WORDS: Mapping[str, str | None] = {
    "nothing": "",
    "null": None,
    "truncated JSON": '{"facts": [{"text": "Lives in Ly',
    "braces in prose": "Sure! {here} is {what} you {asked: for}",
    "a fenced answer": '```json\n{"facts": []}\n```',
    "a bad escape": '{"text": "caf\\u00zz"}',
    "half a pair": 'half a pair: \ud83d {"a": 1}',
    "a NUL": "a\x00b",
    "line separators": "one\u2028two\u0085three\x0bfour",
    "Spanish": "¿Dónde vive la señora Ibáñez? En Cádiz.",
}
"""Unusual texts. Each is a valid reply; judging its content is up to the caller."""


class ChatServer:
    """Serves on a free port of the loopback interface inside a ``with`` block."""

    def __init__(
        self, embedder: HashEmbedder | None = None, *, respond: "Callable[[ReceivedRequest], Step] | None" = None
    ) -> None:
        self.embedder = embedder or HashEmbedder(dimensions=1536)
        self.respond = respond or (lambda request: "ok")
        """Returns the step for a request when the script is empty."""
        self.requests: list[ReceivedRequest] = []
        self.stopping = threading.Event()
        self._steps: list[Step] = []
        self._turn = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The base URL for every provider."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def bodies(self) -> list[Any]:
        """Bodies of the received requests, in order."""
        return [request.body for request in self.requests]

    def script(self, *steps: Step) -> Self:
        """Add steps to the script. Each request uses up one step."""
        with self._turn:
            self._steps.extend(steps)
        return self

    def forget(self) -> None:
        """Drop the rest of the script."""
        with self._turn:
            self._steps.clear()

    def next_step(self, request: ReceivedRequest) -> Step:
        """Record a request and return the step that answers it."""
        with self._turn:
            self.requests.append(request)
            vectors = request.path.endswith("/embeddings")
            if self._steps and not (vectors and isinstance(self._steps[0], str)):
                return self._steps.pop(0)
            return "ok" if vectors else self.respond(request)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: ChatServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: clients are expected to close connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"null")
        headers = {name.lower(): value for name, value in self.headers.items()}
        step = self.server.owner.next_step(ReceivedRequest(path=self.path, headers=headers, body=body))
        if isinstance(step, str):
            step = Say(step)
        if isinstance(step, Say):
            self._say(step, body)
        elif isinstance(step, Refuse):
            self._refuse(step)
        elif isinstance(step, Send):
            self._send(step)
        elif isinstance(step, Flood):
            self._flood(step)
        elif isinstance(step, Drip):
            self._drip(step)
        elif isinstance(step, Silence):
            self.server.owner.stopping.wait(step.seconds)
            self.close_connection = True
        else:
            self._reset()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, to keep the output of the tests clean."""

    def _json(self, body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self._bytes(json.dumps(body).encode(), status, "application/json", headers or {})

    def _bytes(
        self,
        body: bytes,
        status: int,
        content_type: str | None,
        headers: Mapping[str, str],
        promise: int | None = None,
    ) -> None:
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body) if promise is None else promise))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = promise is not None

    def _send(self, step: Send) -> None:
        headers = {"Location": "http://127.0.0.1:9/elsewhere"} if 300 <= step.status < 400 else {}
        self._bytes(step.body, step.status, step.content_type, headers, step.promise)

    def _refuse(self, step: Refuse) -> None:
        headers = {**step.headers, **({"Retry-After": step.retry_after} if step.retry_after else {})}
        error = {"message": step.message, "type": step.code or "error", "code": step.code, "param": None}
        self._json({"type": "error", "error": error}, step.status, headers)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _begin_long(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(LONG))
        self.end_headers()

    def _flood(self, step: Flood) -> None:
        self._begin_long(step.status)
        for _ in range(LONG // 65536):
            self.wfile.write(b" " * 65535 + b"x")

    def _drip(self, step: Drip) -> None:
        self._begin_long(step.status)
        while not self.server.owner.stopping.wait(step.seconds):
            self.wfile.write(b" ")

    def _say(self, step: Say, body: Any) -> None:
        if self.path.endswith("/embeddings"):
            self._json(_vectors(self.server.owner.embedder, body))
        elif self.path.endswith("/messages"):
            self._events(_anthropic_events(step)) if body.get("stream") else self._json(_anthropic(step))
        elif body.get("stream"):
            self._events(_openai_events(step, counted="stream_options" in body))
        else:
            self._json(_openai(step))

    def _events(self, events: Sequence[Mapping[str, Any] | str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            kind = f"event: {event['type']}\n" if isinstance(event, Mapping) and "type" in event else ""
            data = event if isinstance(event, str) else json.dumps(event)
            chunk = f"{kind}data: {data}\n\n".encode()
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
            time.sleep(0.001)  # so that the client receives more than one chunk
        self.wfile.write(b"0\r\n\r\n")


def _pieces(text: str) -> list[str]:
    return [text[start : start + 7] for start in range(0, len(text), 7)]


def _vectors(embedder: HashEmbedder, body: Any) -> Any:
    if body.get("dimensions"):
        embedder = HashEmbedder(dimensions=body["dimensions"])
    vectors = embedder.embed(body["input"], role="document")
    # Neither normalized nor in order: the API guarantees neither.
    data = [{"object": "embedding", "index": number, "embedding": (row * 3).tolist()} for number, row in enumerate(vectors)]
    words = sum(len(text.split()) for text in body["input"])
    return {
        "object": "list",
        "data": data[::-1],
        "model": body["model"],
        "usage": {"prompt_tokens": words, "total_tokens": words},
    }


def _openai_calls(step: Say) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{n}", "type": "function", "function": {"name": tool["name"], "arguments": _as_json(tool["arguments"])}}
        for n, tool in enumerate(step.tools)
    ]


def _as_json(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _openai_usage(step: Say) -> dict[str, Any]:
    if step.tokens is None:
        return {}
    return {"usage": {"prompt_tokens": step.tokens[0], "completion_tokens": step.tokens[1], "total_tokens": sum(step.tokens)}}


def _openai_finish(step: Say) -> str:
    return "length" if step.cut_off else "tool_calls" if step.tools else "stop"


def _openai(step: Say) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": step.text}
    if step.tools:
        message["tool_calls"] = _openai_calls(step)
    choice = {"index": 0, "message": message, "finish_reason": _openai_finish(step)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        **_openai_usage(step),
    }


def _openai_events(step: Say, *, counted: bool) -> list[Any]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(step.text or "")]
    for number, call in enumerate(_openai_calls(step)):
        arguments = call["function"]["arguments"]
        deltas.append(
            {"tool_calls": [{**call, "index": number, "function": {"name": call["function"]["name"], "arguments": ""}}]}
        )
        deltas += [{"tool_calls": [{"index": number, "function": {"arguments": piece}}]} for piece in _pieces(arguments)]
    events: list[Any] = [_chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    if step.complain is not None:
        return [*events, {"error": step.complain}]
    if step.break_off:
        return events
    events.append(_chunk(choices=[{"index": 0, "delta": {}, "finish_reason": _openai_finish(step)}]))
    if counted and step.tokens is not None:
        events.append(_chunk(choices=[], **_openai_usage(step)))
    return [*events, "[DONE]"]


def _chunk(**fields: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", **fields}


def _anthropic_blocks(step: Say) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "Let me see.", "signature": "x"}]
    if step.text is not None:
        blocks.append({"type": "text", "text": step.text})
    for number, tool in enumerate(step.tools):
        blocks.append({"type": "tool_use", "id": f"call_{number}", "name": tool["name"], "input": tool["arguments"]})
    return blocks


def _anthropic_usage(step: Say) -> dict[str, Any]:
    return {} if step.tokens is None else {"usage": {"input_tokens": step.tokens[0], "output_tokens": step.tokens[1]}}


def _anthropic_stop(step: Say) -> str:
    return "max_tokens" if step.cut_off else "tool_use" if step.tools else "end_turn"


def _anthropic(step: Say) -> Any:
    usage = _anthropic_usage(step)
    content = _anthropic_blocks(step)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": _anthropic_stop(step),
        **usage,
    }


def _anthropic_events(step: Say) -> list[Any]:
    usage = {"usage": {"input_tokens": step.tokens[0], "output_tokens": 1}} if step.tokens else {}
    events: list[Any] = [{"type": "message_start", "message": {"role": "assistant", "content": [], **usage}}, {"type": "ping"}]
    for index, block in enumerate(_anthropic_blocks(step)):
        if block["type"] == "tool_use":
            start = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(_as_json(block["input"]))]
        elif block["type"] == "thinking":
            start, deltas = {**block, "thinking": ""}, [{"type": "thinking_delta", "thinking": block["thinking"]}]
        else:
            start, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    if step.complain is not None:
        return [*events, {"type": "error", "error": step.complain}]
    if step.break_off:
        return events
    spent = {"usage": {"output_tokens": step.tokens[1]}} if step.tokens else {}
    events.append({"type": "message_delta", "delta": {"stop_reason": _anthropic_stop(step)}, **spent})
    return [*events, {"type": "message_stop"}]
