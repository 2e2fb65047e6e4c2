"""The record of the last sync between the topic files and the store. It is saved in the store.

It contains ids, hashes, and the open questions about people's edits. It contains no text or name in plain form.
"""

import hashlib
import json
import unicodedata
from dataclasses import astuple, dataclass, field
from typing import Final

from holdfast.errors import SettingsError
from holdfast.learning.topics.page_names import INDEX_FILE
from holdfast.topic_files.markdown import digest
from holdfast.topic_files.record import BaseLine, BasePage, PendingQuestion
from holdfast.types import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The state of the topic files at the last sync, and the questions about people's edits that are not answered yet."""

    scope: str
    pages: dict[str, BasePage] = field(default_factory=dict)
    index: dict[str, BasePage] = field(default_factory=dict)
    questions: tuple[PendingQuestion, ...] = ()

    def to_json(self) -> str:
        """Return the record as JSON for the store."""
        return json.dumps(
            {
                "scope": self.scope,
                "pages": {key: _dump(page) for key, page in sorted(self.pages.items())},
                "index": {key: _dump(page) for key, page in self.index.items()},
                "doubts": [
                    [question.file, question.why, question.gone, question.of, question.sha] for question in self.questions
                ],
            },
            separators=(",", ":"),
        )


def read_record(stored: str | None, scope: Scope, folder: str) -> Record:
    """Parse a stored record. If ``stored`` is None, return an empty record.

    Raise ``SettingsError`` if the record belongs to another scope. The error message names the path ``folder``.
    """
    own = scope_digest(scope)
    if stored is None:
        return Record(scope=own)
    data = json.loads(stored)
    if data["scope"] != own:
        raise SettingsError(
            f"The pages in {folder} belong to another user or app, so nothing was read or written. Use a separate folder for each."
        )
    return Record(
        scope=own,
        pages={key: _load(page) for key, page in data["pages"].items()},
        index={key: _load(page) for key, page in data["index"].items()},
        questions=tuple(
            PendingQuestion(file=file, why=why, gone=gone, of=of, sha=sha) for file, why, gone, of, sha in data["doubts"]
        ),
    )


def scope_digest(scope: Scope) -> str:
    """Return the hash that stands for a scope in a :class:`Record`, which must not contain names."""
    return digest(json.dumps([scope.tenant, scope.app, scope.user, scope.agent]))


def file_key(name: str) -> str:
    """Return the hash that stands for a file name in a :class:`Record`. It is computed after Unicode normalization (NFC)."""
    return digest(unicodedata.normalize("NFC", name))


def bytes_digest(data: bytes) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(data).hexdigest()[:32]


def _dump(page: BasePage) -> list[object]:
    return [page.topic, page.title, page.sha, [list(astuple(line)) for line in page.lines]]


def _load(stored: list[object]) -> BasePage:
    topic, title, sha, lines = stored
    assert isinstance(lines, list)
    return BasePage(
        topic=str(topic),
        title=str(title),
        sha=str(sha),
        lines=tuple(BaseLine(id=id, digest=text, at=at) for id, text, at in lines),
    )


INDEX_KEY: Final = file_key(INDEX_FILE)
