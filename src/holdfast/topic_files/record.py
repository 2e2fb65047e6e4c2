"""What merging files with memories is about: how they were when last in step, how they are, and what follows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from holdfast.topic_files.markdown import Line, Page, mark
from holdfast.types import Change, Memory

Why: TypeAlias = Literal["gone", "deleted", "all deleted", "empty", "no title", "cut off", "not text", "too big"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseLine:
    """A line as it was when file and memory were last in step: whose it is, and marks of what it said."""

    id: str
    mark: str
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePage:
    """A file when it was last in step: marks of its topic, its title and its bytes, and its lines."""

    topic: str
    title: str
    sha: str
    lines: tuple[BaseLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file as it is now: what it says, a mark of its bytes, and its name without the ending."""

    page: Page
    sha: str
    stem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """What the database says: live memories, what base lines said then, and the names of topics by their marks."""

    live: Mapping[str, Memory]
    before: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Something only a person can decide: which file, why, and how many of its lines are gone."""

    file: str
    why: Why
    gone: int = 0
    of: int = 0
    sha: str = ""

    @property
    def id(self) -> str:
        """The same as long as the file is the same."""
        return "q" + mark(f"{self.file}|{self.why}|{self.sha}")[:11]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPage:
    """A file that was taken in: each of its lines with the memory it stands for, by id or by its place in the changes."""

    topic: str
    sha: str
    title: str = ""
    """Empty where the file is to be written anew."""
    lines: tuple[tuple[Line, str | int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What follows: changes for the database, the files taken in, those that are no more, questions and conflicts."""

    changes: tuple[Change, ...] = ()
    pages: Mapping[str, MergedPage] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    """Memories whose line is in another file now."""
    doubts: tuple[Doubt, ...] = ()
    conflicts: tuple[str, ...] = ()
    """Ids of memories that were changed on both sides."""
