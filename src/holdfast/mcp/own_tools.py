"""The tools that only the MCP server has: get a context block, list, correct and undo memories, and add conversations.

An MCP client runs its own conversation. Holdfast neither builds its prompts nor sees its messages, so the client needs these
tools.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from holdfast.agent.tool_schemas import types_schema
from holdfast.agent.tools import MemoryTools, ToolResult, safe_json
from holdfast.apps import Point
from holdfast.by_id import memories as by_id
from holdfast.chat import Schema
from holdfast.errors import HoldfastError, NotFound
from holdfast.learning.placement import PROJECT
from holdfast.mcp.caller import McpCaller
from holdfast.mcp.schemas import APP_TOOLS
from holdfast.protocols import MessageFilter
from holdfast.services import services
from holdfast.session import Session
from holdfast.text.clean import escape_line
from holdfast.text.json.conform import conform
from holdfast.types import ChangeRecord, Hit, Memory, Message, NewMessage, Scope

OWN_TOOLS: Final = (
    "memory_context",
    "list_memories",
    "update_memory",
    "memory_history",
    "undo_change",
    "add_messages",
    "end_conversation",
    "app_context",
    "report_energy",
)
_MAX_LISTED: Final = 200
_MIN_TOKENS, _MAX_TOKENS = 50, 20_000
_MAX_TEXT_CHARACTERS: Final = 2_000
_MAX_MESSAGES: Final = 1_000
"""Maximum number of messages in one call."""


class OwnTools:
    """The tools of the MCP server itself, bound to one caller."""

    def __init__(self, caller: McpCaller, agent_tools: MemoryTools) -> None:
        self._caller = caller
        self._memory = caller.memory
        self._texts = caller.texts
        self._agent_tools = agent_tools
        calls = (
            self._context,
            self._list,
            self._update,
            self._history,
            self._undo,
            self._add_messages,
            self._end,
            self._app_context,
            self._report_energy,
        )
        self._calls: Mapping[str, Callable[..., ToolResult]] = dict(zip(OWN_TOOLS, calls, strict=True))

    def form(self, name: str) -> Schema:
        """Return the schema of a tool's arguments."""
        texts = self._texts[name]
        text: Callable[[str], Schema] = lambda argument: {"type": "string", "description": texts[argument]}  # noqa: E731
        number = {"type": "integer", "minimum": 0}
        if name == "memory_context":
            tokens = {"type": "integer", "minimum": _MIN_TOKENS, "maximum": _MAX_TOKENS, "description": texts["max_tokens"]}
            return _object(["query"], query=text("query"), max_tokens=tokens)
        if name in APP_TOOLS:
            return self._app_form(name, texts)
        if name == "list_memories":
            limit = {"type": "integer", "minimum": 1, "maximum": _MAX_LISTED, "description": texts["limit"]}
            types = types_schema(texts["memory_type"], self._memory.preset.learned_kinds)
            offset = {**number, "description": texts["offset"]}
            return _object([], memory_type=types, key=text("key"), topic=text("topic"), limit=limit, offset=offset)
        if name == "update_memory":
            metadata = {"type": "object", "description": texts["metadata"]}
            revision = {**number, "description": texts["if_revision"]}
            return _object(
                ["memory_id"], memory_id=text("memory_id"), content=text("content"), metadata=metadata, if_revision=revision
            )
        if name == "add_messages":
            return _object(["messages"], messages=self._messages_form(texts), conversation_id=text("conversation_id"))
        argument = {"memory_history": "memory_id", "undo_change": "change_id", "end_conversation": "conversation_id"}[name]
        return _object([argument], **{argument: text(argument)})

    def _app_form(self, name: str, texts: Mapping[str, str]) -> Schema:
        if name == "report_energy":
            level = {"type": "number", "minimum": 0, "maximum": 1, "description": texts["level"]}
            return _object([], level=level, used={"type": "number", "minimum": 0, "description": texts["used"]})
        named = {argument: {"type": "string", "description": texts[argument]} for argument in ("app", "conversation_id")}
        tokens = {"type": "integer", "minimum": _MIN_TOKENS, "maximum": _MAX_TOKENS, "description": texts["max_tokens"]}
        point = {"type": "string", "enum": list(get_args(Point)), "description": texts["point"]}
        return _object([], point=point, max_tokens=tokens, **named)

    def _messages_form(self, texts: Mapping[str, str]) -> Schema:
        message = _object(
            ["role", "content"],
            role={"type": "string", "enum": ["user", "assistant"], "description": texts["role"]},
            content={"type": "string", "description": texts["content"]},
            id={"type": "string", "description": texts["id"]},
        )
        return {"type": "array", "items": message, "maxItems": _MAX_MESSAGES, "description": texts["messages"]}

    def call(self, name: str, given: Mapping[str, Any]) -> ToolResult:
        """Run a tool. If arguments are wrong, return a result that tells the model how to correct the call."""
        try:
            fitting, flaws = conform(dict(given), self.form(name))
        except ValueError as error:
            return self._agent_tools.misused(name, str(error), self.form(name))
        if flaws:
            return self._agent_tools.misused(name, "; ".join(flaws), self.form(name))
        return self._calls[name](**{argument: value for argument, value in fitting.items() if argument in self._arguments(name)})

    def _arguments(self, name: str) -> Sequence[str]:
        return list(self.form(name)["properties"])

    @property
    def _scope(self) -> Scope:
        return Scope(tenant=services(self._memory).store.tenant, **self._caller.parts)

    # Reading

    def _context(self, query: str, max_tokens: int | None = None) -> ToolResult:
        context = self._memory.context(query, max_tokens=max_tokens, **self._caller.parts)
        # With a notice, an empty block does not mean that nothing relevant is stored.
        nothing = "" if context.text or context.notices else self._texts["memory_context"]["nothing"]
        data = {
            "text": context.text,
            "tokens": context.tokens,
            "memories": [_brief(hit) for hit in context.hits],
            "left_out": len(context.left_out),
            **({"message": nothing} if nothing else {}),
        }
        text = "\n\n".join(filter(None, [context.text or nothing, *context.notices]))
        return ToolResult(text=text, data=data, notices=context.notices)

    def _app_context(
        self,
        app: str | None = None,
        point: Point = "selection",
        conversation_id: str | None = None,
        max_tokens: int | None = None,
    ) -> ToolResult:
        own = self._caller.parts["app"]
        texts = self._texts["app_context"]
        if own is not None and app not in (None, own):
            return ToolResult(ok=False, text=texts["other_app"].format(app=escape_line(own)))
        chosen = app or own
        if chosen is None:
            return ToolResult(ok=False, text=texts["no_app"])
        user = self._caller.parts["user"]
        context = self._memory.apps.context(chosen, point, conversation_id, user, max_tokens=max_tokens)
        nothing = "" if context.text or context.notices else self._texts["memory_context"]["nothing"]
        text = "\n\n".join(filter(None, [context.text or nothing, *context.notices]))
        return ToolResult(text=text, data={"text": context.text, "tokens": context.tokens}, notices=context.notices)

    def _report_energy(self, level: float | None = None, used: float | None = None) -> ToolResult:
        principal = self._caller.principal
        bound = principal.app is not None or principal.user is not None  # the energy of the host concerns all apps and users
        if principal.key is not None and (principal.level != "admin" or bound):
            return ToolResult(ok=False, text=self._texts["report_energy"]["refused"])
        if level is not None:
            self._memory.apps.report_energy_level(level)
        if used is not None:
            self._memory.apps.report_energy(used)
        data = {"level": self._memory.apps.energy_level()}
        return ToolResult(text=safe_json(data), data=data)

    def _list(
        self,
        memory_type: str | None = None,
        key: str | None = None,
        topic: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> ToolResult:
        kinds = [memory_type] if memory_type else None
        found = self._memory.memories(kinds=kinds, key=key, topic=topic, limit=limit + 1, offset=offset, **self._caller.parts)
        data = {
            "memories": [_listed(memory) for memory in found[:limit]],
            "next_offset": offset + limit if len(found) > limit else None,
        }
        return ToolResult(text=safe_json(data), data=data)

    def _history(self, memory_id: str) -> ToolResult:
        changes = by_id.history(services(self._memory), memory_id, reader=self._scope)
        data = {"id": memory_id, "changes": [_change(each) for each in changes]}
        return ToolResult(text=safe_json(data), data=data)

    # Changing memories

    def _update(
        self,
        memory_id: str,
        content: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        if_revision: int | None = None,
    ) -> ToolResult:
        if content is None and metadata is None:
            return self._agent_tools.misused("update_memory", "content or metadata is missing", self.form("update_memory"))
        refusal = self._agent_tools.refusal(memory_id)
        if refusal is not None:
            return self._agent_tools.problem(refusal, id=escape_line(memory_id))
        now = self._memory.revise(memory_id, content, metadata=metadata, if_revision=if_revision)
        data = {"id": now.id, "content": now.text, "type": now.kind, "revision": now.revision}
        return self._agent_tools.with_redactions(now, ToolResult(text=safe_json(data), data=data))

    def _undo(self, change_id: str) -> ToolResult:
        parts = services(self._memory)
        found = parts.store.changes(id=change_id)
        batch = parts.store.changes(batch=found[0].batch if found else change_id)
        if not batch or not all(self._may_change(change.memory) for change in batch):
            raise NotFound(f"There is no change {change_id} of your own memories. Call memory_history to see the changes.")
        undone = by_id.undo(parts, change_id, reader=self._scope)
        shown = [{"id": each.id, "content": _cut(each.text), "status": each.status} for each in undone]
        data = {"change_id": change_id, "memories": shown}
        return ToolResult(text=safe_json(data), data=data)

    def _may_change(self, memory_id: str) -> bool:
        """Return True if the memory belongs to the caller's user. Shared memories cannot be changed by tools."""
        try:
            scope = self._memory.get(memory_id).scope
        except HoldfastError:
            return False
        return self._scope.sees(scope) and scope.user == self._scope.user and self._caller.owns(scope)

    # Conversations

    def _add_messages(self, messages: Sequence[Mapping[str, Any]], conversation_id: str | None = None) -> ToolResult:
        if not messages:
            return self._agent_tools.misused("add_messages", "messages is empty", self.form("add_messages"))
        session = self._session(conversation_id)
        known = self._known_messages(session, messages)
        session.begin(metadata={PROJECT: self._caller.project} if self._caller.project else None)
        new: list[NewMessage] = [{"role": each["role"], "text": each["content"], "id": each.get("id")} for each in messages]
        stored = session.add_all(new)
        obeyed = [_obeyed(message) for message in stored if message.consent is not None]
        redacted = sorted({str(each) for message in stored for each in message.redacted})
        data = {
            "conversation_id": session.id,
            "added": len({message.id for message in stored} - known),
            "ids": [message.id for message in stored],
            **({"redacted": redacted} if redacted else {}),
            **({"consent": obeyed} if obeyed else {}),
        }
        return ToolResult(text=safe_json(data), data=data)

    def _known_messages(self, session: Session, messages: Sequence[Mapping[str, Any]]) -> set[str]:
        """Return Holdfast's ids of the given messages that the session already contains.

        The messages are found by the ids that the client gave them. Messages without such an id are not found.
        """
        store = services(self._memory).store
        given = {str(each["id"]) for each in messages if each.get("id")}
        found = [MessageFilter(session=session.id, exactly=session.scope, client_id=id) for id in given]
        return {message.id for wanted in found for message in store.messages(wanted)}

    def _end(self, conversation_id: str) -> ToolResult:
        session = self._session(conversation_id)
        known = services(self._memory).store.session(session.id, session.scope)
        if known is None:
            problem = self._texts["end_conversation"]["absent"].format(id=escape_line(conversation_id))
            return ToolResult(ok=False, text=problem)
        session.end()
        data = {"conversation_id": session.id, "ended": True}
        return ToolResult(text=safe_json(data), data=data)

    def _session(self, id: str | None) -> Session:
        return self._memory.session(id=id, shared=not any(self._caller.parts.values()), **self._caller.parts)


def _object(required: Sequence[str], **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _brief(hit: Hit) -> dict[str, Any]:
    return {"id": hit.id, "content": _cut(hit.text), "type": hit.kind, **({"asked": _cut(hit.asked)} if hit.asked else {})}


def _listed(memory: Memory) -> dict[str, Any]:
    shown = {
        "id": memory.id,
        "content": _cut(memory.text),
        "type": memory.kind,
        "created_at": memory.created_at.isoformat(),
        "metadata": dict(memory.metadata),
    }
    expires = memory.expires_at.isoformat() if memory.expires_at else None
    more = {"key": memory.key, "topic": memory.topic, "expires_at": expires}
    return shown | {name: value for name, value in more.items() if value is not None}


def _obeyed(message: Message) -> dict[str, Any]:
    """Return a dict that describes how the wish in a message was obeyed. The message must contain an obeyed wish.

    The keys are ``message_id``, ``wish``, ``memories`` and ``messages``. The last two list the memories and messages that the
    wish affected. If the wish can be undone, the dict also has the key ``change_id``.
    """
    done = message.consent
    assert done is not None
    memories = [{"id": each.id, "content": _cut(each.text)} for each in done.memories]
    shown = {"message_id": message.id, "wish": done.wish, "memories": memories, "messages": list(done.messages)}
    return shown | ({"change_id": done.undo} if done.undo else {})


def _change(change: ChangeRecord) -> dict[str, Any]:
    shown = {"change_id": change.id, "action": change.action, "at": change.at.isoformat(), "revision": change.revision}
    more = {"content": _cut(change.after.text) if change.after else None, "reason": change.reason}
    return shown | {name: value for name, value in more.items() if value is not None}


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARACTERS else text[: _MAX_TEXT_CHARACTERS - 1] + "…"
