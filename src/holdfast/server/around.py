"""The people and places around a user: names in the user's memories, and which of them are mentioned together."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from holdfast.text.clean import fold
from holdfast.text.name_kinds.classify import NameKind, kind_of_name
from holdfast.text.names import find_names
from holdfast.text.wordlists import DAYS, MONTHS
from holdfast.types import Memory

_MAX_NAMES = 16
_MAX_TEXT = 2000
"""Number of characters of a memory that are searched for names."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A name of a person, a place or something else that a user's memories mention, with the memories that mention it."""

    name: str
    kind: NameKind
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Two names that the same memories mention. ``weight`` is the number of these memories."""

    between: tuple[str, str]
    weight: int


@dataclass(frozen=True, slots=True)
class Around:
    """The names that a user's memories mention most often, and the links between these names.

    The most mentioned name comes first. There are at most ``_MAX_NAMES`` names.
    """

    names: list[Neighbor]
    links: list[Link]


def around(user: str, memories: Sequence[Memory]) -> Around:
    """Find the names that memories mention, and the links between the names.

    ``memories`` are ordered newest first. The user's own name, and names of days and months, are left out.
    """
    spelled: dict[str, str] = {}
    mentions: dict[str, list[Memory]] = defaultdict(list)
    own = {fold(user), *fold(user).split()}
    for memory in memories:
        for name in find_names(memory.text[:_MAX_TEXT]):
            key = fold(name)
            if key not in own and key not in DAYS and key not in MONTHS:
                spelled.setdefault(key, name)
                mentions[key].append(memory)
    chosen = sorted(mentions, key=lambda key: -len(mentions[key]))[:_MAX_NAMES]
    neighbors = [
        Neighbor(
            spelled[key], kind_of_name(spelled[key], [each.text[:_MAX_TEXT] for each in mentions[key]]), tuple(mentions[key])
        )
        for key in chosen
    ]
    return Around(neighbors, list(_links(neighbors)))


def _links(neighbors: Iterable[Neighbor]) -> Iterable[Link]:
    for first, second in combinations(neighbors, 2):
        together = {each.id for each in first.memories} & {each.id for each in second.memories}
        if together:
            yield Link((first.name, second.name), len(together))
