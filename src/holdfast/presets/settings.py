"""The settings of the source designs, by their own names and with their own defaults.

Each is a small object that a preset takes up with ``applied_to``: nothing of a design can be set elsewhere. A name
that a design does not have, and a value that makes no sense, is a ``SettingsError`` that says what would.
"""

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from holdfast.errors import SettingsError
from holdfast.learning.summaries.roll_up import RollUp
from holdfast.models.local.registry import MODELS
from holdfast.models.remote.providers import PROVIDERS
from holdfast.presets.base import Paragraph, Preset


def _setting(
    default: Any, help: str, *, minimum: float | None = None, maximum: float | None = None, above: float | None = None
) -> Any:
    """Return a field with its explanation and the bounds of its value."""
    return field(default=default, metadata={"help": help, "least": minimum, "most": maximum, "above": above})


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSettings:
    """What the settings of every design can do."""

    preset: ClassVar[str]
    """The preset they belong to."""

    def __post_init__(self) -> None:
        for item in fields(self):
            object.__setattr__(self, item.name, _checked(self.preset, item, getattr(self, item.name)))

    @property
    def store(self) -> str | None:
        """Where the design keeps its memories; None leaves it to the store's own setting."""
        return None

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset as these settings have it."""
        return preset


@dataclass(frozen=True, slots=True, kw_only=True)
class RostroSettings(DesignSettings):
    """Rostro's ``memory:`` table."""

    preset: ClassVar[str] = "rostro"
    session_timeout_minutes: float = _setting(7, "Minutes of silence after which a conversation is digested.", above=0)
    topics_dir: str = _setting("data/topics", "The folder of the topic pages.")
    topic_split_threshold_lines: int = _setting(50, "A page with more lines is split.", minimum=2)
    min_conclusions_for_new_topic: int = _setting(3, "Conclusions that make a topic of their own.", minimum=1)
    db_path: str = _setting("data/memory.db", "The file of the store.")
    embedding_similarity_threshold: float = _setting(
        0.7, "How near a memory must be, as the cosine of the design's own embedder.", minimum=0, maximum=1
    )
    max_memories_per_search: int = _setting(5, "Memories that one message brings to mind.", minimum=1)
    index_max_entries: int = _setting(20, "Entries of the index of recent topics.", minimum=1)

    @property
    def store(self) -> str:
        """The file of the store."""
        return self.db_path

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset as these settings have it."""
        topics = preset.topics and replace(
            preset.topics,
            max_lines=self.topic_split_threshold_lines,
            min_conclusions=self.min_conclusions_for_new_topic,
            max_recent=self.index_max_entries,
        )
        recall = replace(preset.recall, limit=self.max_memories_per_search, min_cosine=self.embedding_similarity_threshold)
        folder = str(Path(self.topics_dir).expanduser().absolute())
        preset = _showing(preset, "recent_topics", self.index_max_entries)
        idle_after = timedelta(minutes=self.session_timeout_minutes)
        return replace(preset, topics=topics, recall=recall, topics_dir=folder, idle_after=idle_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig(DesignSettings):
    """Lo-Bug's ten parameters."""

    preset: ClassVar[str] = "lobug"
    db_path: str = _setting("lobug_memory.db", "The file of the store.")
    short_term_threshold: int = _setting(30, "Messages without a summary at which one is made.", minimum=1)
    short_term_keep: int = _setting(10, "The newest of them that stay without one.", minimum=0)
    long_term_threshold: int = _setting(20, "Summaries outside the base document at which they are worked in.", minimum=1)
    long_term_keep: int = _setting(10, "The newest of them that stay outside.", minimum=0)
    retrieval_top_k: int = _setting(5, "Facts that one message brings to mind.", minimum=1)
    retrieval_min_similarity: float = _setting(
        0.3, "How near a fact must be, as the cosine of the design's own embedder.", minimum=-1, maximum=1
    )
    embedding_model: str = _setting(
        "nomic-embed-text",
        "The embedding model, by its name at Ollama or in `holdfast models`; this one leaves it to `embedder`.",
    )
    embedding_dim: int = _setting(768, "The length of the vectors that an embedding function returns.", minimum=1)
    duplicate_distance_threshold: float = _setting(
        0.15, "The cosine distance under which a new fact takes an old one's place.", minimum=0, maximum=2
    )

    def __post_init__(self) -> None:
        DesignSettings.__post_init__(self)  # a class with slots is made anew: super() would not know it
        for span in ("short_term", "long_term"):
            threshold, keep = getattr(self, f"{span}_threshold"), getattr(self, f"{span}_keep")
            if keep >= threshold:
                raise SettingsError(f"{span}_keep must be less than {span}_threshold ({threshold}), not {keep}.")

    @property
    def store(self) -> str:
        """The file of the store."""
        return self.db_path

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset as these settings have it."""
        summaries = RollUp(threshold=self.long_term_threshold, keep=self.long_term_keep)
        return replace(
            preset,
            roll_up=RollUp(threshold=self.short_term_threshold, keep=self.short_term_keep),
            base=preset.base and replace(preset.base, when=summaries),
            recall=replace(preset.recall, limit=self.retrieval_top_k, min_cosine=self.retrieval_min_similarity),
            reconcile_rules=replace(preset.reconcile_rules, same_distance=self.duplicate_distance_threshold),
            embedder=_embedder(self, provider="ollama") or preset.embedder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachySettings(DesignSettings):
    """Reachy's ``memory:`` table."""

    preset: ClassVar[str] = "reachy"
    path: str = _setting("~/.reachy/memory", "The folder of the store.")
    context_window_size: int = _setting(5, "Turns of the present conversation that are always at hand.", minimum=1)
    embedding_model: str = _setting("all-MiniLM-L6-v2", "The embedding model.")
    cleanup_interval: float = _setting(3600, "Seconds between two clean-ups of what has expired.", above=0)

    @property
    def store(self) -> str:
        """The folder of the store."""
        return self.path

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset as these settings have it."""
        return replace(
            preset,
            window=2 * self.context_window_size,  # a turn is what the user says and what is answered
            clean_every=timedelta(seconds=self.cleanup_interval),
            embedder=_embedder(self) or preset.embedder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RumiSettings(DesignSettings):
    """The one thing that can be set of Rumi."""

    preset: ClassVar[str] = "rumi"
    db_path: str = _setting("~/.rumi/memory.db", "The file of the store.")

    @property
    def store(self) -> str:
        """The file of the store."""
        return self.db_path


@dataclass(frozen=True, slots=True, kw_only=True)
class AppsSettings(DesignSettings):
    """The limits of the app memories."""

    preset: ClassVar[str] = "apps"
    max_memories: int = _setting(10, "Memories of one app; one more is compacted away.", minimum=1)
    max_characters: int = _setting(200, "About how many characters a memory has.", minimum=40)

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset as these settings have it."""
        extractor = preset.extractor
        if isinstance(extractor, Paragraph):
            extractor = replace(extractor, max_characters=self.max_characters)
        preset = _showing(preset, "app_memories", self.max_memories)
        return replace(preset, extractor=extractor, cap=preset.cap and replace(preset.cap, max_memories=self.max_memories))


DESIGNS: Mapping[str, type[DesignSettings]] = {
    kind.preset: kind for kind in (AppsSettings, MemoryConfig, ReachySettings, RostroSettings, RumiSettings)
}
"""The settings of each design, by its preset."""


def read_design(preset: str, table: object) -> DesignSettings:
    """Return a design's settings from a table of its own names."""
    kind = DESIGNS.get(preset)
    if kind is None:
        raise SettingsError(
            f"The preset {preset!r} has no settings of its own; those that have are: {', '.join(sorted(DESIGNS))}."
        )
    if not isinstance(table, Mapping):
        raise SettingsError(f"The settings of {preset} are a table of names and values, not {table!r}.")
    known = [item.name for item in fields(kind)]
    unknown = [str(name) for name in table if name not in known]
    if unknown:
        raise SettingsError(f"{preset} has no setting {unknown[0]!r}; it has: {', '.join(known)}.")
    return kind(**table)


def _checked(preset: str, item: "Field[Any]", value: Any) -> Any:
    """Return a value as its type, or say what it should be."""
    if item.type is str:
        text = str(value) if isinstance(value, str | Path) else ""
        if not text.strip():
            raise SettingsError(f"{preset}'s {item.name} must be text, not {value!r}.")
        return text
    whole = item.type is int
    numeric = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not numeric or (whole and value != int(value)):
        raise SettingsError(f"{preset}'s {item.name} must be a {'whole ' if whole else ''}number, not {value!r}.")
    least, most, above = (item.metadata[bound] for bound in ("least", "most", "above"))
    if (least is not None and value < least) or (most is not None and value > most) or (above is not None and value <= above):
        bounds = [f"at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
        bounds += [f"more than {above}"] * (above is not None)
        raise SettingsError(f"{preset}'s {item.name} must be {' and '.join(bounds)}, not {value!r}.")
    return int(value) if whole else value


def _embedder(settings: MemoryConfig | ReachySettings, *, provider: str | None = None) -> str | None:
    """Return the embedder that a design's settings name; None when it is the one its preset has anyway."""
    named = settings.embedding_model
    if named == type(settings)().embedding_model:
        return None
    local = named.removeprefix("sentence-transformers/").casefold()
    if local in MODELS:
        return local
    if provider is None or named.partition(":")[0] in PROVIDERS or named.casefold() == "none":
        return named
    return f"{provider}:{named}"


def _showing(preset: Preset, words: str, max_items: int) -> Preset:
    """Return the preset with so many lines in one section of its prompt."""
    if preset.layout is None:
        return preset
    sections = tuple(replace(each, max_items=max_items) if each.words == words else each for each in preset.layout.sections)
    return replace(preset, layout=replace(preset.layout, sections=sections))
