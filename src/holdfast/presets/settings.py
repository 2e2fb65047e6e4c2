"""Settings of the designs that the presets are modeled on, with each design's own names and defaults.

``applied_to`` applies these settings to a preset. An unknown name or an invalid value raises ``SettingsError``. The
error message lists the valid names or values.
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
    """Return a dataclass field for a setting, with the setting's help text and the limits of its value.

    The value must be at least ``minimum``, at most ``maximum``, and greater than ``above``. None means no limit.
    """
    return field(default=default, metadata={"help": help, "minimum": minimum, "maximum": maximum, "above": above})


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSettings:
    """Base class for the settings of a design."""

    preset: ClassVar[str]
    """Name of the preset that the settings belong to."""

    def __post_init__(self) -> None:
        for item in fields(self):
            object.__setattr__(self, item.name, _checked(self.preset, item, getattr(self, item.name)))

    @property
    def store(self) -> str | None:
        """The store's path in this design. None means that the general ``store`` setting applies."""
        return None

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset with these settings applied."""
        return preset


@dataclass(frozen=True, slots=True, kw_only=True)
class RostroSettings(DesignSettings):
    """Settings from the section ``memory:`` of Rostro's configuration file."""

    preset: ClassVar[str] = "rostro"
    session_timeout_minutes: float = _setting(
        7, "Minutes without a message after which a conversation is closed and digested.", above=0
    )
    topics_dir: str = _setting("data/topics", "Folder for the topic pages.")
    topic_split_threshold_lines: int = _setting(50, "Maximum lines on a topic page; a longer page is split.", minimum=2)
    min_conclusions_for_new_topic: int = _setting(3, "Minimum conclusions in a conversation to create a topic.", minimum=1)
    db_path: str = _setting("data/memory.db", "Path of the store file.")
    embedding_similarity_threshold: float = _setting(
        0.7, "Minimum cosine of a recalled memory, on the scale of the design's embedder.", minimum=0, maximum=1
    )
    max_memories_per_search: int = _setting(5, "Maximum memories recalled per message.", minimum=1)
    index_max_entries: int = _setting(20, "Maximum entries in the index of recent topics.", minimum=1)

    @property
    def store(self) -> str:
        """Path of the store file."""
        return self.db_path

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset with these settings applied."""
        topics = preset.topics and replace(
            preset.topics,
            max_lines=self.topic_split_threshold_lines,
            min_conclusions=self.min_conclusions_for_new_topic,
            max_recent=self.index_max_entries,
        )
        recall = replace(preset.recall, limit=self.max_memories_per_search, min_cosine=self.embedding_similarity_threshold)
        folder = str(Path(self.topics_dir).expanduser().absolute())
        preset = _with_max_items(preset, "recent_topics", self.index_max_entries)
        idle_after = timedelta(minutes=self.session_timeout_minutes)
        return replace(preset, topics=topics, recall=recall, topics_dir=folder, idle_after=idle_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig(DesignSettings):
    """The ten settings of Lo-Bug."""

    preset: ClassVar[str] = "lobug"
    db_path: str = _setting("lobug_memory.db", "Path of the store file.")
    short_term_threshold: int = _setting(30, "Number of unsummarized messages that triggers a summary.", minimum=1)
    short_term_keep: int = _setting(10, "Newest messages that are left out of the summary.", minimum=0)
    long_term_threshold: int = _setting(20, "Number of summaries that triggers an update of the base document.", minimum=1)
    long_term_keep: int = _setting(10, "Newest summaries that are left out of the base document.", minimum=0)
    retrieval_top_k: int = _setting(5, "Maximum facts recalled per message.", minimum=1)
    retrieval_min_similarity: float = _setting(
        0.3, "Minimum cosine of a recalled fact, on the scale of the design's embedder.", minimum=-1, maximum=1
    )
    embedding_model: str = _setting(
        "nomic-embed-text",
        "The embedding model: its name in Ollama or in `holdfast models`. With the default, the `embedder` setting decides.",
    )
    embedding_dim: int = _setting(768, "Dimensions of the vectors that the embedding function returns.", minimum=1)
    duplicate_distance_threshold: float = _setting(
        0.15, "A new fact replaces an old one if their cosine distance is below this.", minimum=0, maximum=2
    )

    def __post_init__(self) -> None:
        DesignSettings.__post_init__(self)  # super() fails here: slots=True creates a new class
        for prefix in ("short_term", "long_term"):
            threshold, keep = getattr(self, f"{prefix}_threshold"), getattr(self, f"{prefix}_keep")
            if keep >= threshold:
                raise SettingsError(f"{prefix}_keep must be less than {prefix}_threshold ({threshold}), not {keep}.")

    @property
    def store(self) -> str:
        """Path of the store file."""
        return self.db_path

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset with these settings applied."""
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
    """Settings from the section ``memory:`` of Reachy's configuration file."""

    preset: ClassVar[str] = "reachy"
    path: str = _setting("~/.reachy/memory", "Path of the store folder.")
    context_window_size: int = _setting(5, "Turns of the current conversation that stay in the context window.", minimum=1)
    embedding_model: str = _setting("all-MiniLM-L6-v2", "The embedding model.")
    cleanup_interval: float = _setting(3600, "Seconds between two removals of expired memories.", above=0)

    @property
    def store(self) -> str:
        """Path of the store folder."""
        return self.path

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset with these settings applied."""
        return replace(
            preset,
            window=2 * self.context_window_size,  # a turn is two messages: the user's and the reply
            clean_every=timedelta(seconds=self.cleanup_interval),
            embedder=_embedder(self) or preset.embedder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RumiSettings(DesignSettings):
    """The only setting of Rumi: the path of the store file."""

    preset: ClassVar[str] = "rumi"
    db_path: str = _setting("~/.rumi/memory.db", "Path of the store file.")

    @property
    def store(self) -> str:
        """Path of the store file."""
        return self.db_path


@dataclass(frozen=True, slots=True, kw_only=True)
class AppsSettings(DesignSettings):
    """Limits of the ``apps`` preset, which has a separate memory per app."""

    preset: ClassVar[str] = "apps"
    max_memories: int = _setting(10, "Maximum memories per app; beyond it, memories are compacted.", minimum=1)
    max_characters: int = _setting(200, "Approximate length of a memory in characters.", minimum=40)

    def applied_to(self, preset: Preset) -> Preset:
        """Return the preset with these settings applied."""
        extractor = preset.extractor
        if isinstance(extractor, Paragraph):
            extractor = replace(extractor, max_characters=self.max_characters)
        preset = _with_max_items(preset, "app_memories", self.max_memories)
        return replace(preset, extractor=extractor, cap=preset.cap and replace(preset.cap, max_memories=self.max_memories))


DESIGNS: Mapping[str, type[DesignSettings]] = {
    kind.preset: kind for kind in (AppsSettings, MemoryConfig, ReachySettings, RostroSettings, RumiSettings)
}
"""Maps the name of each preset to the class of its design's settings."""


def read_design(preset: str, table: object) -> DesignSettings:
    """Build the settings of a design from a mapping of the design's own setting names to values."""
    kind = DESIGNS.get(preset)
    if kind is None:
        raise SettingsError(
            f"The preset {preset!r} has no settings of its own. Presets with settings: {', '.join(sorted(DESIGNS))}."
        )
    if not isinstance(table, Mapping):
        raise SettingsError(f"The settings of {preset} must be a table of names and values, not {table!r}.")
    known = [item.name for item in fields(kind)]
    unknown = [str(name) for name in table if name not in known]
    if unknown:
        raise SettingsError(f"{preset} has no setting {unknown[0]!r}. Its settings are: {', '.join(known)}.")
    return kind(**table)


def _checked(preset: str, item: "Field[Any]", value: Any) -> Any:
    """Return a value converted to the type of the setting ``item``. Raise ``SettingsError`` if the value is invalid.

    ``preset`` is the name of the design in the error message.
    """
    if item.type is str:
        text = str(value) if isinstance(value, str | Path) else ""
        if not text.strip():
            raise SettingsError(f"{preset}'s {item.name} must be text, not {value!r}.")
        return text
    is_integer = item.type is int
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or (is_integer and value != int(value)):
        raise SettingsError(f"{preset}'s {item.name} must be a {'whole ' if is_integer else ''}number, not {value!r}.")
    minimum, maximum, above = (item.metadata[bound] for bound in ("minimum", "maximum", "above"))
    if (
        (minimum is not None and value < minimum)
        or (maximum is not None and value > maximum)
        or (above is not None and value <= above)
    ):
        bounds = [f"at least {minimum}"] * (minimum is not None) + [f"at most {maximum}"] * (maximum is not None)
        bounds += [f"more than {above}"] * (above is not None)
        raise SettingsError(f"{preset}'s {item.name} must be {' and '.join(bounds)}, not {value!r}.")
    return int(value) if is_integer else value


def _embedder(settings: MemoryConfig | ReachySettings, *, provider: str | None = None) -> str | None:
    """Return the name of the embedder in the settings. Return None if the setting has its default value.

    None means that the preset keeps its own embedder. If ``provider`` is given, it is put before the name of the model. A
    local model, a name that already starts with a provider, and ``none`` get no prefix.
    """
    name = settings.embedding_model
    if name == type(settings)().embedding_model:
        return None
    local = name.removeprefix("sentence-transformers/").casefold()
    if local in MODELS:
        return local
    if provider is None or name.partition(":")[0] in PROVIDERS or name.casefold() == "none":
        return name
    return f"{provider}:{name}"


def _with_max_items(preset: Preset, words: str, max_items: int) -> Preset:
    """Return a copy of the preset with a new ``max_items`` for one section of its prompt.

    ``words`` selects the section: it is the key of the section in ``prompts/sections.toml``.
    """
    if preset.layout is None:
        return preset
    sections = tuple(replace(each, max_items=max_items) if each.words == words else each for each in preset.layout.sections)
    return replace(preset, layout=replace(preset.layout, sections=sections))
