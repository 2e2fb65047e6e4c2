"""Make LangChain's tests create Holdfast's history instead of an ``InMemoryChatMessageHistory``."""

import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import holdfast_suite
import langchain_core.chat_history

import holdfast
from holdfast.adapters.langchain import HoldfastChatMessageHistory

_folder = tempfile.TemporaryDirectory()
_memory = holdfast.open(Path(_folder.name) / "memory.db", embedder="none", worker="none")
_ids = count()


class SwappedHistory(HoldfastChatMessageHistory):
    """Holdfast's history, with the constructor arguments of ``InMemoryChatMessageHistory``. Each object is a new session."""

    def __init__(self, messages: Sequence[Any] = ()) -> None:
        holdfast_suite.note_use()
        super().__init__(f"history {next(_ids)}", _memory)
        self.add_messages(messages)

    def __eq__(self, other: object) -> bool:
        """Compare the messages, as ``InMemoryChatMessageHistory`` does."""
        return isinstance(other, SwappedHistory) and self.messages == other.messages

    __hash__ = None  # type: ignore[assignment]


def pytest_unconfigure() -> None:
    """Close the memory and delete its files."""
    _memory.close()
    _folder.cleanup()


langchain_core.chat_history.InMemoryChatMessageHistory = SwappedHistory
