"""Make the tests of OpenAI's Agents SDK create Holdfast's session instead of an ``SQLiteSession``."""

import tempfile
from pathlib import Path
from typing import Any

import agents
import agents.memory
import holdfast_suite

import holdfast
from holdfast.adapters.openai_agents import HoldfastSession

_folder = tempfile.TemporaryDirectory()
_engines: dict[Path, holdfast.Engine] = {}
_users: dict[Path, int] = {}


class SQLiteSession(HoldfastSession):
    """Holdfast's session, with the constructor arguments of ``SQLiteSession``. Sessions with the same file share a memory."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None) -> None:
        holdfast_suite.note_use()
        temporary = Path(_folder.name) / f"{len(_engines)}.db"
        self._path = temporary if str(db_path) == ":memory:" else Path(db_path).resolve()
        if self._path not in _engines:
            _engines[self._path] = holdfast.open(self._path, embedder="none", worker="none")
        _users[self._path] = _users.get(self._path, 0) + 1
        super().__init__(session_id, _engines[self._path], session_settings=session_settings)

    def close(self) -> None:
        """Close the session, and the memory if no other session uses it."""
        super().close()
        _users[self._path] -= 1
        if not _users[self._path]:
            _engines.pop(self._path).close()


def pytest_unconfigure() -> None:
    """Close all memories and delete their files."""
    for engine in _engines.values():
        engine.close()
    _folder.cleanup()


agents.SQLiteSession = agents.memory.SQLiteSession = SQLiteSession
