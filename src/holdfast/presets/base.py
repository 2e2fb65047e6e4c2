"""What a preset says."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from holdfast.errors import InvalidInput
from holdfast.policies.captures import STATEMENTS
from holdfast.policies.consolidate import ConsolidationRules
from holdfast.policies.learning import Capture
from holdfast.policies.rollup import RollUp
from holdfast.types import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Each conversation leaves one paragraph of this kind."""

    kind: str
    longest: int = 200
    """About how many characters it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Summaries are worked into one standing document: the one value of a key."""

    when: RollUp
    kind: str
    most_words: int = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """No more than so many memories of a kind in a scope; one too many is compacted away."""

    kind: str
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """Memories of a kind gather under topics."""

    kind: str
    least_for_new: int = 3
    """Conclusions one conversation must leave for a topic of its own."""
    most_lines: int = 50
    """A page longer than this is split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPlan:
    """What a conversation is reminded of at each turn."""

    limit: int = 20
    kinds: tuple[str, ...] | None = None
    """Only these; None is every kind, and raw messages."""
    least_cosine: float | None = None
    """How near a memory must be, as the design's own embedder measures it; None is no limit."""
    measured_by: tuple[float, float] = (0.0, 1.0)
    """The calibration of that embedder, by which the limit is carried over to the one in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a system prompt; its words are in ``prompts/sections.toml`` under ``words``."""

    words: str
    source: Literal["pinned", "relevant", "all", "newest", "state"]
    """What fills it: pinned memories, those a recall finds, all (or the relevant ones of too many), the newest, or a given state."""
    kinds: tuple[str, ...] | None = None
    most: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A system prompt's parts, in their order, in the design's own words."""

    sections: tuple[Section, ...]
    language: str | None = None
    """The language of those words; None is the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One assistant's way of remembering."""

    name: str
    kinds: tuple[Kind, ...]
    default_kind: str
    capture: Capture | Paragraph = STATEMENTS
    """What a conversation leaves, by a model or by rules."""
    capture_at: Literal["turn", "close", "never"] = "close"
    """When: after each of the assistant's replies, when the conversation ends, or not by itself."""
    consolidation: ConsolidationRules = field(default_factory=ConsolidationRules)
    """How what is new meets what is known."""
    roll_up: RollUp | None = None
    """When older messages become a summary."""
    base: Base | None = None
    cap: Cap | None = None
    topics: Topics | None = None
    recall: RecallPlan = field(default_factory=RecallPlan)
    layout: Layout | None = None
    """How the context is laid out; None is the default block, which nothing stored can close."""
    window: int = 20
    """Messages of the present conversation that go along with the context."""
    default_key: str | None = None
    """What is remembered as ``key: value`` is taken apart, and what has no key gets this one; None leaves texts whole."""
    unused_after: timedelta | None = None
    """What was learnt by itself and never used for so long expires."""
    idle_after: timedelta | None = timedelta(minutes=7)
    """A session with no message for so long is closed and digested; None leaves it open."""
    undo_window: timedelta = timedelta(days=30)
    """How long something forgotten can still be brought back."""
    message_retention: timedelta | None = None
    """How long raw messages are kept after their session was digested; None keeps them."""
    context_tokens: int = 800
    languages: tuple[str, ...] = ("en", "es")
    """The languages a short question may be in, besides the one it shows."""

    def kind(self, name: str | None) -> Kind:
        """Return a kind by its name, or the default one."""
        wanted = name or self.default_kind
        for kind in self.kinds:
            if kind.name == wanted:
                return kind
        known = ", ".join(kind.name for kind in self.kinds)
        raise InvalidInput(f"The preset {self.name!r} has no kind {wanted!r}; it has: {known}.")
