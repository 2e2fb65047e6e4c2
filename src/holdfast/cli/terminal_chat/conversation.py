"""One conversation in the terminal: what is typed becomes a message, and what comes of it is printed."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import click

from holdfast.agent.agent import Agent, Answer
from holdfast.cli.console import fail, one_error
from holdfast.cli.output import memory_line, safe
from holdfast.cli.terminal_chat.output import ChatOutput, recalled
from holdfast.errors import HoldfastError, NoChatModel
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.types import Memory

if TYPE_CHECKING:
    from collections.abc import Generator

    from holdfast.engine import Engine

_DIGEST_TIMEOUT_SECONDS = 300.0
"""Seconds that leaving may wait for what the conversation leaves."""
_POLL_SECONDS = 0.05


class TerminalChat:
    """A person at a terminal, or a script at a pipe, and the assistant."""

    def __init__(self, memory: "Engine", agent: Agent, output: ChatOutput, *, begin: Callable[[], Agent], streamed: bool) -> None:
        self.memory = memory
        self.agent = agent
        self.output = output
        self._begin = begin
        self._streamed = streamed
        self._told_of_no_model = False
        self.unanswered = False
        """Whether the model failed to answer the last message."""

    # A turn.

    def say(self, text: str) -> None:
        """Take a message and print the reply; whatever goes wrong is told, and the conversation goes on."""
        self.unanswered = False
        try:
            answer = self._stream(text) if self._streamed else self.agent.reply(text)
        except KeyboardInterrupt:
            self._stopped()
        except NoChatModel as error:
            self._without_model(error)
        except HoldfastError as error:
            self._failed(error)
        else:
            self._answered(answer)

    def _stream(self, text: str) -> Answer:
        # Closed at once when it is stopped, so that what was said is kept before anything else happens.
        with closing(cast("Generator[str | Answer]", self.agent.stream(text))) as pieces:
            for piece in pieces:
                if isinstance(piece, Answer):
                    return piece
                self.output.piece(piece)
        raise AssertionError("a stream ends with its answer")

    def _answered(self, answer: Answer) -> None:
        uses = [
            {"name": use.call.name, "arguments": use.call.arguments, "ok": use.result.ok, "result": use.result.text}
            for use in answer.tool_uses
        ]
        value = self._turn(message_id=answer.message_id, reply_id=answer.reply_id, reply=answer.text, tools=uses)
        self.output.show({**value, "usage": answer.usage}, [""] if self._streamed else [safe(answer.text)])
        for use in answer.tool_uses:
            self.output.aside(safe(f"[{use.call.name}] {use.result.text}"))

    def _without_model(self, error: NoChatModel) -> None:
        if not self._told_of_no_model:
            self._told_of_no_model = True
            self.output.aside(self.output.words("no_model"))
        context = self.agent.context
        told = safe(context.text) if context and context.text else self.output.words("nothing_to_tell")
        value = self._turn(message_id=error.message_id, reply=None)
        self.output.show({**value, **one_error(error.code, str(error))}, [told])

    def _failed(self, error: HoldfastError) -> None:
        self.unanswered = True
        if self.output.as_json:
            self.output.show({**self._turn(reply=None), **one_error(error.code, str(error))}, [])
            return
        self.output.end_pieces()
        if self._streamed:
            click.echo()
        fail(one_error(error.code, str(error)), as_json=False)

    def _stopped(self) -> None:
        words = self.output.words("stopped")
        self.output.show({**self._turn(reply=None), **one_error("interrupted", words)}, [""])
        self.output.aside(words)

    def _turn(self, **parts: Any) -> dict[str, Any]:
        context = self.agent.context
        told = {"context": context.text if context else "", "recalled": recalled(context.hits) if context else []}
        return {"session": self.agent.session.id, **parts, **told}

    # Its end.

    def start_new_session(self) -> None:
        """End the conversation without waiting for what it leaves, and begin another."""
        self.agent.end()
        self.agent = self._begin()

    def finish(self) -> None:
        """End the conversation, go through it now, and say what it left."""
        session, said = self.agent.session, self.agent.session.messages()
        self.agent.end()
        if session.off_record:
            self.output.show({"ended": session.id, "learnt": []}, [self.output.words("left_off_record")])
            return
        if not said:
            return
        try:
            whole = self._digest(session.id)
        except KeyboardInterrupt:
            whole = False
        extracted = services(self.memory).store.memories(
            MemoryFilter(sources=[message.id for message in said], newest_first=False)
        )
        self.output.show(
            {"ended": session.id, "learnt": extracted, "complete": whole}, self._extracted_lines(extracted, whole=whole)
        )

    def _extracted_lines(self, memories: list[Memory], *, whole: bool) -> list[str]:
        later = [] if whole else [self.output.words("later")]
        if memories:
            return [self.output.words("learnt"), *(f"  {memory_line(memory)}" for memory in memories), *later]
        if self.memory.preset.extract_at == "never":
            return [self.output.words("never_learns", preset=self.memory.preset.name)]
        return later or [self.output.words("learnt_nothing")]

    def _digest(self, session: str) -> bool:
        """Do the conversation's work, or wait for the thread that does it; False when it has to wait for later."""
        until, told = time.monotonic() + _DIGEST_TIMEOUT_SECONDS, False
        while time.monotonic() < until:
            waiting = [job for job in self.memory.jobs(states=["queued", "running"]) if job.payload.get("session") == session]
            if not waiting:
                return True
            if any(job.state == "queued" and job.attempt for job in waiting):  # it failed, and is tried again later
                return False
            if not told and services(self.memory).chat.name:
                told = True
                self.output.aside(self.output.words("learning"))
            if not services(self.memory).jobs.run_one():
                time.sleep(_POLL_SECONDS)
        return False
