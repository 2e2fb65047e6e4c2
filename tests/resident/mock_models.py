"""A server on loopback that imitates the model APIs of Anthropic, OpenAI and Google. It records each request."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLY = "Understood."


class MockModels:
    """A running mock server, and the requests that it has received."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.requests: list[str] = []
        """Bodies of all requests to a model, oldest first."""

    def clear(self) -> None:
        """Delete the recorded requests."""
        self.requests.clear()

    @property
    def seen(self) -> str:
        """All requests as one text."""
        return "\n".join(self.requests)


@contextmanager
def mock_models() -> Iterator[MockModels]:
    """Run a mock server on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    models = MockModels(server)
    _Handler.models = models
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield models
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _anthropic() -> list[tuple[str, Any]]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "mock",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    return [
        ("message_start", {"type": "message_start", "message": message}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": REPLY}}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        (
            "message_delta",
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


def _responses() -> list[tuple[str, Any]]:
    item = {
        "type": "message",
        "id": "item_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": REPLY, "annotations": []}],
    }
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }
    done = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        ("response.created", {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}),
        ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
        ("response.completed", {"type": "response.completed", "response": done}),
    ]


def _gemini() -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": REPLY}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
        "modelVersion": "mock",
    }


def _chat() -> list[Any]:
    base = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "mock"}
    return [
        {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": REPLY}, "finish_reason": None}]},
        {
            **base,
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        },
    ]


class _Handler(BaseHTTPRequestHandler):
    models: MockModels
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        if path.endswith(("count_tokens", ":countTokens")):
            self._send_json({"input_tokens": 10, "totalTokens": 10})
            return
        self.models.requests.append(body.decode("utf-8", "replace"))
        if path.endswith("/messages"):
            events = _anthropic()
            if json.loads(body).get("stream"):
                self._send_events([(name, json.dumps(data)) for name, data in events])
            else:
                content = [{"type": "text", "text": REPLY}]
                self._send_json({**events[0][1]["message"], "content": content, "stop_reason": "end_turn"})
        elif path.endswith("/responses"):
            self._send_events([(name, json.dumps(data)) for name, data in _responses()])
        elif path.endswith(":streamGenerateContent"):
            self._send_events([(None, json.dumps(_gemini()))])
        elif path.endswith(":generateContent"):
            self._send_json(_gemini())
        elif path.endswith("/chat/completions"):
            self._send_events([*((None, json.dumps(each)) for each in _chat()), (None, "[DONE]")])
        else:
            self._send_json({})

    def do_GET(self) -> None:
        self._send_json({"object": "list", "data": [], "models": []})

    def _send_json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send_events(self, events: list[tuple[str | None, str]]) -> None:
        text = "".join((f"event: {name}\n" if name else "") + f"data: {data}\n\n" for name, data in events)
        self._send(text.encode(), "text/event-stream")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
