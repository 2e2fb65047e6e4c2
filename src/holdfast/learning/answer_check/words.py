"""The word lists for checking a model's answer, from ``learning/words/answer_check.toml``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import permutations
from typing import Any, Literal

Gender = Literal["male", "female", "any"]


@dataclass(frozen=True, slots=True)
class Person:
    """A type of person or animal. "Sister", for example, has the ``family`` ``sibling`` and the ``gender`` ``female``."""

    family: str
    gender: Gender
    whose: Literal["", "user", "other"] = ""
    """Whose relative or animal it is: the user's, or that of another person. Empty if unknown."""

    def may_be(self, other: "Person") -> bool:
        """Return True if both types can describe the same person: "kid" and "daughter" can, "son" and "daughter" cannot.

        "My dog" and "my neighbor's dog" cannot either.
        """
        same = self.family == other.family and (self.gender == other.gender or "any" in (self.gender, other.gender))
        return same and (self.whose == other.whose or not self.whose or not other.whose)


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


@cache
def opposites() -> dict[str, frozenset[str]]:
    """Return a mapping from a word, such as "approved", to the words that deny it, such as "refused"."""
    return {
        word: frozenset(other.split())
        for line in table()["polarity"]["opposites"]
        for one, other in permutations(line.split("/"))
        for word in one.split()
    }


@cache
def translations() -> dict[str, frozenset[str]]:
    """Return a mapping from a name, such as "Germany", to its spellings in English and Spanish, in lower case."""
    groups = [frozenset(line.split()) for line in table()["names"]["translations"]]
    return {word: group for group in groups for word in group}


def relative_of(person: Person, relation: Person) -> Person | None:
    """Return the relative that two words name together, or None: the "child" of a "sibling" is a nephew or niece.

    ``person`` is the person whose relative is meant, and ``relation`` is what that relative is to the person.
    """
    family: str | None = table()["kin"].get(f"{person.family} {relation.family}")
    return None if family is None else Person(family, relation.gender)
