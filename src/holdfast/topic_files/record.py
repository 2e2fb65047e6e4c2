"""Data types for the merge of edited topic files with the stored memories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from holdfast.topic_files.markdown import Line, Page, digest
from holdfast.types import Change, Memory

Why: TypeAlias = Literal["gone", "deleted", "all deleted", "empty", "no title", "cut off", "not text", "too big", "linked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseLine:
    """A line of a file as it was at the last sync: the id of its memory, the hash of its text, and its date."""

    id: str
    digest: str
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePage:
    """A file as it was at the last sync: its lines, and the hashes of its topic, title and bytes."""

    topic: str
    title: str
    sha: str
    lines: tuple[BaseLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file in its current state: its parsed content, the hash of its bytes, and its name without extension."""

    page: Page
    sha: str
    stem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """The memories in the store, as the merge needs them.

    ``live`` maps ids to live memories. ``before`` maps ids of memories to the texts that they had at the last sync. ``topics``
    maps the hash of a topic to its name.
    """

    live: Mapping[str, Memory]
    before: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingQuestion:
    """A question for the user about an edited file. ``file`` is the hash of the file name, and ``why`` the reason for asking.

    ``of`` is the number of lines that the file had at the last sync. ``gone`` is the number of memories that would be
    forgotten.
    """

    file: str
    why: Why
    gone: int = 0
    of: int = 0
    sha: str = ""

    @property
    def id(self) -> str:
        """Id of the question to the user about an edited topic file. It stays the same until the file changes."""
        return "q" + digest(f"{self.file}|{self.why}|{self.sha}")[:11]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPage:
    """A file after the merge.

    Each line comes with the id of its memory, or with the position of the change that creates the memory.
    """

    topic: str
    sha: str
    title: str = ""
    """Title of the file. It is empty if the user rejected the edits. Then the file is rewritten from the store."""
    lines: tuple[tuple[Line, str | int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """Result of a merge: changes for the store, merged files (``pages``), deleted files (``dropped``), questions and conflicts."""

    changes: tuple[Change, ...] = ()
    pages: Mapping[str, MergedPage] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    """Ids of memories whose line moved to another file."""
    questions: tuple[PendingQuestion, ...] = ()
    conflicts: tuple[str, ...] = ()
    """Ids of memories that changed both in a file and in the store."""
