"""What a preset says."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from holdfast.errors import InvalidInput
from holdfast.learning.capture import Extractor
from holdfast.learning.capture_kinds import STATEMENTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.learning.summaries.roll_up import RollUp
from holdfast.types import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Each conversation leaves one paragraph of this kind."""

    kind: str
    max_characters: int = 200
    """About how many characters it has."""
    timeout: float = 30.0
    """Seconds a model has for it; after that rules write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseDocument:
    """Summaries are worked into one standing document: the one value of a key."""

    when: RollUp
    kind: str
    key: str | None = None
    """The key it is kept under; None is the kind's name."""
    max_words: int = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCap:
    """No more than so many memories of a kind in a scope; one too many is compacted away."""

    kind: str
    max_memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRules:
    """Memories of a kind gather under topics."""

    kind: str
    min_conclusions: int = 3
    """Conclusions one conversation must leave for a topic of its own."""
    max_lines: int = 50
    """A page longer than this is split."""
    detect: Literal["turn", "close"] = "close"
    """When a conversation's topic is looked for: at each thing the user says until it is found, or once at the end."""
    opens: bool = True
    """Whether topics are opened without being asked for, named by a model where there is one; else what is clearly about
    a topic that a person has opened goes there, and no model is asked."""
    recent_kind: str | None = None
    """The kind that notes at each close which topic it was about; None notes nothing."""
    max_recent: int = 20
    """Such notes that are kept; older ones expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPlan:
    """What a conversation is reminded of at each turn."""

    limit: int = 20
    kinds: tuple[str, ...] | None = None
    """Only these; None is every kind, and raw messages."""
    min_cosine: float | None = None
    """How near a memory must be, as the design's own embedder measures it; None is no limit."""
    measured_by: tuple[float, float] = (0.0, 1.0)
    """The calibration of that embedder, by which the limit is carried over to the one in use."""
    own_embedder: str | None = None
    """The design's own embedder: with it, the limit is its raw cosine."""
    accumulates: bool = False
    """What one turn brought to mind stays in mind until the conversation closes."""

    def as_measured(self, cosine: float, calibration: tuple[float, float]) -> float:
        """Return a cosine of an embedder with this calibration as the design's own embedder would have measured it."""
        (low, high), (own_low, own_high) = self.measured_by, calibration
        return low + (cosine - own_low) / (own_high - own_low) * (high - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a system prompt; its words are in ``prompts/sections.toml`` under ``words``."""

    words: str
    source: Literal["pinned", "relevant", "all", "newest", "shared", "state", "page", "fixed"]
    """What fills it: pinned memories, those a recall finds, all (or the relevant ones of too many), the newest, the
    newest that other apps share, a given state, the page of the conversation's topic (which takes the place of what a recall finds), or words alone."""
    kinds: tuple[str, ...] | None = None
    max_items: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLayout:
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
    extractor: Extractor | Paragraph = STATEMENTS
    """What a conversation leaves, by a model or by rules."""
    extract_at: Literal["turn", "close", "never"] = "close"
    """When: after each of the assistant's replies, when the conversation ends, or not by itself."""
    reconcile_rules: ReconcileRules = field(default_factory=ReconcileRules)
    """How what is new meets what is known."""
    roll_up: RollUp | None = None
    """When older messages become a summary."""
    base: BaseDocument | None = None
    cap: MemoryCap | None = None
    topics: TopicRules | None = None
    topics_dir: str | None = None
    """The folder in which topics are kept as pages that people can read and edit, beside the store where it is a
    relative one; None keeps no files."""
    recall: RecallPlan = field(default_factory=RecallPlan)
    layout: PromptLayout | None = None
    """How the context is laid out; None is the default block, which nothing stored can close."""
    window: int = 20
    """Messages of the present conversation that go along with the context."""
    tools: tuple[str, ...] = ("remember", "forget")
    """The memory tools a model is offered, of those in ``prompts/tools.toml``."""
    default_key: str | None = None
    """What is remembered as ``key: value`` is taken apart, and what has no key gets this one; None leaves texts whole."""
    embedder: str | None = None
    """The embedding model the design names; None is the default one."""
    clean_every: timedelta = timedelta(hours=1)
    """How often what has expired is purged, besides at every start."""
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
