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
}
"""The answers of each head, in the order of the network's output. Only ``change`` reads a pair of an old and a new claim."""

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
"""The labels of a clause. A file of labels leaves out those that have this value."""

BINARY = ("keep", "neg", "reply")


def columns() -> dict[str, slice]:
    """Return the part of the network's output that belongs to each head."""
    found, start = {}, 0
    for head, answers in HEADS.items():
        found[head] = slice(start, start + len(answers))
        start += len(answers)
    return found


def numbers(labels: dict[str, Any]) -> dict[str, int]:
    """Return the labels of a clause as numbers of answers."""
    found = {}
    for head, usual in DEFAULTS.items():
        value = labels.get(head, usual)
        if head in BINARY:
            found[head] = int(value)
        else:
            found[head] = HEADS[head].index(str(value).split(":", maxsplit=1)[0].replace("dont-save", "off_record"))
    return found
