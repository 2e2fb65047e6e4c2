"""The chat model protocol: a model receives a list of turns, and returns a reply with its cost.

Implementations are in ``holdfast.models``. Any Python callable can serve as a chat model, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from holdfast.errors import ModelError
from holdfast.types import Spend

Schema: TypeAlias = Mapping[str, Any]
"""A JSON Schema. Only the keywords ``type``, ``properties``, ``required``, ``items`` and ``enum`` are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call. ``parameters`` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request to call a function."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One entry of a model's input. A ``tool`` turn holds the result of the call whose id is ``call``."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Usage and cost of model calls. ``cost`` is in US dollars: 0 for local models, None if the price is unknown."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        unknown = self.cost is None or other.cost is None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            seconds=self.seconds + other.seconds,
            cost=None if unknown else (self.cost or 0.0) + (other.cost or 0.0),
        )


def spend_of(usage: Usage, *, day: datetime, purpose: str, model: str, energy: float = 0.0) -> Spend:
    """Return a spending record for one day: the calls, tokens, time and cost in ``usage``, with their purpose and model.

    ``energy`` is the number of energy units that the calls have used.
    """
    return Spend(
        day=day.date().isoformat(),
        purpose=purpose,
        model=model,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        seconds=usage.seconds,
        cost=usage.cost or 0.0,
        unpriced=usage.calls if usage.cost is None else 0,
        energy=energy,
    )


def usage_of(error: ModelError) -> Usage:
    """Return the usage of the model calls that led to an error. If the error has no usage, return an empty one."""
    return error.usage if isinstance(error.usage, Usage) else Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's output. ``stop`` is ``length`` if the output was cut off."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    stop: Literal["end", "length", "tool"] = "end"
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """Interface of a chat model. Every failure raises a :class:`~holdfast.errors.ModelError` whose message says what to do."""

    @property
    def name(self) -> str:
        """Full name, such as ``openai:gpt-4o-mini``."""
        ...

    def chat(
        self,
        turns: Sequence[Turn],
        *,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> Reply:
        """Return a reply. With ``schema``, the reply is JSON that follows the schema, if the model can enforce a schema."""
        ...

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Yield the reply piece by piece, and finally the complete :class:`Reply`."""
        ...
