"""The default preset: facts, decisions, events, the day's context, summaries and a profile."""

from holdfast.policies.captures import STATEMENTS
from holdfast.presets.base import Preset
from holdfast.types import Kind

DEFAULT = Preset(
    name="default",
    default_kind="fact",
    capture=STATEMENTS,
    kinds=(
        Kind(name="fact", meaning="Something true of a person, a thing or the world", keyed="many"),
        Kind(name="decision", meaning="Something that was decided, and holds until decided otherwise"),
        Kind(name="event", meaning="Something that happened or will happen at a time"),
        Kind(name="context", meaning="What matters today; gone at the end of the user's day", keyed="one", lifetime="day"),
        Kind(name="summary", meaning="What a stretch of conversation was about"),
        Kind(name="profile", meaning="A standing description, always part of the context", keyed="one", pinned=True),
    ),
)
