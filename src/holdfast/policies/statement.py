"""A statement: one thing worth keeping, as it was said."""

from dataclasses import dataclass

from holdfast.policies.rulebook import StatementKind, StatementType


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing worth keeping, as it was said."""

    text: str
    kind: StatementKind
    type: StatementType
    key: str
    """What it is about: name, work, diet, plan and so on, in the language of the statement."""
    importance: float
    language: str
    asked: bool = False
    """The speaker asked for it to be remembered."""
    temporary: bool = False
    """It holds until a day that is near."""
    corrects: bool = False
    """It was said to put right something said before."""
    discovery: bool = False
    observed: bool = False
    """The assistant said it of the user, who confirmed it."""
    weighed: bool = False
    """No rule fitted it; it was weighed and found worth keeping."""
    elided: bool = False
    """It was weighed, and its subject is left out: "been vegan since May"."""
    faint: bool = False
    """It was weighed and is not worth keeping by itself, but may belong to what was said beside it."""
