"""The default preset: the best of the designs. Facts, decisions, events, the day's context, summaries and a profile.

From Rostro it has conversations that close by themselves and topics, from Lo-Bug the two cascades, from Reachy kinds
with lifetimes, from Rumi keys that mean the same whatever their word, from all of them what the engine does anyway.
"""

from holdfast.learning.capture_kinds import STATEMENTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.learning.summaries.roll_up import RollUp
from holdfast.presets.base import BaseDocument, Preset, TopicRules
from holdfast.types import Kind

DEFAULT = Preset(
    name="default",
    default_kind="fact",
    extractor=STATEMENTS,
    reconcile_rules=ReconcileRules(normalize_keys=True),
    roll_up=RollUp(threshold=30, keep=10),
    base=BaseDocument(when=RollUp(threshold=20, keep=10), kind="profile", key="summary of all"),
    topics=TopicRules(kind="fact", detect="close", opens=False),
    kinds=(
        Kind(name="fact", meaning="Something true of a person, a thing or the world", keyed="many"),
        Kind(name="decision", meaning="Something that was decided, and holds until decided otherwise"),
        Kind(name="event", meaning="Something that happened or will happen at a time"),
        Kind(name="context", meaning="What matters today; gone at the end of the user's day", keyed="one", lifetime="day"),
        Kind(name="summary", meaning="What a stretch of conversation was about", background=True),
        Kind(name="profile", meaning="A standing description, always part of the context", keyed="one", pinned=True),
    ),
)
