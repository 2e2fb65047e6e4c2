"""The ``Preset`` dataclass, and the dataclasses of its parts, such as ``TopicRules`` and ``RecallPlan``."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal

from holdfast.errors import InvalidInput
from holdfast.learning.capture import Extractor
from holdfast.learning.capture_kinds import STATEMENTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.learning.summaries.roll_up import RollUp
from holdfast.types import MIN_TRUST, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Settings of the extractor that stores each conversation as one paragraph, in a memory of the given kind."""

    kind: str
    max_characters: int = 200
    """Approximate maximum length of the paragraph, in characters."""
    timeout: float = 30.0
    """Maximum seconds to wait for the model. After that, the paragraph is written by the rule-based fallback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseDocument:
    """Settings of the base document: a single memory into which older summaries are merged."""

    when: RollUp
    kind: str
    key: str | None = None
    """Key of the memory. If None, the name of its kind is the key."""
    max_words: int = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCap:
    """Maximum number of memories of one kind per scope. If there are more, some are deleted or merged."""

    kind: str
    max_memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRules:
    """Settings for grouping the memories of one kind into topics. A topic is shown as a page with one line per memory."""

    kind: str
    min_conclusions: int = 3
    """Minimum number of memories that must be extracted from a conversation before a new topic is created for them."""
    max_lines: int = 50
    """Maximum number of lines on a page; a longer page is split."""
    detect: Literal["turn", "close"] = "close"
    """When to detect a conversation's topic.

    ``turn``: at each message of the user, until the topic is found. ``close``: once, when the conversation ends.
    """
    opens: bool = True
    """If True, topics are created automatically, and the chat model (if there is one) names them.

    If False, only people create topics, and a memory joins one only if it clearly belongs there. No model is called.
    """
    recent_kind: str | None = None
    """Kind of the notes that record the topic of each finished conversation. If None, no such notes are stored."""
    max_recent: int = 20
    """Maximum number of notes of ``recent_kind``; older ones expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPlan:
    """Settings of the recall that runs at each turn of a conversation."""

    limit: int = 20
    kinds: tuple[str, ...] | None = None
    """Kinds of memory to recall. If None, all kinds of memory and all messages are searched."""
    min_cosine: float | None = None
    """Minimum cosine of the query and a recalled memory, or None for no minimum.

    The number applies to the embedder whose calibration is ``measured_by``.
    """
    intended_cosine: float | None = None
    """The value of ``min_cosine`` in the preset's design. The user's settings can change ``min_cosine``, but not this value.

    The difference between the two values raises or lowers the relevance floor (see :attr:`floor_shift`).
    """
    measured_by: tuple[float, float] = (0.0, 1.0)
    """Calibration of the embedder for which ``min_cosine`` was chosen.

    If another embedder is in use, the calibration is needed to convert ``min_cosine`` to the scale of that other embedder.
    """
    own_embedder: str | None = None
    """Name of the embedder for which ``min_cosine`` was chosen. With this embedder, ``min_cosine`` is not converted."""
    cosine_scores: bool = False
    """If True, the score of a hit is its cosine, and hits below ``min_cosine`` are left out.

    With another embedder, cosines are first converted to the scale of ``measured_by``.
    """
    accumulates: bool = False
    """If True, memories recalled in one turn stay in the context until the conversation ends."""
    max_messages: int = 0
    """Maximum number of earlier messages of the user that a context block shows besides the memories.

    It applies only if there is no chat model. Rules extract less than a model, and the user's own words fill the gaps.
    """

    @property
    def floor_shift(self) -> float:
        """How far to raise the relevance floor (the minimum strength of a relevant hit) for a changed ``min_cosine``.

        The result is ``(min_cosine - intended_cosine) / (high - low)``. ``intended_cosine`` is the preset's own minimum,
        and ``low`` and ``high`` are the two cosines in ``measured_by``. The result is negative if ``min_cosine`` was
        lowered, and 0 if one of the two minimums is None.
        """
        if self.min_cosine is None or self.intended_cosine is None:
            return 0.0
        low, high = self.measured_by
        return (self.min_cosine - self.intended_cosine) / (high - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a system prompt. ``words`` is its key in ``prompts/sections.toml``, which contains its fixed phrases."""

    words: str
    source: Literal["pinned", "relevant", "all", "newest", "shared", "state", "page", "fixed"]
    """Source of the section's content.

    ``pinned``: pinned memories. ``relevant``: recalled memories. ``all``: all memories, or only the relevant ones if all do not
    fit. ``newest``: the newest memories. ``shared``: the newest memories that other apps share. ``state``: the state that the
    caller passes. ``page``: the page of the conversation's topic; it replaces the recalled memories. ``fixed``: a fixed text.
    """
    kinds: tuple[str, ...] | None = None
    max_items: int = 20
    max_characters: int | None = None
    """Maximum length of one memory's text in the section. A longer text is cut, with an ellipsis. If None, no text is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLayout:
    """The sections of a system prompt, in order."""

    sections: tuple[Section, ...]
    language: str | None = None
    """Language of the section texts. If None, the user's language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Defines how one assistant remembers: its kinds of memory, extraction, recall and prompt layout."""

    name: str
    kinds: tuple[Kind, ...]
    default_kind: str
    extractor: Extractor | Paragraph = STATEMENTS
    """The extractor of memories from a conversation. It uses a chat model, or rules if there is none."""
    extract_at: Literal["turn", "close", "never"] = "close"
    """When to extract memories.

    ``turn``: after each reply of the assistant. ``close``: when the conversation ends. ``never``: only on request.
    """
    model_stores: bool = False
    """True if a chat model stores memories itself, with its tools. Then memories are extracted only if there is no chat model."""
    reconcile_rules: ReconcileRules = field(default_factory=ReconcileRules)
    """Rules that decide whether a new memory replaces or repeats an existing one."""
    roll_up: RollUp | None = None
    """When to summarize older messages. If None, they are never summarized."""
    base: BaseDocument | None = None
    cap: MemoryCap | None = None
    topics: TopicRules | None = None
    topics_dir: str | None = None
    """Folder for topic pages that people can read and edit. If None, no files are written.

    A relative path starts at the store's folder.
    """
    recall: RecallPlan = field(default_factory=RecallPlan)
    layout: PromptLayout | None = None
    """Layout of the context block in the system prompt. If None, the default block is used."""
    window: int = 20
    """Number of recent messages of the conversation that are sent along with the context.

    A chat model gets them as alternating turns, starting with a turn of the user. For a chat model, this is the maximum
    number of turns.
    """
    tools: tuple[str, ...] = ("remember", "forget")
    """Names of the memory tools that a model may call. They are defined in ``prompts/tools.toml``."""
    default_key: str | None = None
    """Key of a text that is remembered without a key. If None, such a text has no key.

    If a default key is set and the text itself starts with a key, as in "city: Madrid", the text is split into key and value.
    """
    embedder: str | None = None
    """Name of the embedder that the preset's design uses. If None, the default embedder is used."""
    clean_every: timedelta = timedelta(hours=1)
    """Time between two purges of expired memories. There is also a purge at each start."""
    unused_after: timedelta | None = None
    """Time after which an automatically extracted memory expires if it was neither used nor stated again.

    If None, memories do not expire for lack of use.
    """
    idle_after: timedelta | None = timedelta(minutes=7)
    """Time without a message after which a session is ended and memories are extracted from it. If None, sessions stay open."""
    undo_window: timedelta = timedelta(days=30)
    """Time during which the forgetting of a memory can be undone. After that, the memory is purged."""
    keep_off_record: bool = False
    """If True, messages that the user asked not to keep stay in the log after their session. They are never recalled."""
    message_retention: timedelta | None = None
    """Time for which messages are kept after memories were extracted from their session. If None, messages are kept forever."""
    context_tokens: int = 800
    min_trust: float = MIN_TRUST
    """Minimum trust of memories and messages that recall returns and context blocks show, unless the caller wants all.

    A memory with less trust never supersedes a memory that the user stored explicitly.
    """
    languages: tuple[str, ...] = ("en", "es")
    """Languages in which the words of a query are stemmed, in addition to its detected language.

    They are needed because the language of a short query is often unclear.
    """

    @property
    def learned_kinds(self) -> tuple[Kind, ...]:
        """The kinds that models may read and write: all kinds except plain kinds.

        If all kinds are plain, models may use all of them.
        """
        return tuple(kind for kind in self.kinds if not kind.plain) or self.kinds

    @property
    def shows_messages(self) -> bool:
        """True if the context blocks of an engine without a chat model can show the user's earlier messages.

        Without a chat model, rules extract the memories and can miss facts. The earlier messages contain these facts.
        """
        return bool(self.recall.max_messages) or self.model_stores

    def with_model(self) -> "Preset":
        """Return a copy of this preset for an engine with a chat model. This preset itself is for an engine without one.

        In the copy, context blocks show no earlier messages. If the model stores memories itself, nothing is extracted.
        """
        recall = replace(self.recall, max_messages=0)
        return replace(self, recall=recall, extract_at="never" if self.model_stores else self.extract_at)

    def is_plain(self, name: str) -> bool:
        """Return True if memories of this kind are stored exactly as given.

        Return False for a kind that the preset does not have.
        """
        return any(kind.plain for kind in self.kinds if kind.name == name)

    def kind(self, name: str | None) -> Kind:
        """Return the kind with this name, or the default kind if ``name`` is None."""
        wanted = name or self.default_kind
        for kind in self.kinds:
            if kind.name == wanted:
                return kind
        known = ", ".join(kind.name for kind in self.kinds)
        raise InvalidInput(f"The preset {self.name!r} has no kind {wanted!r}. Its kinds are: {known}.")
