"""Files in the formats of other programs. All content is invented."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast import Engine, Message


def said(memory: Engine, session: str) -> list[tuple[str, str]]:
    """Return the role and text of each message of a session."""
    return [(message.role, message.text) for message in memory.session(id=session).messages()]


def messages(memory: Engine, session: str) -> list[Message]:
    return memory.session(id=session).messages()


def texts(memory: Engine, **scope: Any) -> list[str]:
    """Return the texts of all live memories, sorted."""
    return sorted(each.text for each in memory.memories(limit=1000, **scope))


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def write_lines(path: Path, lines: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path


def chatgpt_message(role: str, *parts: Any, at: float | None = 1_700_000_000.0, **more: Any) -> dict[str, Any]:
    """Return a message as ChatGPT exports it."""
    content: Mapping[str, Any] = more.pop("content", {"content_type": "text", "parts": list(parts)})
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    return {"id": None, "author": author, "create_time": at, "content": content, "status": "finished_successfully", "weight": 1.0,
            "metadata": more.pop("metadata", {}), "recipient": more.pop("recipient", "all"), **more}  # fmt: skip


def chatgpt_talk(id: str, *said: dict[str, Any], title: str = "A talk", at: float = 1_700_000_000.0) -> dict[str, Any]:
    """Return a conversation without branches as ChatGPT exports it."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"] if said else []}}
    for number, message in enumerate(said):
        children = [f"n{number + 1}"] if number + 1 < len(said) else []
        parent = f"n{number - 1}" if number else "root"
        node = f"n{number}"
        mapping[node] = {"id": node, "message": {**message, "id": message["id"] or f"{id}-{number}"}, "parent": parent, "children": children}  # fmt: skip
    current = f"n{len(said) - 1}" if said else "root"
    return {"id": id, "conversation_id": id, "title": title, "create_time": at, "update_time": at + 60, "mapping": mapping,
            "current_node": current, "default_model_slug": "gpt-4o"}  # fmt: skip
