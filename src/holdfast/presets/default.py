"""The default preset, which combines features of the other designs.

Its kinds are facts, decisions, events, the day's context, summaries and a profile. Topics, and sessions that end when idle,
come from Rostro. The two levels of summaries come from Lo-Bug, and kinds with lifetimes from Reachy. Keys with the same
meaning become one key, as in Rumi.
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
        Kind(name="decision", meaning="A decision that holds until another one replaces it"),
        Kind(name="event", meaning="Something that happened or will happen at a certain time"),
        Kind(
            name="context",
            meaning="Something that matters only today; it expires at the end of the user's day",
            keyed="one",
            lifetime="day",
        ),
        Kind(name="summary", meaning="Summary of a part of a conversation", background=True),
        Kind(name="profile", meaning="Standing description of the user, always part of the context", keyed="one", pinned=True),
    ),
)
