"""What a chat model is to the engine: turns go in, a reply comes out, and what it cost is counted.

The models themselves are in ``holdfast.models``; any Python callable can be one, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from holdfast.errors import ModelError
from holdfast.types import Spend

Schema: TypeAlias = Mapping[str, Any]
"""A JSON Schema of the plain sort: types, properties, required, items, enum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function a model may call; ``parameters`` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to have a function called."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of what a model is shown. ``tool`` turns answer the call named by ``call``."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls have cost. ``cost`` is in US dollars; 0 for local models, None where the price is not known."""

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
    """Return what calls have cost as it is noted for a day."""
    return Spend(
        day=day.date().isoformat(), purpose=purpose, model=model, calls=usage.calls, input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens, seconds=usage.seconds, cost=usage.cost or 0.0,
        unpriced=usage.calls if usage.cost is None else 0, energy=energy,
    )  # fmt: skip


def usage_of(error: ModelError) -> Usage:
    """Return what the calls behind an error have cost; nothing when none was made."""
    return error.usage if isinstance(error.usage, Usage) else Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered. ``stop`` is ``length`` when it was cut off."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    stop: Literal["end", "length", "tool"] = "end"
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """Answers turns. Every failure is a :class:`~holdfast.errors.ModelError` that says what to do."""

    @property
    def name(self) -> str:
        """Its full name, such as ``openai:gpt-4o-mini``."""
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
        """Answer; with ``schema``, in JSON of that shape where the model can be held to it."""
        ...

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Answer piece by piece; the last thing yielded is the whole reply."""
        ...
