"""The preset of Rostro, a voice assistant.

It stores conclusions on topic pages. Once the topic of a conversation is known, the topic's page is part of the prompt.
"""

from datetime import timedelta

from holdfast.learning.capture_kinds import CONCLUSIONS
from holdfast.presets.base import Preset, PromptLayout, RecallPlan, Section, TopicRules
from holdfast.types import Kind

_OPENAI_SMALL = (0.2, 0.7)
"""Calibration of text-embedding-3-small, the embedder for which Rostro's minimum cosine was chosen."""

ROSTRO = Preset(
    name="rostro",
    default_kind="conclusion",
    kinds=(
        Kind(name="conclusion", meaning="A conclusion, decision or discovery from a conversation, in one line"),
        Kind(name="recent", meaning="The topic of a conversation, in a few words", keyed="many", background=True, internal=True),
    ),
    extractor=CONCLUSIONS,
    topics=TopicRules(kind="conclusion", min_conclusions=3, max_lines=50, detect="turn", recent_kind="recent", max_recent=20),
    recall=RecallPlan(
        limit=5,
        kinds=("conclusion",),
        min_cosine=0.7,
        intended_cosine=0.7,
        measured_by=_OPENAI_SMALL,
        own_embedder="openai:text-embedding-3-small",
        accumulates=True,
        max_messages=5,
    ),
    topics_dir="topics",
    layout=PromptLayout(
        sections=(
            Section(words="recent_topics", source="newest", kinds=("recent",), max_items=20),
            Section(words="memories", source="relevant"),
            Section(words="topic_page", source="page", max_items=200),
            Section(words="memory_instructions", source="fixed"),
        )
    ),
    window=20,
    idle_after=timedelta(minutes=7),
    context_tokens=3000,
)
