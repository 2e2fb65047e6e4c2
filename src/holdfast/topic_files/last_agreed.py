"""What is remembered of the files between two looks: ids, marks and open questions, never a text or a name."""

import hashlib
import json
import unicodedata
from dataclasses import astuple, dataclass, field
from typing import Final

from holdfast.errors import SettingsError
from holdfast.learning.topics.page_names import INDEX_FILE
from holdfast.topic_files.markdown import mark
from holdfast.topic_files.record import BaseLine, BasePage, Doubt
from holdfast.types import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """How the folder was when it was last in step with the store, and what a person was asked since."""

    scope: str
    pages: dict[str, BasePage] = field(default_factory=dict)
    index: dict[str, BasePage] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()

    def to_json(self) -> str:
        """Return it as it is stored."""
        return json.dumps(
            {
                "scope": self.scope,
                "pages": {key: _dump(page) for key, page in sorted(self.pages.items())},
                "index": {key: _dump(page) for key, page in self.index.items()},
                "doubts": [[doubt.file, doubt.why, doubt.gone, doubt.of, doubt.sha] for doubt in self.doubts],
            },
            separators=(",", ":"),
        )


def read_record(stored: str | None, scope: Scope, folder: str) -> Record:
    """Read what is stored; a folder belongs to one scope for good."""
    own = scope_mark(scope)
    if stored is None:
        return Record(scope=own)
    data = json.loads(stored)
    if data["scope"] != own:
        raise SettingsError(f"The pages in {folder} belong to another user or app; use a folder of its own for each.")
    return Record(
        scope=own,
        pages={key: _load(page) for key, page in data["pages"].items()},
        index={key: _load(page) for key, page in data["index"].items()},
        doubts=tuple(Doubt(file=file, why=why, gone=gone, of=of, sha=sha) for file, why, gone, of, sha in data["doubts"]),
    )


def scope_mark(scope: Scope) -> str:
    """Return what a scope is known by here."""
    return mark(json.dumps([scope.tenant, scope.app, scope.user, scope.agent]))


def file_key(name: str) -> str:
    """Return what a file is known by here; accents may be written in two ways."""
    return mark(unicodedata.normalize("NFC", name))


def bytes_mark(data: bytes) -> str:
    """Return what a file's content is known by."""
    return hashlib.sha256(data).hexdigest()[:32]


def _dump(page: BasePage) -> list[object]:
    return [page.topic, page.title, page.sha, [list(astuple(line)) for line in page.lines]]


def _load(stored: list[object]) -> BasePage:
    topic, title, sha, lines = stored
    assert isinstance(lines, list)
    return BasePage(
        topic=str(topic), title=str(title), sha=str(sha), lines=tuple(BaseLine(id=id, mark=text, at=at) for id, text, at in lines)
    )


INDEX_KEY: Final = file_key(INDEX_FILE)
