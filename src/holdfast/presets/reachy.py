"""The preset of Reachy, a robot: three kinds of memory with different lifetimes, and the last turns in the prompt.

The robot's chat model stores memories with its tools. Without a chat model, rules extract facts after each turn.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from holdfast.learning.capture_kinds import TYPED_FACTS
from holdfast.presets.base import Preset, PromptLayout, RecallPlan, Section
from holdfast.text.clean import content_hash
from holdfast.types import Kind

_MINILM = (0.08, 0.40)
"""Calibration of all-MiniLM-L6-v2, the embedder for which Reachy's minimum cosine was chosen."""

REACHY = Preset(
    name="reachy",
    default_kind="fact",
    kinds=(
        Kind(
            name="conversation", meaning="Something said in a conversation; it expires after 30 days", lifetime=timedelta(days=30)
        ),
        Kind(name="fact", meaning="Something to remember permanently", keyed="many"),
        Kind(
            name="context",
            meaning="Something that matters only today; a new value replaces the old one of its key",
            keyed="one",
            lifetime="day",
        ),
    ),
    extractor=TYPED_FACTS,
    extract_at="turn",
    model_stores=True,
    recall=RecallPlan(
        limit=5,
        kinds=("conversation", "fact", "context"),
        min_cosine=0.3,
        intended_cosine=0.3,
        measured_by=_MINILM,
        cosine_scores=True,
    ),
    layout=PromptLayout(sections=(Section(words="relevant", source="relevant"),)),
    window=10,
    tools=("search_memories", "store_memory", "forget_memory"),
    embedder="all-minilm-l6-v2",
    idle_after=None,
)


def context_key(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the key of a memory of the kind ``context``.

    The key is ``context_key`` from the memory's metadata. If the metadata has no such entry, the key is a hash of the
    text, so that memories with different texts do not replace each other.
    """
    return str(metadata.get("context_key") or f"note-{content_hash(text)[:12]}")
