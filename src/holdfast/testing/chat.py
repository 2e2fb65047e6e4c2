"""A chat model with scripted answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from holdfast.chat import Reply, Schema, Tool, Turn, Usage
from holdfast.errors import ModelError

__all__ = ["RecordedCall", "ScriptedChat"]

ScriptedAnswer: TypeAlias = str | Reply | ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """The arguments of one call to a ``ScriptedChat``."""

    turns: tuple[Turn, ...]
    schema: Schema | None
    tools: tuple[Tool, ...]
    max_tokens: int
    timeout: float

    @property
    def text(self) -> str:
        """The text of all turns that the call passed to the model, one after the other."""
        return "\n".join(turn.text for turn in self.turns)


class ScriptedChat:
    """A chat model for tests that returns the given answers in order, or the result of ``respond``.

    If an answer is an exception, it is raised. When the answers run out, a call raises ``ModelError``. ``asked`` is the list of
    all calls so far.
    """

    def __init__(
        self, *answers: ScriptedAnswer, respond: Callable[[RecordedCall], ScriptedAnswer] | None = None, name: str = "scripted"
    ) -> None:
        self.name = name
        self.asked: list[RecordedCall] = []
        self._answers = list(answers)
        self._respond = respond

    def chat(
        self,
        turns: Sequence[Turn],
        *,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> Reply:
        """Record the call and return the next answer."""
        call = RecordedCall(turns=tuple(turns), schema=schema, tools=tuple(tools), max_tokens=max_tokens, timeout=timeout)
        self.asked.append(call)
        answer = self._next(call)
        if isinstance(answer, ModelError):
            raise answer
        if isinstance(answer, Reply):
            return answer
        words = sum(len(turn.text.split()) for turn in turns)
        return Reply(text=answer, usage=Usage(calls=1, input_tokens=words, output_tokens=len(answer.split())))

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Record the call. Yield the next answer word by word, then the complete reply."""
        reply = self.chat(turns, tools=tools, max_tokens=max_tokens, timeout=timeout)
        words = reply.text.split(" ")
        yield from (
            word if last else f"{word} " for last, word in ((n == len(words) - 1, w) for n, w in enumerate(words)) if word
        )
        yield reply

    def _next(self, call: RecordedCall) -> ScriptedAnswer:
        if self._respond is not None:
            return self._respond(call)
        if not self._answers:
            return ModelError("The script has no more answers. Give ScriptedChat more, or a respond function.")
        return self._answers.pop(0)
