"""Dataclasses that define a preset."""

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
    """Extractor that stores one paragraph of this kind per conversation."""

    kind: str
    max_characters: int = 200
    """Approximate length in characters."""
    timeout: float = 30.0
    """Seconds to wait for the model; after that, rules write the paragraph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseDocument:
    """Rule for the base document: one memory, under one key, that older summaries are worked into."""

    when: RollUp
    kind: str
    key: str | None = None
    """Key of the document; None means the name of the kind."""
    max_words: int = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCap:
    """Maximum number of memories of a kind per scope. Beyond it, memories are compacted."""

    kind: str
    max_memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRules:
    """Rules that group memories of a kind into topics."""

    kind: str
    min_conclusions: int = 3
    """Minimum number of conclusions in one conversation to create a topic."""
    max_lines: int = 50
    """Maximum number of lines on a page; a longer page is split."""
    detect: Literal["turn", "close"] = "close"
    """When to detect a conversation's topic: ``turn``, at each user message until it is found; ``close``, once at the end."""
    opens: bool = True
    """If True, topics are created automatically, and named by the chat model if there is one. If False, memories join a topic
    only if a person created it and they clearly belong to it; no model is called.
    """
    recent_kind: str | None = None
    """Kind of the notes that record each ended conversation's topic; None records nothing."""
    max_recent: int = 20
    """Maximum number of notes of ``recent_kind``; older ones expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPlan:
    """Recall settings for each turn of a conversation."""

    limit: int = 20
    kinds: tuple[str, ...] | None = None
    """Kinds to recall; None means every kind, and messages."""
    min_cosine: float | None = None
    """Minimum cosine of a memory, on the scale of the design's original embedder; None means no minimum."""
    measured_by: tuple[float, float] = (0.0, 1.0)
    """Calibration of the original embedder. ``min_cosine`` is converted from it to the embedder in use."""
    own_embedder: str | None = None
    """Name of the original embedder; if it is in use, ``min_cosine`` is compared without conversion."""
    accumulates: bool = False
    """If True, memories recalled in one turn stay in the context until the conversation ends."""

    def as_measured(self, cosine: float, calibration: tuple[float, float]) -> float:
        """Convert a cosine of an embedder with this calibration to the scale of the design's original embedder."""
        (low, high), (own_low, own_high) = self.measured_by, calibration
        return low + (cosine - own_low) / (own_high - own_low) * (high - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a system prompt. ``words`` names its texts in ``prompts/sections.toml``."""

    words: str
    source: Literal["pinned", "relevant", "all", "newest", "shared", "state", "page", "fixed"]
    """Content of the section.

    ``pinned``: pinned memories. ``relevant``: recalled memories. ``all``: all memories, or the relevant ones if there are too
    many. ``newest``: the newest memories. ``shared``: the newest memories that other apps share. ``state``: a state passed by the
    caller. ``page``: the page of the conversation's topic, which replaces the recalled memories. ``fixed``: a fixed text.
    """
    kinds: tuple[str, ...] | None = None
    max_items: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLayout:
    """The sections of a system prompt, in order."""

    sections: tuple[Section, ...]
    language: str | None = None
    """Language of the section texts; None means the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """How one assistant remembers: its kinds, extraction, recall and prompt layout."""

    name: str
    kinds: tuple[Kind, ...]
    default_kind: str
    extractor: Extractor | Paragraph = STATEMENTS
    """Extracts memories from a conversation, with a chat model or by rules."""
    extract_at: Literal["turn", "close", "never"] = "close"
    """When to extract: after each reply of the assistant, when the conversation ends, or never automatically."""
    reconcile_rules: ReconcileRules = field(default_factory=ReconcileRules)
    """Rules that reconcile new memories with known ones."""
    roll_up: RollUp | None = None
    """When to summarize older messages; None means never."""
    base: BaseDocument | None = None
    cap: MemoryCap | None = None
    topics: TopicRules | None = None
    topics_dir: str | None = None
    """Folder for topic pages that people can read and edit. A relative path starts at the store's folder. None: no files."""
    recall: RecallPlan = field(default_factory=RecallPlan)
    layout: PromptLayout | None = None
    """Layout of the context; None means the default block, which escapes stored text so that it cannot end the block."""
    window: int = 20
    """Number of messages of the current conversation that accompany the context."""
    tools: tuple[str, ...] = ("remember", "forget")
    """Memory tools offered to a model, from ``prompts/tools.toml``."""
    default_key: str | None = None
    """If set, a remembered ``key: value`` is split, and a text without a key gets this key. None stores texts unchanged."""
    embedder: str | None = None
    """Name of the design's embedder; None means the default one."""
    clean_every: timedelta = timedelta(hours=1)
    """Time between two purges of expired memories; each start also purges."""
    unused_after: timedelta | None = None
    """Expire automatically extracted memories that were not used for this long; None keeps them."""
    idle_after: timedelta | None = timedelta(minutes=7)
    """End and digest a session that had no message for this long; None leaves it open."""
    undo_window: timedelta = timedelta(days=30)
    """How long a forgotten memory can be restored."""
    message_retention: timedelta | None = None
    """How long messages are kept after their session was digested; None keeps them."""
    context_tokens: int = 800
    languages: tuple[str, ...] = ("en", "es")
    """Languages to consider for a short query, in addition to its detected language."""

    def kind(self, name: str | None) -> Kind:
        """Return a kind by name, or the default kind."""
        wanted = name or self.default_kind
        for kind in self.kinds:
            if kind.name == wanted:
                return kind
        known = ", ".join(kind.name for kind in self.kinds)
        raise InvalidInput(f"The preset {self.name!r} has no kind {wanted!r}. Its kinds are: {known}.")
