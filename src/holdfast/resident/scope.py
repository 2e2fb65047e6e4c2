"""The scope of a coding agent: a user, and the project that the agent works on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.access.keys import ScopeParts
from holdfast.resident.projects import project_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentScope:
    """The user, app and agent that a coding agent works for."""

    parts: ScopeParts
    project: str | None = None
    """Name of the project that the working directory belongs to, if this project is used as the app. Otherwise None."""

    @property
    def is_shared(self) -> bool:
        """True if the scope names no user, app or agent, so that everything learned would be shared by all users."""
        return not any(self.parts.values())


def scope_for(given: Mapping[str, Any] | None, *, cwd: str | Path | None, user: str | None = None) -> AgentScope:
    """Return the scope that a client requests. ``user`` is the default user, used if the client names none.

    ``given`` is the client's request. If it contains ``shared``, the scope has no user. If it contains ``project`` but no app,
    the app is the project that the folder ``cwd`` belongs to.
    """
    parts = given or {}
    named, app, agent = (_name(parts.get(part)) for part in ("user", "app", "agent"))
    owner = None if parts.get("shared") else named or user
    found = project_of(cwd) if parts.get("project") and app is None else None
    return AgentScope(parts={"user": owner, "app": app or found, "agent": agent}, project=found)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
