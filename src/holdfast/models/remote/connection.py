"""A provider's client: made with the first call, safe across forks, and its answers read within bounds."""

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from holdfast.errors import ExtraMissing
from holdfast.models.remote.faults import Service, failures
from holdfast.models.remote.http import ResponseReader, http_client, http_library
from holdfast.models.remote.retrying import CallBudget
from holdfast.runtime import forks

__all__ = ["ProviderConnection"]

_CONNECT_SECONDS: Final = 10.0


class ProviderConnection:
    """Calls one service through its provider's package, which is imported with the first call."""

    def __init__(self, service: Service, *, package: str, connect: Callable[..., Any]) -> None:
        """Remember how to connect; ``connect`` makes the client, given the package and its options."""
        self.service = service
        self._package = package
        self._connect = connect
        self._making = threading.Lock()
        self._client: Any = None
        forks.register(self)

    def after_fork(self) -> None:
        """Forget the client, for two processes must not share a socket, and a lock that a lost thread may hold."""
        self._making, self._client = threading.Lock(), None

    def client(self) -> Any:
        """Return this process's client."""
        with self._making:
            if self._client is None:
                self._client = self._make()
            return self._client

    def json(
        self, send: Callable[[Any], Callable[..., Any]], request: Mapping[str, Any], budget: CallBudget
    ) -> Mapping[str, Any]:
        """Call, and return the answer; ``send`` picks the client's method."""
        with self._called(send, request, budget) as (response, reading):
            return reading.json(response)

    def events(
        self, send: Callable[[Any], Callable[..., Any]], request: Mapping[str, Any], budget: CallBudget
    ) -> Iterator[Mapping[str, Any]]:
        """Call, and return the answer event by event."""
        with self._called(send, request, budget) as (response, reading):
            yield from reading.events(response)

    def close(self) -> None:
        """Let go of what is open; the next call connects anew."""
        with self._making:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def _called(
        self, send: Callable[[Any], Callable[..., Any]], request: Mapping[str, Any], budget: CallBudget
    ) -> Iterator[tuple[Any, ResponseReader]]:
        client = self.client()
        sdk = import_package(self._package)
        seconds = budget.call()
        timeout = http_library(sdk).Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds))
        reading = ResponseReader(name=self.service.name, deadline=budget.deadline, clock=budget.patience.clock)
        with failures(self.service, sdk), send(client)(**request, timeout=timeout) as response:
            yield response, reading

    def _make(self) -> Any:
        sdk = import_package(self._package)
        with failures(self.service, sdk):
            return self._connect(
                sdk,
                base_url=self.service.base_url,
                api_key=self.service.key or "none",
                max_retries=0,
                http_client=http_client(sdk, self.service.base_url),
            )


def import_package(name: str) -> Any:
    """Import a provider's package, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ExtraMissing(f"This model needs the package {name}: pip install 'holdfast[{name}]'") from error
