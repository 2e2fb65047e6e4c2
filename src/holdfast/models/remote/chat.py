"""A chat model behind a provider's package: one loop for calls, refusals and failures, whatever the dialect.

A dialect knows how its provider words a question and an answer. What a server refuses to know (a response format,
say) is remembered, so that it is offered once and not with every call.
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
    """Puts a streamed answer together."""

    @property
    def tokens(self) -> tuple[int, int] | None:
        """The tokens that went in and came out, where the server told."""
        ...

    def take(self, event: Mapping[str, Any]) -> str:
        """Take one event, and return the text it brought."""
        ...

    def answer(self) -> RawReply | None:
        """Return the whole, or None when it broke off; ``AnswerInvalid`` when it makes no sense."""
        ...


class ProviderFormat(Protocol):
    """How a provider words questions and answers."""

    @property
    def package(self) -> str:
        """The Python package, which is also the name of Holdfast's extra."""
        ...

    def connect(self, sdk: Any, **options: Any) -> Any:
        """Make the package's client."""
        ...

    def send(self, client: Any) -> Callable[..., Any]:
        """Return the client's method that sends a question."""
        ...

    def request(self, question: ChatRequest, refused: Collection[str]) -> Mapping[str, Any]:
        """Word a question, without what the server refused before."""
        ...

    def refusal(self, said: str, request: Mapping[str, Any]) -> str | None:
        """Return what the server refuses to know, if that is its complaint and the question can do without."""
        ...

    def tokens(self, answer: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return the tokens that went in and came out, where the server told."""
        ...

    def read(self, answer: Mapping[str, Any]) -> RawReply:
        """Read an answer; ``AnswerInvalid`` when there is none in it."""
        ...

    def follow(self) -> StreamAssembler:
        """Begin to read a streamed answer."""
        ...


class RemoteChat:
    """A :class:`holdfast.chat.ChatModel` over HTTP. Safe to use from several threads and after a fork."""

    def __init__(
        self, service: Service, dialect: ProviderFormat, *, price: Price | None = None, patience: RetryPolicy | None = None
    ) -> None:
        """Remember what to call; nothing is imported or connected before the first question."""
        self._connection = ProviderConnection(service, package=dialect.package, connect=dialect.connect)
        self._dialect = dialect
        self._price = price
        self._patience = patience or RetryPolicy()
        self._refused: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Its full name, such as ``openai:gpt-4o-mini``."""
        return self._connection.service.name

    def close(self) -> None:
        """Let go of open connections; the next question makes new ones."""
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
        """Answer, within ``timeout`` seconds and three calls in all."""
        question = ChatRequest(turns=tuple(turns), schema=schema, tools=tuple(tools), max_tokens=max_tokens)
        budget = CallBudget(self._patience, timeout=timeout, price=self._price)
        while True:
            request = self._dialect.request(question, self._refused)
            try:
                found = self._connection.json(self._dialect.send, request, budget)
                budget.spend(self._dialect.tokens(found))
                return _reply(self._dialect.read(found), budget)
            except Fault as fault:
                self._after(fault, request, budget)
            except ModelError as error:
                budget.fail(error)

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Answer piece by piece; once a piece was given, a failure is final."""
        question = ChatRequest(turns=tuple(turns), tools=tuple(tools), max_tokens=max_tokens, stream=True)
        budget = CallBudget(self._patience, timeout=timeout, price=self._price)
        while True:
            request = self._dialect.request(question, self._refused)
            follower = self._dialect.follow()
            given = False
            try:
                for piece in self._pieces(follower, request, budget):
                    given = True
                    yield piece
                yield self._whole(follower, budget)
            except Fault as fault:
                if given:
                    budget.fail(fault.error, fault)
                self._after(fault, request, budget)
            except ModelError as error:
                budget.fail(error)
            else:
                return

    def _pieces(self, follower: StreamAssembler, request: Mapping[str, Any], budget: CallBudget) -> Iterator[str]:
        heard = False
        try:
            for event in self._connection.events(self._dialect.send, request, budget):
                heard = True
                if event.get("error"):
                    raise error_fault(self._connection.service, event["error"])
                if piece := follower.take(event):
                    yield piece
        finally:  # also when nobody wants the rest: what was told of its cost is counted
            if heard:
                budget.spend(follower.tokens)

    def _whole(self, follower: StreamAssembler, budget: CallBudget) -> Reply:
        answer = follower.answer()
        if answer is None:
            raise error_fault(self._connection.service, "it ended in the middle")
        return _reply(answer, budget)

    def _after(self, fault: Fault, request: Mapping[str, Any], budget: CallBudget) -> None:
        """Decide after a failed call: ask without what was refused, wait and ask again, or give up."""
        refused = self._dialect.refusal(fault.said.casefold(), request) if fault.status in (400, 422) else None
        if refused is None:
            budget.wait_and_call_again(fault)
        else:
            self._refused |= {refused}
            budget.call_again(fault)


def _reply(answer: RawReply, budget: CallBudget) -> Reply:
    return Reply(text=answer.text, tool_calls=answer.tool_calls, stop=answer.stop, usage=budget.usage)
