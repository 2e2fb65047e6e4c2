"""The word lists for checking a model's answer, from ``learning/words/answer_check.toml``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

Gender = Literal["male", "female", "any"]


@dataclass(frozen=True, slots=True)
class Person:
    """A type of person or animal. "Sister", for example, has the ``family`` ``sibling`` and the ``gender`` ``female``."""

    family: str
    gender: Gender

    def may_be(self, other: "Person") -> bool:
        """Return True if both types can describe the same person: "kid" and "daughter" can, "son" and "daughter" cannot."""
        return self.family == other.family and (self.gender == other.gender or "any" in (self.gender, other.gender))


@cache
def table() -> dict[str, Any]:
    """Return the contents of the file with the word lists."""
    file = resources.files("holdfast.learning.words") / "answer_check.toml"
    return tomllib.loads(file.read_text("utf-8"))


@cache
def words(*path: str) -> frozenset[str]:
    """Return the words of a list, such as ``words("polarity", "not")``."""
    found: Any = table()
    for name in path:
        found = found[name]
    return frozenset(found.split())


@cache
def people() -> dict[str, Person]:
    """Return a mapping from each word for a person to the type of person."""
    genders: tuple[Gender, ...] = ("male", "female", "any")
    return {
        word: Person(group["family"], gender)
        for group in table()["people"]
        for gender in genders
        for word in group.get(gender, "").split()
    }


@cache
def hints() -> dict[str, Person]:
    """Return a mapping from words that imply a person, such as "pregnant", to the type of person."""
    return {word: Person(group["family"], "any") for group in table()["people"] for word in group.get("hint", "").split()}
