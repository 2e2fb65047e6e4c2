"""Reachy, a robot: three types of memory with lifetimes, and the last turns always at hand."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from holdfast.presets.base import Preset, PromptLayout, RecallPlan, Section
from holdfast.text.clean import content_hash
from holdfast.types import Kind

_MINILM = (0.08, 0.40)
"""The calibration of all-MiniLM-L6-v2, by which the design's scores are measured."""

REACHY = Preset(
    name="reachy",
    default_kind="fact",
    kinds=(
        Kind(name="conversation", meaning="What was said; kept for 30 days", lifetime=timedelta(days=30)),
        Kind(name="fact", meaning="Something to remember for good", keyed="many"),
        Kind(name="context", meaning="What matters today; the newest value of a key counts", keyed="one", lifetime="day"),
    ),
    extract_at="never",
    recall=RecallPlan(limit=5, kinds=("conversation", "fact", "context"), min_cosine=0.3, measured_by=_MINILM),
    layout=PromptLayout(sections=(Section(words="relevant", source="relevant"),)),
    window=10,
    tools=("search_memories", "store_memory", "forget_memory"),
    embedder="all-minilm-l6-v2",
    idle_after=None,
)


def context_key(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the key of a context; one that names none is its own, so that it takes no other's place."""
    return str(metadata.get("context_key") or f"note-{content_hash(text)[:12]}")
