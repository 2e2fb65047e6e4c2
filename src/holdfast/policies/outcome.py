"""What a policy returns: the changes it proposes, who thought of them, and what it cost to think."""

from dataclasses import dataclass, field

from holdfast.chat import Usage
from holdfast.types import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one policy. ``flaws`` says what went wrong on the way, in words for people; none means all went well."""

    changes: tuple[Change, ...] = ()
    model: str | None = None
    """The model that thought of the changes; None when rules did."""
    prompt: str = ""
    """The version of the prompt, or of the rules."""
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
