"""The preset of Lo-Bug, with three tiers of memory.

The tiers are facts, extracted after each exchange; summaries of older messages; and one base document.
"""

from holdfast.learning.capture_kinds import TYPED_FACTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.learning.summaries.roll_up import RollUp
from holdfast.presets.base import BaseDocument, Preset, PromptLayout, RecallPlan, Section
from holdfast.types import Kind

_NOMIC = (0.5, 0.72)
"""Calibration of nomic-embed-text, the embedder for which Lo-Bug's minimum cosine was chosen."""

LOBUG = Preset(
    name="lobug",
    default_kind="fact",
    kinds=(
        Kind(name="fact", meaning="A sentence in the third person about the user: personal, preference, knowledge or event"),
        Kind(name="summary", meaning="Summary of a part of a conversation", background=True),
        Kind(name="base", meaning="The base document about the user, always in the prompt", keyed="one", pinned=True),
    ),
    extractor=TYPED_FACTS,
    extract_at="turn",
    reconcile_rules=ReconcileRules(same_distance=0.15, merge_same="replace"),
    roll_up=RollUp(threshold=30, keep=10),
    base=BaseDocument(when=RollUp(threshold=20, keep=10), kind="base", max_words=400),
    recall=RecallPlan(limit=5, kinds=("fact",), min_cosine=0.3, intended_cosine=0.3, measured_by=_NOMIC, max_messages=5),
    layout=PromptLayout(
        sections=(
            Section(words="long_term", source="pinned", kinds=("base",)),
            Section(words="relevant", source="relevant"),
            Section(words="physical_state", source="state"),
        )
    ),
    window=20,
    idle_after=None,
)
