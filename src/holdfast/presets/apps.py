"""App-scoped memories with a cap: each conversation leaves a paragraph, at most ten of them an app."""

from holdfast.presets.base import Cap, Layout, Paragraph, Preset, Section
from holdfast.types import Kind

APPS = Preset(
    name="apps",
    default_kind="memory",
    kinds=(Kind(name="memory", meaning="What a conversation with an app left, in a paragraph of two to four sentences"),),
    capture=Paragraph(kind="memory", longest=200, timeout=30.0),
    cap=Cap(kind="memory", most=10),
    layout=Layout(
        sections=(
            Section(words="app_memories", source="newest", kinds=("memory",), most=10),
            Section(words="shared_memories", source="shared", kinds=("memory",), most=5),
        )
    ),
    context_tokens=700,
)
