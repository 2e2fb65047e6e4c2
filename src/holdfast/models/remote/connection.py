"""The client of one model service. It is created on the first call and replaced after a fork."""

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
"""Maximum time to wait for a connection, in seconds."""


class ProviderConnection:
    """Calls one service through its provider's Python package. The package is imported on the first call."""

    def __init__(self, service: Service, *, package: str, connect: Callable[..., Any]) -> None:
        """Store the arguments. ``connect`` is called with the imported package and its options, and creates the client."""
        self.service = service
        self._package = package
        self._connect = connect
        self._making = threading.Lock()
        self._client: Any = None
        forks.register(self)

    def after_fork(self) -> None:
        """Drop the client and the lock.

        Processes must not share a socket, and a thread that is missing in the child may hold the lock.
        """
        self._making, self._client = threading.Lock(), None

    def client(self) -> Any:
        """Return this process's client, creating it if needed."""
        with self._making:
            if self._client is None:
                self._client = self._make()
            return self._client

    def json(
        self, send: Callable[[Any], Callable[..., Any]], request: Mapping[str, Any], budget: CallBudget
    ) -> Mapping[str, Any]:
        """Call the service and return the response as a JSON object. ``send`` takes the client and returns the method to call."""
        with self._called(send, request, budget) as (response, reader):
            return reader.json(response)

    def events(
        self, send: Callable[[Any], Callable[..., Any]], request: Mapping[str, Any], budget: CallBudget
    ) -> Iterator[Mapping[str, Any]]:
        """Call the service and yield the events of the response. ``send`` takes the client and returns the method to call."""
        with self._called(send, request, budget) as (response, reader):
            yield from reader.events(response)

    def close(self) -> None:
        """Close the client. The next call creates a new client."""
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
        reader = ResponseReader(name=self.service.name, deadline=budget.deadline, clock=budget.retry_policy.clock)
        with failures(self.service, sdk), send(client)(**request, timeout=timeout) as response:
            yield response, reader

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
    """Import a provider's package. Raise ``ExtraMissing`` with the install command if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ExtraMissing(f"This model needs the package {name}: pip install 'holdfast-memory[{name}]'") from error
