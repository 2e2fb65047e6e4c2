"""The preset with a separate memory per app. Each conversation is stored as one paragraph.

An app keeps at most ten paragraphs.
"""

from holdfast.presets.base import MemoryCap, Paragraph, Preset, PromptLayout, Section
from holdfast.types import Kind

_MAX_CHARACTERS = 400
"""Maximum length of a paragraph in the prompt. Ten paragraphs of the app and five shared paragraphs fit into ``context_tokens``."""

APPS = Preset(
    name="apps",
    default_kind="memory",
    kinds=(Kind(name="memory", meaning="Summary of a conversation with an app, in a paragraph of two to four sentences"),),
    extractor=Paragraph(kind="memory", max_characters=200, timeout=30.0),
    cap=MemoryCap(kind="memory", max_memories=10),
    layout=PromptLayout(
        sections=(
            Section(words="app_memories", source="newest", kinds=("memory",), max_items=10, max_characters=_MAX_CHARACTERS),
            Section(words="shared_memories", source="shared", kinds=("memory",), max_items=5, max_characters=_MAX_CHARACTERS),
        )
    ),
    context_tokens=2000,
)
