"""An assistant to talk to: a small loop over any chat model, with a memory that keeps every word first.

::

    assistant = holdfast.Agent(memory, user="ana", persona="You are a kitchen helper.")
    print(assistant.reply("What should I cook tonight?").text)

What is said is on disk before the model is asked. The system prompt is the persona and the context; the window of
the conversation follows. A model that can call tools is offered the preset's memory tools.
"""

import logging
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from holdfast.agent.tools import READ_ONLY_TOOLS, MemoryTools, ToolUse, language_for
from holdfast.chat import ChatModel, Reply, Tool, ToolCall, Turn, Usage, spend_of, usage_of
from holdfast.engine import Engine
from holdfast.errors import AnswerInvalid, HoldfastError, ModelError, ModelUnavailable, NoChatModel, SpendLimit, StoreError
from holdfast.models.chat_budget import BudgetedChat, ChatBudget, ChatSource
from holdfast.recall.context_block import with_persona
from holdfast.services import services
from holdfast.session import Session
from holdfast.types import Context, Message

log = logging.getLogger("holdfast")

INTERRUPTED = "interrupted"
"""The action of a reply that broke off: it was said, and nothing is learnt from it."""
FORGETTING = "forget"
"""The action of a message that asked to forget something: to learn from it would bring that back."""
_FORGETTING_TOOLS = ("forget", "forget_memory")
_MAX_TOOL_ROUNDS = 5
"""How often in one turn a model may call tools before it must answer."""
_MAX_PARALLEL_CALLS = 16
"""Tools it may call at once."""
_READABLE_TOOLS = ("remember", "forget")
"""Tools whose result a person can read; it stands in for a model that calls them and says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply, and how it came about."""

    text: str
    context: Context
    """What the model was told of the past; its ``hits`` say why."""
    tool_uses: tuple[ToolUse, ...] = ()
    usage: Usage = field(default_factory=Usage)
    message_id: str
    """The user's message, as it was kept."""
    reply_id: str | None = None
    """The reply, as it was kept."""
    noise: bool = False
    """Whether the model took what it heard for noise; nothing is learnt from that."""


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """One turn while it lasts."""

    said: Message
    context: Context
    model: ChatModel
    turns: list[Turn]
    window: frozenset[str]
    text: str = ""
    uses: list[ToolUse] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        return sum(self.usages, Usage())


class Agent:
    """One conversation with an assistant."""

    def __init__(
        self,
        memory: Engine,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        session: Session | str | None = None,
        persona: str | None = None,
        chat: "ChatModel | Callable[..., Any] | None" = None,
        limits: ChatBudget | None = None,
        language: str | None = None,
        noise: str | None = None,
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> None:
        """Begin a conversation, or go on with ``session``, with the memory's own model or with ``chat``.

        ``limits`` hold for a model given as ``chat``; the memory's own has those of the settings. ``noise`` is the word
        with which a model, told so by the persona, begins its answer to what was not meant for it.
        """
        self._memory = memory
        self.session = session if isinstance(session, Session) else memory.session(user=user, app=app, agent=agent, id=session)
        self.persona = persona
        self.language = language or language_for(memory, self.session.scope.user)
        self.context: Context | None = None
        """What the model was last told, or would have been."""
        self._chat_model = (
            services(memory).chat
            if chat is None
            else BudgetedChat(services(memory).store, _source(chat), services(memory).clock, limits)
        )
        self._noise = noise
        self._max_tokens = max_tokens
        self._timeout = timeout
        self.tools = self._make_tools()
        self._knows_tools = True

    def _make_tools(self) -> MemoryTools:
        scope, names = self.session.scope, self._memory.preset.tools
        if self.session.off_record:  # which leaves nothing behind
            names = tuple(name for name in names if name in READ_ONLY_TOOLS)
        return MemoryTools(self._memory, user=scope.user, app=scope.app, agent=scope.agent, names=names, language=self.language)

    def reply(self, text: str, *, state: str | None = None, id: str | None = None) -> Answer:
        """Keep what the user said, answer it, and keep the answer. ``state`` is what the host knows of itself right now.

        With ``id``, asking again does not double what was said.
        """
        *_, answer = self._answered(self._begin(text, state, id), streamed=False)
        assert isinstance(answer, Answer)
        return answer

    def stream(self, text: str, *, state: str | None = None, id: str | None = None) -> Iterator[str | Answer]:
        """Answer piece by piece; the last thing yielded is the whole answer. The message is kept when this returns.

        A reply that breaks off, or that nobody reads to its end, is kept as far as it came, marked ``interrupted``.
        """
        return self._answered(self._begin(text, state, id), streamed=True)

    def end(self) -> None:
        """End the conversation; what it leaves is worked out in the background."""
        self.session.end()

    def digest_now(self) -> None:
        """Digest what was said so far: what is to be forgotten must be stored first, or a later digestion would bring it back."""
        self.session.digest()
        until = time.monotonic() + self._timeout
        while time.monotonic() < until and services(self._memory).jobs.run_one():
            pass

    def _begin(self, text: str, state: str | None, id: str | None) -> _Exchange:
        said = self.session.add("user", text, id=id)
        self.context = context = self._told(said, state)
        model = self._model(said, context)
        window = self._window(said)
        system = [Turn(role="system", text=context.text)] if context.text else []
        return _Exchange(
            said=said,
            context=context,
            model=model,
            turns=[*system, *map(_turn, window)],
            window=frozenset(message.id for message in window),
        )

    def _told(self, said: Message, state: str | None) -> Context:
        """Return the context; failing to remember must not keep the assistant from answering."""
        try:
            return self.session.context(said.text, state=state, persona=self.persona)
        except HoldfastError as error:
            log.warning("This reply is made without memories: %s", error)
            return with_persona(Context(text="", tokens=0, stable="", changing=""), self.persona)

    def _window(self, said: Message) -> list[Message]:
        """Return the last messages, up to what was just said; not noise, nor what is to be forgotten."""
        try:
            recent = [message for message in self.session.window() if message.action in (None, INTERRUPTED, FORGETTING)]
        except HoldfastError as error:
            log.warning("This reply is made without the messages before: %s", error)
            recent = []
        return recent if any(message.id == said.id for message in recent) else [*recent, said]

    def _model(self, said: Message, context: Context) -> ChatModel:
        model, problem = self._chat_model.model()
        if model is not None:
            return model
        if problem is None:
            raise NoChatModel(
                "No chat model is set, so there is no reply; what was said is kept. Set one with HOLDFAST_CHAT or `chat` in "
                "holdfast.toml, such as ollama:llama3.2, or with holdfast.open(chat=...).",
                context=context,
                message_id=said.id,
            )
        # A name keeps its case: "openai:gpt-4o needs the package openai".
        named = problem.startswith(self._chat_model.name or "\0")
        sentence = f"{problem if named else problem[0].upper() + problem[1:]}. What was said is kept."
        raise SpendLimit(sentence) if problem.startswith("today's limit") else ModelUnavailable(sentence)

    def _answered(self, exchange: _Exchange, *, streamed: bool) -> Iterator[str | Answer]:
        action: str | None = INTERRUPTED
        try:
            yield from self._rounds(exchange, streamed=streamed)
            action = self._noise_in(exchange)
        finally:  # also when the person stops it, or nobody wants the rest
            reply = self.session.add("assistant", exchange.text, action=action) if exchange.text.strip() else None
            self._count(exchange)
        yield Answer(
            text=exchange.text,
            context=exchange.context,
            tool_uses=tuple(exchange.uses),
            usage=exchange.usage,
            message_id=exchange.said.id,
            reply_id=reply.id if reply else None,
            noise=action is not None,
        )

    def _noise_in(self, exchange: _Exchange) -> str | None:
        """Return the action of both messages where the model took the first for noise; set before the reply is kept."""
        if self._noise is None or not re.match(rf"\W*{re.escape(self._noise)}\b", exchange.text):
            return None
        if not self.session.off_record:
            with services(self._memory).store.write() as tx:
                tx.set_action((exchange.said.id,), self._noise)
        return self._noise

    def _rounds(self, exchange: _Exchange, *, streamed: bool) -> Iterator[str]:
        """Ask, run the tools that are called, and ask again, until there is an answer."""
        for number in range(_MAX_TOOL_ROUNDS + 2):
            reply = yield from self._asked(exchange, streamed=streamed)
            if not reply.tool_calls:
                break
            exchange.turns.append(Turn(role="assistant", text=reply.text, tool_calls=reply.tool_calls))
            for place, call in enumerate(reply.tool_calls):
                use = self._used(call, exchange, allowed=number < _MAX_TOOL_ROUNDS and place < _MAX_PARALLEL_CALLS)
                exchange.turns.append(Turn(role="tool", text=use.result.text, call=call.id))
        if not exchange.text.strip():
            exchange.text = "\n".join(use.result.text for use in exchange.uses if use.call.name in _READABLE_TOOLS)
            if not exchange.text:
                raise AnswerInvalid(f"{exchange.model.name} said nothing. What you said is kept; say it in other words.")
            yield exchange.text

    def _used(self, call: ToolCall, exchange: _Exchange, *, allowed: bool) -> ToolUse:
        if not allowed:
            return ToolUse(call=call, result=self.tools.too_many())
        sources = () if self.session.off_record else (exchange.said.id,)
        if call.name in _FORGETTING_TOOLS and sources:
            with services(self._memory).store.write() as tx:
                tx.set_action(sources, FORGETTING)
            self.digest_now()
        use = ToolUse(call=call, result=self.tools.run(call, sources=sources, seen=exchange.window))
        exchange.uses.append(use)
        return use

    def _asked(self, exchange: _Exchange, *, streamed: bool) -> Generator[str, None, Reply]:
        """Ask once and return the reply; a model that knows no tools is asked again without them."""
        tools = self.tools.definitions if self._knows_tools else ()
        before = exchange.text
        try:
            return (yield from self._heard(exchange, tools, streamed=streamed))
        except ModelError as error:
            # A plain refusal of the question, not a failure to answer: see holdfast.models.
            refused = type(error) is ModelError and "tool" in str(error).casefold()
            if not (tools and refused and exchange.text == before):
                raise
        self._knows_tools = False
        return (yield from self._heard(exchange, (), streamed=streamed))

    def _heard(self, exchange: _Exchange, tools: Sequence[Tool], *, streamed: bool) -> Generator[str, None, Reply]:
        """Pass on what one call says, and return the whole of it."""
        usage, reply = Usage(calls=1, cost=None), None  # of a call that nobody hears to its end, nothing more is known
        opening = "\n\n" if exchange.text.strip() else ""
        try:
            for piece in self._pieces(exchange, tools, streamed=streamed):
                if isinstance(piece, Reply):
                    reply, usage = piece, piece.usage
                elif piece:
                    exchange.text += opening + piece
                    yield opening + piece
                    opening = ""
        except ModelError as error:
            usage = usage_of(error)
            raise
        finally:
            exchange.usages.append(usage)
        if reply is None:
            raise AnswerInvalid(f"{exchange.model.name} broke off its answer.")
        return reply

    def _pieces(self, exchange: _Exchange, tools: Sequence[Tool], *, streamed: bool) -> Iterator[str | Reply]:
        model, turns = exchange.model, exchange.turns
        if streamed:
            yield from model.stream(turns, tools=tools, max_tokens=self._max_tokens, timeout=self._timeout)
            return
        reply = model.chat(turns, tools=tools, max_tokens=self._max_tokens, timeout=self._timeout)
        yield reply.text
        yield reply

    def _count(self, exchange: _Exchange) -> None:
        """Note what the calls have cost. Talking is not memory work, so it draws none of memory's energy."""
        day, name = services(self._memory).clock.now(), exchange.model.name
        try:
            with services(self._memory).store.write(durable=False) as tx:
                for usage in exchange.usages:
                    tx.add_spend(spend_of(usage, day=day, purpose="chat", model=name))
        except StoreError as error:
            log.warning("What a reply cost could not be noted: %s", error)


def _source(chat: "ChatModel | Callable[..., Any]") -> ChatSource:
    if hasattr(chat, "chat"):
        own = cast("ChatModel", chat)
    else:
        from holdfast.models.callables import CallableChat  # noqa: PLC0415  (only for those who use one)

        own = CallableChat(chat)
    return ChatSource(name=own.name, load=lambda: own)


def _turn(message: Message) -> Turn:
    """Return a message as a model is shown it; what neither side said is told by the user."""
    if message.role == "user":
        return Turn(role="user", text=message.text)
    if message.role == "assistant":
        return Turn(role="assistant", text=message.text)
    return Turn(role="user", text=f"({message.role}) {message.text}")
