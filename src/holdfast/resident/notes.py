"""Context blocks for hooks: known facts at the start of a session, and memories that are relevant to a prompt."""

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from holdfast.agent.tools import language_for
from holdfast.engine import Engine
from holdfast.resident.scope import AgentScope
from holdfast.services import services
from holdfast.text.clean import count_tokens, escape_line
from holdfast.types import Memory

_MAX_TOKENS: Final = 600
"""Maximum tokens of the block at the start of a session."""
_MAX_LISTED: Final = 200
"""Maximum number of memories that are read to fill the block."""
_MAX_LINE_CHARACTERS: Final = 300


def prompt_context(memory: Engine, session: str | None, prompt: str, scope: AgentScope) -> str:
    """Return the context block for a prompt, or an empty text. Messages of the session itself are left out."""
    if not prompt.strip():
        return ""
    if session is None or scope.is_shared:
        return memory.context(prompt, **scope.parts).text
    return memory.session(id=session, **scope.parts).context(prompt).text


def start_context(memory: Engine, scope: AgentScope) -> str:
    """Return a context block with memories about the user, then memories about the project, within a token budget.

    Pinned memories come first, then the newest. Memories with low trust are left out. Without memories, the block is empty.
    """
    words = _words(language_for(memory, scope.parts["user"]))
    kinds = [kind.name for kind in memory.preset.learned_kinds if not kind.background]
    known = memory.memories(kinds=kinds, limit=_MAX_LISTED, **scope.parts)
    listed = [each for each in known if each.trust >= memory.preset.min_trust]
    of_user = [each for each in listed if each.scope.app is None]
    of_project = [each for each in listed if each.scope.app is not None]
    nonce = services(memory).reader.nonce(f"start {scope.parts}")
    opening, closing = f'<memory id="{nonce}">\n{words["intro"]}', f'</memory id="{nonce}">'
    budget = _MAX_TOKENS - count_tokens(f"{opening}\n{words['user']}\n{words['project']}\n{closing}")
    lines: list[str] = []
    for heading, memories in ((words["user"], of_user), (words["project"], of_project)):
        share = _fitting(memories, budget // 2 if memories is of_user and of_project else budget)
        budget -= sum(map(count_tokens, share))
        lines += [heading, *share] if share else []
    return "\n".join([opening, *lines, closing]) if lines else ""


def _fitting(memories: Sequence[Memory], budget: int) -> list[str]:
    """Return memories as lines, as many as fit into ``budget`` tokens. Pinned memories come first."""
    kept: list[str] = []
    for memory in sorted(memories, key=lambda each: not each.pinned):
        text = escape_line(str(memory))
        text = text if len(text) <= _MAX_LINE_CHARACTERS else text[: _MAX_LINE_CHARACTERS - 3].rstrip() + "..."
        line = f"- ({memory.valid_from.date().isoformat()}) {text}"
        cost = count_tokens(line)
        if cost <= budget:
            budget -= cost
            kept.append(line)
    return kept


@cache
def _words(language: str | None) -> dict[str, str]:
    table: dict[str, Any] = tomllib.loads((resources.files("holdfast.prompts") / "mcp.toml").read_text("utf-8"))
    own = table.get((language or "en").partition("-")[0].casefold(), table["en"])
    words: dict[str, str] = own.get("session_start", table["en"]["session_start"])
    return words
