"""App-scoped memories with a cap: each conversation leaves a paragraph, at most ten of them an app."""

from holdfast.presets.base import MemoryCap, Paragraph, Preset, PromptLayout, Section
from holdfast.types import Kind

APPS = Preset(
    name="apps",
    default_kind="memory",
    kinds=(Kind(name="memory", meaning="What a conversation with an app left, in a paragraph of two to four sentences"),),
    extractor=Paragraph(kind="memory", max_characters=200, timeout=30.0),
    cap=MemoryCap(kind="memory", max_memories=10),
    layout=PromptLayout(
        sections=(
            Section(words="app_memories", source="newest", kinds=("memory",), max_items=10),
            Section(words="shared_memories", source="shared", kinds=("memory",), max_items=5),
        )
    ),
    context_tokens=700,
)
