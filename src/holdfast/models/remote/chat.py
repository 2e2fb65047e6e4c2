"""A chat model called through a provider's Python package. A failed call is retried without the features that the server rejects.

A ``ProviderFormat`` builds requests and parses replies. Features that a server rejects, such as a response format, are
remembered and not sent again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from holdfast.chat import Reply, Schema, Tool, Turn
from holdfast.errors import ModelError
from holdfast.models.remote.connection import ProviderConnection
from holdfast.models.remote.exchange import ChatRequest, RawReply
from holdfast.models.remote.faults import Service, error_fault
from holdfast.models.remote.prices import Price
from holdfast.models.remote.retrying import CallBudget, Fault, RetryPolicy

__all__ = ["ProviderFormat", "RemoteChat", "StreamAssembler"]


class StreamAssembler(Protocol):
    """Interface of an object that assembles a streamed reply from its events."""

    @property
    def tokens(self) -> tuple[int, int] | None:
        """A pair: the number of input tokens, and the number of output tokens. None if the server has not reported them."""
        ...

    def add(self, event: Mapping[str, Any]) -> str:
        """Add one event and return the reply text that it contains."""
        ...

    def reply(self) -> RawReply | None:
        """Return the complete reply, or None if the stream was interrupted. Raise ``AnswerInvalid`` if it cannot be parsed."""
        ...


class ProviderFormat(Protocol):
    """Interface of a provider's request and reply format."""

    @property
    def package(self) -> str:
        """Name of the provider's Python package and of the extra of Holdfast that installs it."""
        ...

    def connect(self, sdk: Any, **options: Any) -> Any:
        """Create a client from the provider's package."""
        ...

    def send(self, client: Any) -> Callable[..., Any]:
        """Return the client method that sends a request."""
        ...

    def request(self, chat_request: ChatRequest, refused: Collection[str]) -> Mapping[str, Any]:
        """Return the request fields, without the features in ``refused``."""
        ...

    def refusal(self, message: str, request: Mapping[str, Any]) -> str | None:
        """Return the feature that the server rejects according to its error message, or None if the error has another cause."""
        ...

    def tokens(self, response: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return a pair: the number of input tokens, and the number of output tokens. Return None if the server reported none."""
        ...

    def read(self, response: Mapping[str, Any]) -> RawReply:
        """Parse a response. Raise ``AnswerInvalid`` if it contains no reply."""
        ...

    def assembler(self) -> StreamAssembler:
        """Return an assembler for a streamed reply."""
        ...


class RemoteChat:
    """A :class:`holdfast.chat.ChatModel` over HTTP. Safe to use from several threads and after a fork."""

    def __init__(
        self,
        service: Service,
        provider_format: ProviderFormat,
        *,
        price: Price | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        """Store the arguments. Nothing is imported or connected before the first request."""
        self._connection = ProviderConnection(service, package=provider_format.package, connect=provider_format.connect)
        self._format = provider_format
        self._price = price
        self._retry_policy = retry_policy or RetryPolicy()
        self._refused: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The full name, such as ``openai:gpt-4o-mini``."""
        return self._connection.service.name

    def connect(self) -> None:
        """Import the provider's package and create the client. No request is sent."""
        self._format.send(self._connection.client())

    def close(self) -> None:
        """Close open connections. The next request opens new connections."""
        self._connection.close()

    def chat(
        self,
        turns: Sequence[Turn],
        *,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> Reply:
        """Return a reply. ``timeout`` limits the total seconds, and the retry policy limits the number of calls."""
        chat_request = ChatRequest(turns=tuple(turns), schema=schema, tools=tuple(tools), max_tokens=max_tokens)
        budget = CallBudget(self._retry_policy, timeout=timeout, price=self._price)
        while True:
            request = self._format.request(chat_request, self._refused)
            try:
                response = self._connection.json(self._format.send, request, budget)
                budget.spend(self._format.tokens(response))
                return _reply(self._format.read(response), budget)
            except Fault as fault:
                self._after(fault, request, budget)
            except ModelError as error:
                budget.fail(error)

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Yield a reply in pieces. A failure after the first piece is not retried."""
        chat_request = ChatRequest(turns=tuple(turns), tools=tuple(tools), max_tokens=max_tokens, stream=True)
        budget = CallBudget(self._retry_policy, timeout=timeout, price=self._price)
        while True:
            request = self._format.request(chat_request, self._refused)
            assembler = self._format.assembler()
            yielded = False
            try:
                for piece in self._pieces(assembler, request, budget):
                    yielded = True
                    yield piece
                yield self._complete(assembler, budget)
            except Fault as fault:
                if yielded:
                    budget.fail(fault.error, fault)
                self._after(fault, request, budget)
            except ModelError as error:
                budget.fail(error)
            else:
                return

    def _pieces(self, assembler: StreamAssembler, request: Mapping[str, Any], budget: CallBudget) -> Iterator[str]:
        started = False
        try:
            for event in self._connection.events(self._format.send, request, budget):
                started = True
                if event.get("error"):
                    raise error_fault(self._connection.service, event["error"])
                if piece := assembler.add(event):
                    yield piece
        finally:  # count the reported tokens even if the caller stops reading
            if started:
                budget.spend(assembler.tokens)

    def _complete(self, assembler: StreamAssembler, budget: CallBudget) -> Reply:
        reply = assembler.reply()
        if reply is None:
            raise error_fault(self._connection.service, "the stream ended early")
        return _reply(reply, budget)

    def _after(self, fault: Fault, request: Mapping[str, Any], budget: CallBudget) -> None:
        """Handle a failed call. Return if the caller is to retry, otherwise raise the error.

        If the server rejected a feature, the feature is left out from now on. After a temporary failure, this method waits
        before it returns.
        """
        refused = self._format.refusal(fault.server_message.casefold(), request) if fault.status in (400, 422) else None
        if refused is None:
            budget.wait_before_retry(fault)
        else:
            self._refused |= {refused}
            budget.allow_retry(fault)


def _reply(raw: RawReply, budget: CallBudget) -> Reply:
    return Reply(text=raw.text, tool_calls=raw.tool_calls, stop=raw.stop, usage=budget.usage)
