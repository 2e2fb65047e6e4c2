"""The services of the resident process: it answers hooks and serves MCP."""

import logging
import os
import threading
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from holdfast.config.default_user import default_user
from holdfast.config.loading import load_settings
from holdfast.config.opening import open_engine
from holdfast.config.preloading import preload
from holdfast.engine import Engine
from holdfast.errors import HoldfastError
from holdfast.resident.capture import Capture
from holdfast.resident.endpoint import StoreOptions
from holdfast.resident.events import HookEvent, is_foreign, read_event, write_answer
from holdfast.resident.notes import prompt_context, start_context
from holdfast.resident.scope import AgentScope, scope_for
from holdfast.resident.wire import Wire
from holdfast.version import __version__

log = logging.getLogger("holdfast.resident")
_PRELOAD_SECONDS = 1.5
"""Seconds after which the models are loaded even if there was no request yet."""


class Serving:
    """The open store of the resident process, with its models. It answers the requests of clients."""

    def __init__(self, options: StoreOptions) -> None:
        settings = load_settings(options.settings, store=options.store, preset=options.preset, tenant=options.tenant)
        self._user = default_user(settings).name
        self.idle_seconds = settings.resident_idle_minutes * 60
        self._memory: Engine = open_engine(options.store, preset=options.preset, settings=options.settings, tenant=options.tenant)
        self._capture = Capture(self._memory)
        self._served = threading.Event()
        self._preload = threading.Thread(target=self._preload_models, name="holdfast-preload")

    def __enter__(self) -> Self:
        self._preload.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._served.set()
        self._preload.join()
        self._memory.close()

    def _preload_models(self) -> None:
        """Load the models after the first request, so that this request does not wait for them.

        If no request comes within some seconds, load the models anyway.
        """
        self._served.wait(_PRELOAD_SECONDS)
        preload(self._memory)
        if find_spec("mcp") is not None:  # slow to import, so that the first MCP client would wait for it
            import_module("holdfast.mcp.stdio")

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a request and return the answer. If it fails, the answer contains the error."""
        if request.get("op") == "ping":
            return {"ok": True, "pid": os.getpid(), "version": __version__}
        if request.get("op") != "hook":
            return {"ok": False, "error": "unknown request"}
        try:
            return {"ok": True, "output": self._hook(request)}
        except HoldfastError as error:
            log.warning("hook %s failed: %s", request.get("event"), type(error).__name__)
            return {"ok": False, "error": type(error).__name__}
        except Exception as error:  # noqa: BLE001  (the edge: one bad request must not end the process)
            log.warning("hook %s failed: unexpected %s", request.get("event"), type(error).__name__)
            return {"ok": False, "error": type(error).__name__}

    def _hook(self, request: Mapping[str, Any]) -> str:
        client, payload = str(request.get("client")), request.get("payload")
        if not isinstance(payload, dict) or is_foreign(client, payload):
            return ""
        event = read_event(client, str(request.get("event")), payload)
        scope = scope_for(request.get("scope"), cwd=event.cwd, user=self._user)
        context = self._context(event, scope)
        self._capture.store(event, scope)
        self._served.set()
        return write_answer(event, context)

    def _context(self, event: HookEvent, scope: AgentScope) -> str:
        if event.name == "session-start":
            return start_context(self._memory, scope)
        return prompt_context(self._memory, event.session, event.prompt, scope) if event.name == "prompt" else ""

    def serve_mcp(self, wire: Wire, request: Mapping[str, Any]) -> None:
        """Serve MCP on a connection until the client closes it."""
        from holdfast.mcp.stdio import serve_connection  # noqa: PLC0415  (an extra)

        self._served.set()
        scope = scope_for(request.get("scope"), cwd=request.get("cwd"), user=self._user)
        serve_connection(self._memory, scope.parts, wire.connection, version=__version__, project=scope.project)
