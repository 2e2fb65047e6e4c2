"""Memory tools for any model that can call functions: what they are, as data, and what running one does.

::

    tools = MemoryTools(memory, user="ana")
    client.chat.completions.create(..., tools=openai_format(tools.definitions))
    result = tools.call("remember", '{"key": "drink", "value": "prefers tea"}')

A model's mistake is answered with a text that helps it, never with an exception.
"""

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

from holdfast.chat import Schema, Tool, ToolCall
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, SettingsError
from holdfast.learning.changes.keys import canonical_key, same_key
from holdfast.presets.base import Preset
from holdfast.presets.reachy import context_key
from holdfast.recall.reader import min_score_to_show
from holdfast.services import services
from holdfast.text.clean import clean_name, escape_line
from holdfast.text.json.conform import conform
from holdfast.types import Hit, Kind, Memory, Scope

READ_ONLY_TOOLS = ("search_memories",)
"""The tools that change nothing."""
_MANY = 5_000
_MAX_RESULTS = 50
_MAX_TEXT_CHARACTERS = 2_000
"""Characters of one memory that a model is shown."""

ToolTexts: TypeAlias = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What came of a call: ``text`` is for the model, ``data`` the same as JSON has it, where there is more than words."""

    text: str
    ok: bool = True
    data: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A call that was made, and what came of it."""

    call: ToolCall
    result: ToolResult


@cache
def tool_words(language: str | None) -> ToolTexts:
    """Return the tools' words in a language; in English where it has none."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "tools.toml").read_text("utf-8"))
    own = table.get((language or "en").partition("-")[0].casefold())
    words: ToolTexts = own if isinstance(own, dict) else table["en"]
    return words


def memory_tools(preset: Preset, *, names: Sequence[str] | None = None, language: str | None = None) -> tuple[Tool, ...]:
    """Return the definitions of a preset's tools, or of those named."""
    words = tool_words(language)
    wanted = preset.tools if names is None else tuple(names)
    unknown = [name for name in wanted if name not in _PARAMETERS]
    if unknown:
        raise SettingsError(f"There is no memory tool {unknown[0]!r}; there are: {', '.join(_PARAMETERS)}.")
    return tuple(
        Tool(name=name, description=words[name]["description"], parameters=_PARAMETERS[name](words[name], preset))
        for name in wanted
    )


def openai_format(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as OpenAI, and all that speaks alike, takes them."""
    return [
        {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
        for tool in tools
    ]


def anthropic_format(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as Anthropic takes them."""
    return [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools]


class MemoryTools:
    """A preset's memory tools in one scope."""

    def __init__(
        self,
        memory: Engine,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        names: Sequence[str] | None = None,
        language: str | None = None,
        owns: Callable[[Scope], bool] | None = None,
    ) -> None:
        """Take the preset's tools, or those of these ``names``; ``language`` is the user's own where none is given.

        ``owns`` says what may be forgotten, besides that it must be the user's own.
        """
        self._memory = memory
        self._owns = owns
        self._parts: dict[str, Any] = {
            "user": clean_name(user, what="user"),
            "app": clean_name(app, what="app"),
            "agent": clean_name(agent, what="agent"),
        }
        self._scope = Scope(tenant=services(memory).store.tenant, **self._parts)
        spoken = language or language_for(memory, self._scope.user)
        self._words = tool_words(spoken)
        self.definitions = memory_tools(memory.preset, names=names, language=spoken)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolResult:
        """Run a tool by its name; arguments may be the JSON text a model gave."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except (ValueError, RecursionError):
                return self._misused(name, "the arguments are not JSON")
        return self.run(ToolCall(id="", name=name, arguments=arguments if isinstance(arguments, Mapping) else {}))

    def run(self, call: ToolCall, *, sources: Sequence[str] = (), seen: Collection[str] = ()) -> ToolResult:
        """Run a call. ``sources`` are the messages it goes back to; ``seen`` are messages that need not be found."""
        offered = {tool.name: tool for tool in self.definitions}
        if call.name not in offered:
            which = "unknown" if offered else "none_offered"
            return self._problem(which, name=escape_line(call.name), tools=", ".join(offered))
        try:
            given, flaws = conform(dict(call.arguments), offered[call.name].parameters)
        except ValueError as error:
            return self._misused(call.name, str(error))
        if flaws:
            return self._misused(call.name, "; ".join(flaws))
        try:
            return self._carry_out(call.name, given, sources=sources, seen=seen)
        except HoldfastError as error:
            return self._problem("failed", name=call.name, problem=escape_line(str(error)))

    def _carry_out(self, name: str, given: Mapping[str, Any], *, sources: Sequence[str], seen: Collection[str]) -> ToolResult:
        if name == "remember":
            return self._remember(given["key"], given["value"], sources)
        if name == "forget":
            return self._forget(given["key"])
        if name == "search_memories":
            return self._search(given["query"], given.get("memory_type"), given.get("limit", 5), seen)
        if name == "store_memory":
            return self._store(given["content"], given.get("memory_type"), given.get("metadata", {}), sources)
        return self._forget_memory(given["memory_id"])

    def too_many(self) -> ToolResult:
        """Return what a model is told that goes on calling tools in place of answering."""
        return self._problem("too_many")

    def _misused(self, name: str, problem: str) -> ToolResult:
        forms = {tool.name: tool.parameters for tool in self.definitions}
        return self.misused(name, problem, forms.get(name, {}))

    def misused(self, name: str, problem: str, form: Schema) -> ToolResult:
        """Return what a model is told that called a tool with the wrong arguments."""
        problem = escape_line(problem.removeprefix("the answer ").rstrip("."))
        parameters = json.dumps(form, ensure_ascii=False)
        return self._problem("arguments", name=escape_line(name), problem=problem, parameters=parameters)

    def _problem(self, which: str, **values: str) -> ToolResult:
        return ToolResult(ok=False, text=self._words["problems"][which].format(**values))

    # What Rumi has: a key and a value.

    def _remember(self, key: str, value: str, sources: Sequence[str]) -> ToolResult:
        preset, kind = self._memory.preset, self._memory.preset.kind(None)
        if preset.reconcile_rules.normalize_keys:
            key = canonical_key(key, [each.key for each in self._own() if each.key])
        labelled: dict[str, Any] = {"key": key} if kind.keyed != "no" else {"metadata": {"key": clean_name(key, what="key")}}
        kept = self._memory.remember(value, sources=sources, **labelled, **self._parts)
        label = _label(kept) or key
        text = self._words["remember"]["done"].format(key=escape_line(label), value=escape_line(kept.text))
        return ToolResult(text=text, data={"id": kept.id, "key": label, "value": kept.text})

    def _forget(self, key: str) -> ToolResult:
        if key.startswith("mem_") and self._is_own(key):
            return self._forgotten(key, self._memory.forget(key, **self._parts), [key])
        meant = [each for each in self._own() if same_key(_label(each), key)]
        by_key = {each.key for each in meant if each.key and self._owns is None}
        count = sum(self._memory.forget(key=name, **self._parts) for name in by_key)
        count += sum(self._memory.forget(each.id, **self._parts) for each in meant if each.key not in by_key)
        return self._forgotten(key, count, [each.id for each in meant]) if count else self._nothing_under(key)

    def _forgotten(self, key: str, count: int, ids: Sequence[str]) -> ToolResult:
        text = self._words["forget"]["done"].format(key=escape_line(key), count=count)
        return ToolResult(text=text, data={"key": key, "forgotten": count, "ids": list(ids)})

    def _nothing_under(self, key: str) -> ToolResult:
        """Say what could have been meant."""
        words = self._words["forget"]
        names = sorted({label for each in self._own() if (label := _label(each))})[:30]
        kinds = [kind.name for kind in self._memory.preset.kinds]
        found = self._memory.recall(key, limit=3, kinds=kinds, **self._parts)
        least = min_score_to_show(found)
        near = [{"id": hit.id, "text": str(hit)[:200]} for hit in found if hit.score >= least and self._is_own(hit.id)]
        listed = "; ".join(f"{each['id']} ({escape_line(each['text'])})" for each in near)
        text = words["none"].format(
            key=escape_line(key),
            keys=words["keys"].format(names=escape_line(", ".join(names))) if names else "",
            near=words["near"].format(names=listed) if near else "",
        )
        return ToolResult(ok=False, text=text, data={"key": key, "forgotten": 0, "ids": [], "keys": names, "near": near})

    def _own(self) -> list[Memory]:
        """Return what the user has: not what all users share."""
        found = self._memory.memories(limit=_MANY, **self._parts)
        return [each for each in found if self._is_ours(each.scope)]

    def _is_own(self, id: str) -> bool:
        return self._why_not(id) is None

    def _is_ours(self, scope: Scope) -> bool:
        return scope.user == self._scope.user and (self._owns is None or self._owns(scope))

    # What Reachy has: typed memories and ids.

    def _search(self, query: str, memory_type: str | None, limit: int, seen: Collection[str]) -> ToolResult:
        kinds = [memory_type] if memory_type else [kind.name for kind in self._memory.preset.kinds]
        if memory_type in (None, _spoken(self._memory.preset)):
            kinds = [kind for kind in kinds if kind != "message"] + ["message"]
        limit = max(1, min(limit, _MAX_RESULTS))
        hits = self._memory.recall(query, kinds=kinds, limit=limit + len(seen), **self._parts)
        min_score = min_score_to_show(hits)
        scored = [(hit, self._measured(hit)) for hit in hits if hit.id not in seen and hit.score >= min_score]
        if self._min_score is not None:  # a design that measures is one that ranks by what it measured
            scored = sorted((each for each in scored if each[1] >= self._min_score), key=lambda each: -each[1])
        found = [self._shown(hit, score) for hit, score in scored[:limit]]
        return ToolResult(text=safe_json(found), data=found)

    @property
    def _min_score(self) -> float | None:
        """The score a search must reach, where searching is a design's own tool and it names one."""
        preset = self._memory.preset
        return preset.recall.min_cosine if "search_memories" in preset.tools else None

    def _measured(self, hit: Hit) -> float:
        """Return the score: how likely a hit matters, or in a design that measures, the cosine of its own embedder.

        What was found by words alone has none: there it is the share of the words that it has.
        """
        embedder = services(self._memory).embedding.embedder()
        if self._min_score is None:
            return hit.score
        if hit.similarity is None or embedder is None:
            return hit.score_by("text") or 0.0
        return min(max(self._memory.preset.recall.as_measured(hit.similarity, embedder.calibration), 0.0), 1.0)

    def _shown(self, hit: Hit, score: float) -> dict[str, Any]:
        message = hit.message
        said = {"role": message.role, "session": message.session} if message else {}
        shown = {
            "id": hit.id,
            "content": hit.text if len(hit.text) <= _MAX_TEXT_CHARACTERS else hit.text[: _MAX_TEXT_CHARACTERS - 1] + "…",
            "type": _spoken(self._memory.preset) if message else hit.kind,
            "score": score,
            "created_at": (message.at if message else hit.memory.created_at if hit.memory else hit.at).isoformat(),
            "metadata": dict(hit.memory.metadata) if hit.memory else said,
        }
        keyed = hit.memory if hit.memory and self._memory.preset.kind(hit.kind).keyed == "many" else None
        more = {"key": keyed.key if keyed else None, "since_changed_to": str(hit.successor) if hit.successor else None}
        return shown | {name: value for name, value in more.items() if value is not None}

    def _store(self, content: str, memory_type: str | None, metadata: Mapping[str, Any], sources: Sequence[str]) -> ToolResult:
        kind = self._memory.preset.kind(memory_type)
        kept = self._memory.remember(
            content, kind=kind.name, key=_key_for(kind, content, metadata), metadata=metadata, sources=sources, **self._parts
        )
        shown = {"id": kept.id, "content": kept.text, "type": kept.kind, "created_at": kept.created_at.isoformat()}
        return ToolResult(text=safe_json(shown), data=shown)

    def _forget_memory(self, id: str) -> ToolResult:
        refused = self._why_not(id)
        if refused is None and self._memory.forget(id, **self._parts):
            return ToolResult(text=safe_json({"success": True, "id": id}), data={"success": True, "id": id})
        why = self._words["problems"][refused or "absent"].format(id=escape_line(id))
        data = {"success": False, "id": id, "error": why}
        return ToolResult(ok=False, text=safe_json(data), data=data)

    def _why_not(self, id: str) -> str | None:
        """Return why a memory cannot be forgotten by a model; a foreign one looks exactly like an absent one."""
        if id.startswith("msg_"):
            return "message"
        try:
            found = self._memory.get(id)
        except HoldfastError:
            return "absent"
        if found.status != "live" or not self._scope.sees(found.scope):
            return "absent"
        return None if self._is_ours(found.scope) else "shared"


def language_for(memory: Engine, user: str | None) -> str | None:
    """Return the language to speak with a user: their own, or the preset's."""
    layout = memory.preset.layout
    own = services(memory).store.user(user).language if user else None
    return own or (layout.language if layout else None)


def _label(memory: Memory) -> str | None:
    """Return what a model calls a memory: its key, or where its kind has none, the one it was remembered with."""
    label = memory.key or memory.metadata.get("key")
    return label if isinstance(label, str) else None


def _spoken(preset: Preset) -> str:
    """Return the type under which raw messages are found."""
    return "conversation" if any(kind.name == "conversation" for kind in preset.kinds) else "message"


def _key_for(kind: Kind, content: str, metadata: Mapping[str, Any]) -> str | None:
    """Return the key of a memory; one that names none has its own, so that it takes no other's place."""
    named = metadata.get("context_key")
    if kind.keyed == "no":
        return None
    if isinstance(named, str) and named.strip():
        return named
    return context_key(content, metadata) if kind.keyed == "one" else None


def safe_json(value: Any) -> str:
    """Return JSON in which no text can close a tag around it or open another."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


# The JSON Schema of each tool's arguments.


def _object(required: Sequence[str], **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def types_schema(description: str, kinds: Sequence[Kind], *more: str, **values: str) -> Schema:
    """Return the schema of an argument that names a kind, or one of ``more``."""
    meanings = " ".join(f"{kind.name}: {kind.meaning}." for kind in kinds)
    names = [*(kind.name for kind in kinds), *more]
    return {"type": "string", "enum": names, "description": description.format(types=meanings, **values).strip()}


def _search_parameters(words: Mapping[str, str], preset: Preset) -> Schema:
    spoken = _spoken(preset)
    more = () if any(kind.name == spoken for kind in preset.kinds) else (spoken,)
    return _object(
        ["query"],
        query=_text(words["query"]),
        memory_type=types_schema(words["memory_type"], preset.kinds, *more),
        limit={"type": "integer", "description": words["limit"]},
    )


def _store_parameters(words: Mapping[str, str], preset: Preset) -> Schema:
    # What is pinned stands in every prompt: that is for people to write.
    kinds = [kind for kind in preset.kinds if not kind.pinned]
    return _object(
        ["content"],
        content=_text(words["content"]),
        memory_type=types_schema(words["memory_type"], kinds, default=preset.default_kind),
        metadata={"type": "object", "description": words["metadata"].format()},
    )


_PARAMETERS: Mapping[str, Callable[[Mapping[str, str], Preset], Schema]] = {
    "remember": lambda words, preset: _object(["key", "value"], key=_text(words["key"]), value=_text(words["value"])),
    "forget": lambda words, preset: _object(["key"], key=_text(words["key"])),
    "search_memories": _search_parameters,
    "store_memory": _store_parameters,
    "forget_memory": lambda words, preset: _object(["memory_id"], memory_id=_text(words["memory_id"])),
}
