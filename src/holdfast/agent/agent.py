"""An assistant with memory: a chat loop over any chat model.

::

    assistant = holdfast.Agent(memory, user="ana", persona="You are a kitchen helper.")
    print(assistant.reply("What should I cook tonight?").text)

Each message is on disk before the model is called. The system prompt consists of the persona and the context block. The
last turns of the session follow it. A model that supports tools is offered the preset's memory tools.
"""

import logging
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.agent.tools import READ_ONLY_TOOLS, MemoryTools, ToolUse, language_for, tool_texts
from holdfast.agent.window import INTERRUPTED, Window, read_window, window_for
from holdfast.chat import ChatModel, Reply, Tool, ToolCall, Turn, Usage, spend_of, usage_of
from holdfast.engine import Engine
from holdfast.errors import AnswerInvalid, HoldfastError, ModelError, ModelUnavailable, NoChatModel, SpendLimit, StoreError
from holdfast.models.chat_budget import BudgetedChat, ChatBudget, ChatSource
from holdfast.recall.context.block import with_persona
from holdfast.services import services
from holdfast.session import Session
from holdfast.text.clean import escape_line
from holdfast.types import FORGETTING, OFF_RECORD, Consent, Context, Message, Redaction

log = logging.getLogger("holdfast")

_FORGETTING_TOOLS = ("forget", "forget_memory")
_STORING_TOOLS = ("remember", "store_memory")
_MAX_TOOL_ROUNDS = 5
"""Maximum number of model replies with tool calls per user message. Tool calls in later replies get an error result."""
_MAX_PARALLEL_CALLS = 16
"""Maximum number of tool calls that are run per model reply. Further calls in the reply get an error result."""
_READABLE_TOOLS = ("remember", "forget")
"""Tools with a human-readable result. If the model calls one and adds no text, the result becomes the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply, with the context block and the tool calls that led to it."""

    text: str
    context: Context
    """Context block in the system prompt. Its ``hits`` explain why each memory was included."""
    tool_uses: tuple[ToolUse, ...] = ()
    usage: Usage = field(default_factory=Usage)
    message_id: str
    """Id of the stored user message."""
    reply_id: str | None = None
    """Id of the stored reply; None if the reply is empty."""
    noise: bool = False
    """True if the model judged that the message was not meant for the assistant. No memories are extracted from the message."""
    redacted: tuple[Redaction, ...] = ()
    """Secrets that were replaced in the user's message. The model did not see them."""
    consent: Consent | None = None
    """The changes made because the user's message asks for them, such as "forget my old address"."""


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """State of one exchange: a user message and the reply in progress."""

    message: Message
    context: Context
    model: ChatModel
    turns: list[Turn]
    window: frozenset[str]
    """Ids of the messages in the window."""
    text: str = ""
    uses: list[ToolUse] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        return sum(self.usages, Usage())


class Agent:
    """A conversation between a user and an assistant that has a memory."""

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
        """Start a conversation, or continue ``session``. Uses the engine's chat model unless ``chat`` is given.

        ``limits`` apply to a model given as ``chat``; for the engine's own model, the settings define the limits.
        ``noise`` is a marker word. The persona can tell the model to begin its reply with this word if a message was
        not meant for the assistant. The message and the reply are then both marked as noise.
        """
        self._memory = memory
        self.session = session if isinstance(session, Session) else memory.session(user=user, app=app, agent=agent, id=session)
        self.persona = persona
        self.language = language or language_for(memory, self.session.scope.user)
        self.redacted: tuple[Redaction, ...] = ()
        """Secrets that were replaced in the last user message."""
        self.consent: Consent | None = None
        """The changes made because the last user message asks to remember, forget or not keep something."""
        self.context: Context | None = None
        """Context block for the last message. It is set even if the model could not be called."""
        self._chat_model = (
            services(memory).chat
            if chat is None
            else BudgetedChat(services(memory).store, _source(chat), services(memory).clock, limits)
        )
        self._noise = noise
        self._max_tokens = max_tokens
        self._timeout = timeout
        self.tools = self._make_tools()
        self._supports_tools = True

    def _make_tools(self) -> MemoryTools:
        scope, names = self.session.scope, self._memory.preset.tools
        if self.session.off_record:  # an off-record session stores nothing
            names = tuple(name for name in names if name in READ_ONLY_TOOLS)
        return MemoryTools(self._memory, user=scope.user, app=scope.app, agent=scope.agent, names=names, language=self.language)

    def reply(self, text: str, *, state: str | None = None, id: str | None = None) -> Answer:
        """Store the user's message, answer it, and store the reply.

        ``state`` describes the current state of the host program or device, for the context block. With ``id``, a
        repeated call does not store the message twice.

        If the model fails, the message stays in the session, and the next call sends it together with the next message
        in one turn. A message that is repeated after a failure is sent to the model only once.
        """
        *_, answer = self._answer(self._begin(text, state, id), streamed=False)
        assert isinstance(answer, Answer)
        return answer

    def stream(self, text: str, *, state: str | None = None, id: str | None = None) -> Iterator[str | Answer]:
        """Store the user's message and return an iterator over the pieces of the reply. Its last item is the ``Answer``.

        ``state`` and ``id`` are as in :meth:`reply`. If the reply breaks off, or the caller stops reading, the text so far is
        stored and marked ``interrupted``.
        """
        return self._answer(self._begin(text, state, id), streamed=True)

    def end(self) -> None:
        """End the session. It is digested in the background."""
        self.session.end()

    def digest_now(self) -> None:
        """Extract memories from the session so far.

        Call this before you forget a memory. Otherwise a later digest could extract the same memory again.
        """
        self.session.digest()
        until = time.monotonic() + self._timeout
        while time.monotonic() < until and services(self._memory).jobs.run_one():
            pass

    def _begin(self, text: str, state: str | None, id: str | None) -> _Exchange:
        message = self.session.add("user", text, id=id)
        self.redacted, self.consent = message.redacted, message.consent
        self.context = context = self._context_for(message, state)
        model = self._model(message, context)
        window = self._window(message)
        instructions = "\n\n".join(filter(None, (_cacheable(context), self._consent_note(message.consent))))
        system = [Turn(role="system", text=instructions)] if instructions else []
        return _Exchange(
            message=message,
            context=context,
            model=model,
            turns=[*system, *window.turns],
            window=window.message_ids,
        )

    def _consent_note(self, consent: Consent | None) -> str:
        """Return a note that tells the model which wish was obeyed, so that the model can confirm it."""
        if consent is None:
            return ""
        listed = "; ".join(escape_line(str(each)) for each in consent.memories) or "-"
        return tool_texts(self.language)["consent"][consent.wish].format(memories=listed, messages=len(consent.messages))

    def _context_for(self, message: Message, state: str | None) -> Context:
        """Return the context block. If recall fails, log the error and return only the persona, so that the chat continues."""
        try:
            return self.session.context(message.text, state=state, persona=self.persona)
        except HoldfastError as error:
            log.warning("Recall failed; replying without memories: %s", error)
            return with_persona(Context(text="", tokens=0, stable="", changing=""), self.persona)

    def _window(self, message: Message) -> Window:
        """Return the last turns up to the new message. If they cannot be read, log the error and return only the message."""
        try:
            return read_window(services(self._memory), self.session, message)
        except HoldfastError as error:
            log.warning("Reading the session failed; replying without earlier messages: %s", error)
            return window_for([message], limit=1)

    def _model(self, message: Message, context: Context) -> ChatModel:
        model, problem = self._chat_model.model()
        if model is not None:
            return model
        if problem is None:
            raise NoChatModel(
                "No chat model is set, so there is no reply. The message is stored. Set a model with HOLDFAST_CHAT or `chat` in "
                "holdfast.toml, such as ollama:llama3.2, or with holdfast.open(chat=...).",
                context=context,
                message_id=message.id,
                redacted=message.redacted,
            )
        # A model's name keeps its case: "openai:gpt-4o needs the package openai".
        named = problem.startswith(self._chat_model.name or "\0")
        sentence = f"{problem if named else problem[0].upper() + problem[1:]}. The message is stored."
        raise SpendLimit(sentence) if problem.startswith("today's limit") else ModelUnavailable(sentence)

    def _answer(self, exchange: _Exchange, *, streamed: bool) -> Iterator[str | Answer]:
        action: str | None = INTERRUPTED
        try:
            yield from self._rounds(exchange, streamed=streamed)
            action = self._mark_noise(exchange)
        finally:  # also if the user interrupts, or the caller stops reading
            reply = self.session.add("assistant", exchange.text, action=action) if exchange.text.strip() else None
            self._record_usage(exchange)
        yield Answer(
            text=exchange.text,
            context=exchange.context,
            tool_uses=tuple(exchange.uses),
            usage=exchange.usage,
            message_id=exchange.message.id,
            reply_id=reply.id if reply else None,
            noise=action is not None,
            redacted=exchange.message.redacted,
            consent=exchange.message.consent,
        )

    def _mark_noise(self, exchange: _Exchange) -> str | None:
        """Mark the user's message as noise if the reply begins with the noise word.

        The mark is the noise word in the message's ``action`` field. Return the noise word, so that the reply gets the same mark.
        Return None if the message is not noise.
        """
        if self._noise is None or not re.match(rf"\W*{re.escape(self._noise)}\b", exchange.text):
            return None
        if not self.session.off_record:
            with services(self._memory).store.write() as tx:
                tx.set_action((exchange.message.id,), self._noise)
        return self._noise

    def _rounds(self, exchange: _Exchange, *, streamed: bool) -> Iterator[str]:
        """Call the model, run the tools that it requests, and repeat until it requests none. Yield the texts of the replies."""
        for number in range(_MAX_TOOL_ROUNDS + 2):
            reply = yield from self._call_model(exchange, streamed=streamed)
            if not reply.tool_calls:
                break
            exchange.turns.append(Turn(role="assistant", text=reply.text, tool_calls=reply.tool_calls))
            for index, call in enumerate(reply.tool_calls):
                use = self._run_tool(call, exchange, allowed=number < _MAX_TOOL_ROUNDS and index < _MAX_PARALLEL_CALLS)
                exchange.turns.append(Turn(role="tool", text=use.result.text, call=call.id))
        if not exchange.text.strip():
            exchange.text = "\n".join(use.result.text for use in exchange.uses if use.call.name in _READABLE_TOOLS)
            if not exchange.text:
                raise AnswerInvalid(
                    f"{exchange.model.name} returned an empty reply. Your message is stored. Rephrase it and try again."
                )
            yield exchange.text

    def _run_tool(self, call: ToolCall, exchange: _Exchange, *, allowed: bool) -> ToolUse:
        if not allowed:
            return ToolUse(call=call, result=self.tools.too_many())
        if exchange.message.action == OFF_RECORD and call.name not in READ_ONLY_TOOLS:
            return ToolUse(call=call, result=self.tools.withheld())
        sources = () if self.session.off_record else (exchange.message.id,)
        if call.name in _FORGETTING_TOOLS and sources:
            with services(self._memory).store.write() as tx:
                tx.set_action(sources, FORGETTING)
            self.digest_now()
        result = self.tools.run(call, sources=sources, seen=exchange.window)
        consent = exchange.message.consent
        if consent is not None and consent.wish == "forget" and call.name in _FORGETTING_TOOLS and not result.ok:
            result = self.tools.already_forgotten(call, consent) or result
        if consent is not None and consent.wish == "remember" and call.name in _STORING_TOOLS and result.ok:
            self._replace_asked(consent, result.data["id"])
        use = ToolUse(call=call, result=result)
        exchange.uses.append(use)
        return use

    def _replace_asked(self, consent: Consent, stored: str) -> None:
        """Remove the memories of a "remember" wish, after the model has stored the same content in a better wording.

        Holdfast stored these memories, in the user's own words, when the message was added. They are listed in ``consent``.
        ``stored`` is the id of the model's memory, which stays. Memories that existed before the wish, and that the wish
        only revised, also stay.
        """
        with services(self._memory).store.write() as tx:
            tx.remove_memories([each.id for each in consent.memories if each.id != stored and each.revision == 1])

    def _call_model(self, exchange: _Exchange, *, streamed: bool) -> Generator[str, None, Reply]:
        """Call the model once and return the reply. If the model rejects the tools, call it again without tools."""
        tools = self._offered(exchange) if self._supports_tools else ()
        before = exchange.text
        try:
            return (yield from self._read_reply(exchange, tools, streamed=streamed))
        except ModelError as error:
            # Exactly ModelError: the model refused the request. Subclasses mean that it failed to answer.
            refused = type(error) is ModelError and "tool" in str(error).casefold()
            if not (tools and refused and exchange.text == before):
                raise
        self._supports_tools = False
        return (yield from self._read_reply(exchange, (), streamed=streamed))

    def _offered(self, exchange: _Exchange) -> Sequence[Tool]:
        """Return the tools that the model may call for a message.

        If the message is off the record, return only read-only tools.
        """
        if exchange.message.action != OFF_RECORD:
            return self.tools.definitions
        return [tool for tool in self.tools.definitions if tool.name in READ_ONLY_TOOLS]

    def _read_reply(self, exchange: _Exchange, tools: Sequence[Tool], *, streamed: bool) -> Generator[str, None, Reply]:
        """Call the model once. Yield the text of its reply in pieces, and return the complete reply.

        ``tools`` are the tools that the model may call. With ``streamed``, the pieces are yielded as the model sends
        them. The text and the usage are added to ``exchange``.
        """
        usage, reply = Usage(calls=1, cost=None), None  # the usage of an interrupted call is unknown
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
            raise AnswerInvalid(f"{exchange.model.name} broke off its reply. Your message is stored. Try again.")
        return reply

    def _pieces(self, exchange: _Exchange, tools: Sequence[Tool], *, streamed: bool) -> Iterator[str | Reply]:
        model, turns = exchange.model, exchange.turns
        if streamed:
            yield from model.stream(turns, tools=tools, max_tokens=self._max_tokens, timeout=self._timeout)
            return
        reply = model.chat(turns, tools=tools, max_tokens=self._max_tokens, timeout=self._timeout)
        yield reply.text
        yield reply

    def _record_usage(self, exchange: _Exchange) -> None:
        """Record the calls, tokens and cost of the model calls.

        No energy is recorded, because only background jobs use the energy budget.
        """
        day, name = services(self._memory).clock.now(), exchange.model.name
        try:
            with services(self._memory).store.write(durable=False) as tx:
                for usage in exchange.usages:
                    tx.add_spend(spend_of(usage, day=day, purpose="chat", model=name))
        except StoreError as error:
            log.warning("The cost of a reply could not be recorded: %s", error)


def _cacheable(context: Context) -> str:
    """Return the context as text that starts with its stable part, so that prompt caches stay valid."""
    if context.text.startswith(context.stable):
        return context.text
    return "\n".join(part for part in (context.stable, context.changing) if part)


def _source(chat: "ChatModel | Callable[..., Any]") -> ChatSource:
    from holdfast.models.callables import custom_chat  # noqa: PLC0415  (only if one is used)

    own = custom_chat(chat)
    return ChatSource(name=own.name, load=lambda: own)
