"""A conversation in the terminal: send each message to the assistant and print the result."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import click

from holdfast.agent.agent import Agent, Answer
from holdfast.cli.console import fail, one_error
from holdfast.cli.output import memory_line, safe
from holdfast.cli.terminal_chat.output import ChatOutput, hits_json
from holdfast.errors import HoldfastError, NoChatModel
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.types import REDO, Memory

if TYPE_CHECKING:
    from collections.abc import Generator

    from holdfast.engine import Engine

_DIGEST_TIMEOUT_SECONDS = 300.0
"""Maximum time to wait at the end of the chat for the session to be digested, in seconds."""
_POLL_SECONDS = 0.05


class TerminalChat:
    """A conversation with the assistant, at a terminal or through a pipe."""

    def __init__(self, memory: "Engine", agent: Agent, output: ChatOutput, *, begin: Callable[[], Agent], streamed: bool) -> None:
        self.memory = memory
        self.agent = agent
        self.output = output
        self._begin = begin
        self._streamed = streamed
        self._reported_no_model = False
        self.unanswered = False
        """True if the model failed to answer the last message."""

    # One turn.

    def say(self, text: str) -> None:
        """Send a message and print the reply. Errors are printed, and the conversation continues."""
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
        # Close the stream at once on Ctrl-C, so that the interrupted reply is stored before anything else happens.
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
        self._say_redacted()
        for use in answer.tool_uses:
            self.output.aside(safe(f"[{use.call.name}] {use.result.text}"))

    def _without_model(self, error: NoChatModel) -> None:
        if not self._reported_no_model:
            self._reported_no_model = True
            self.output.aside(self.output.text("no_model"))
        context = self.agent.context
        # With a notice, an empty block does not mean that nothing relevant is stored.
        known = context.text or "\n".join(context.notices) if context else ""
        prompt = safe(known) if known else self.output.text("nothing_to_tell")
        value = self._turn(message_id=error.message_id, reply=None)
        self.output.show({**value, **one_error(error.code, str(error))}, [prompt])
        self._say_redacted()

    def _say_consent(self) -> None:
        """If the last message contained a wish about memory, print what was done."""
        done = self.agent.consent
        if done is None:
            return
        name = "forget_nothing" if done.wish == "forget" and done.undo is None else done.wish
        listed = "; ".join(map(str, done.memories)) or "-"
        self.output.aside(
            safe(self.output.text(f"wish_{name}", memories=listed, messages=len(done.messages), undo=done.undo or ""))
        )

    def _say_redacted(self) -> None:
        self._say_consent()
        if self.agent.redacted:
            self.output.aside(safe(self.output.text("redacted", secrets=", ".join(map(str, self.agent.redacted)))))

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
        message = self.output.text("stopped")
        self.output.show({**self._turn(reply=None), **one_error("interrupted", message)}, [""])
        self.output.aside(message)

    def _turn(self, **parts: Any) -> dict[str, Any]:
        context = self.agent.context
        memory = {
            "context": context.text if context else "",
            "recalled": hits_json(context.hits) if context else [],
            "notices": context.notices if context else (),
            "redacted": self.agent.redacted,
            "consent": self.agent.consent,
        }
        return {"session": self.agent.session.id, **parts, **memory}

    # The end of a session.

    def start_new_session(self) -> None:
        """End the session without waiting for its digest, and start another."""
        self.agent.end()
        self.agent = self._begin()

    def finish(self) -> None:
        """End the session, digest it now, and print the memories extracted from it."""
        session, messages = self.agent.session, self.agent.session.messages()
        self.agent.end()
        if session.off_record:
            self.output.show({"ended": session.id, "learned": []}, [self.output.text("left_off_record")])
            return
        if not messages:
            return
        try:
            complete = self._digest(session.id)
        except KeyboardInterrupt:
            complete = False
        extracted = services(self.memory).store.memories(
            MemoryFilter(sources=[message.id for message in messages], newest_first=False)
        )
        self.output.show(
            {"ended": session.id, "learned": extracted, "complete": complete}, self._extracted_lines(extracted, complete=complete)
        )

    def _extracted_lines(self, memories: list[Memory], *, complete: bool) -> list[str]:
        later = [] if complete else [self.output.text("later")]
        if memories:
            return [self.output.text("learned"), *(f"  {memory_line(memory)}" for memory in memories), *later]
        if self.memory.preset.extract_at == "never":
            return [self.output.text("never_learns", preset=self.memory.preset.name)]
        return later or [self.output.text("learned_nothing")]

    def _digest(self, session: str) -> bool:
        """Run jobs until the session has no more jobs, or wait for the thread that runs them.

        Return True if no job of the session is queued or running any longer. Return False if a job failed and is to be
        retried later, or if jobs are left after five minutes. Redo jobs do not count.
        """
        until, announced = time.monotonic() + _DIGEST_TIMEOUT_SECONDS, False
        while time.monotonic() < until:
            queued = self.memory.jobs(states=["queued", "running"])
            waiting = [
                job for job in queued if job.payload.get("session") == session and job.kind != REDO
            ]  # that one waits for the model
            if not waiting:
                return True
            if any(job.state == "queued" and job.attempt for job in waiting):  # it failed and is retried later
                return False
            if not announced and services(self.memory).chat.name:
                announced = True
                self.output.aside(self.output.text("learning"))
            if not services(self.memory).jobs.run_one():
                time.sleep(_POLL_SECONDS)
        return False
