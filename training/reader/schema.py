"""The questions that the reader answers, and their possible answers."""

from typing import Any

HEADS: dict[str, tuple[str, ...]] = {
    "keep": ("no", "yes"),
    "whose": ("user", "other", "assistant", "world"),
    "neg": ("no", "yes"),
    "kind": (
        "identity",
        "health",
        "family",
        "work",
        "home",
        "possession",
        "preference",
        "instruction",
        "event",
        "plan",
        "skill",
        "opinion",
        "other",
    ),
    "time": ("stable", "dated", "planned", "past"),
    "real": ("fact", "joke", "hypothesis", "quoted"),
    "act": ("question", "request", "statement", "reply", "smalltalk"),
    "consent": ("none", "off_record", "forget", "remember", "resume"),
    "reply": ("no", "yes"),
    "change": ("leaves", "repeats", "ends"),
    "worth": ("useful", "minor", "junk", "unclear"),
}
"""The questions with their answers, in the order of the network's output.

Only ``change`` reads a pair of an old and a new claim. ``worth`` reads a possible memory: a clause, with the words of other
sentences that it needs. Its answers are the verdicts of a judge who reads the memory.
"""

DEFAULTS: dict[str, Any] = {
    "keep": 0,
    "whose": "user",
    "neg": 0,
    "kind": "other",
    "time": "stable",
    "real": "fact",
    "act": "statement",
    "consent": "none",
    "reply": 0,
}
"""The default labels of a clause. Files leave out labels with these values."""

BINARY = ("keep", "neg", "reply")


def columns() -> dict[str, slice]:
    """Return, for each question, the slice of the network's output that holds its answers."""
    found, start = {}, 0
    for head, answers in HEADS.items():
        found[head] = slice(start, start + len(answers))
        start += len(answers)
    return found


def numbers(labels: dict[str, Any]) -> dict[str, int]:
    """Return the labels of a clause, with each answer as its number."""
    found = {}
    for head, usual in DEFAULTS.items():
        value = labels.get(head, usual)
        if head in BINARY:
            found[head] = int(value)
        else:
            found[head] = HEADS[head].index(str(value).split(":", maxsplit=1)[0].replace("dont-save", "off_record"))
    return found
