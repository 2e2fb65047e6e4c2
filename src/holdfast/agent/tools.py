"""Memory tools for any model that can call functions: their definitions, and the code that runs them.

::

    tools = MemoryTools(memory, user="ana")
    client.chat.completions.create(..., tools=openai_format(tools.definitions))
    result = tools.call("remember", '{"key": "drink", "value": "prefers tea"}')

A wrong call does not raise an error. It returns a text that helps the model to correct the call.
"""

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

from holdfast.agent.tool_schemas import PARAMETERS, message_type_of
from holdfast.chat import Schema, Tool, ToolCall
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, NotFound, SettingsError
from holdfast.learning.changes.keys import canonical_key, same_key
from holdfast.learning.dating import dated, dates_of, reading_of
from holdfast.learning.placement import belongs_to_user
from holdfast.presets.base import Preset
from holdfast.presets.reachy import context_key
from holdfast.services import services
from holdfast.text.clean import MAX_TEXT, clean_name, escape_line
from holdfast.text.json.conform import conform
from holdfast.types import Consent, Hit, Kind, Memory, Scope

READ_ONLY_TOOLS = ("search_memories",)
"""Names of the tools that change nothing."""
_MAX_MEMORIES = 5_000
_MAX_RESULTS = 50
_MAX_TEXT_CHARACTERS = 2_000
"""Maximum number of characters of one memory in a search result."""

ToolTexts: TypeAlias = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call: ``text`` for the model, and optionally ``data`` with the same content as JSON values."""

    text: str
    ok: bool = True
    data: Any = None
    notices: tuple[str, ...] = ()
    """Notices about parts that a search could not use, such as "Searched by words only: ...". They are also part of ``text``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool call and its result."""

    call: ToolCall
    result: ToolResult


@cache
def tool_texts(language: str | None) -> ToolTexts:
    """Return the descriptions and messages of the tools in a language. If there is no translation, return them in English."""
    table = tomllib.loads((resources.files("holdfast.prompts") / "tools.toml").read_text("utf-8"))
    own = table.get((language or "en").partition("-")[0].casefold())
    texts: ToolTexts = own if isinstance(own, dict) else table["en"]
    return texts


def memory_tools(preset: Preset, *, names: Sequence[str] | None = None, language: str | None = None) -> tuple[Tool, ...]:
    """Return the definitions of the preset's tools, or of the tools in ``names``."""
    texts = tool_texts(language)
    selected = preset.tools if names is None else tuple(names)
    unknown = [name for name in selected if name not in PARAMETERS]
    if unknown:
        raise SettingsError(f"There is no memory tool {unknown[0]!r}. The tools are: {', '.join(PARAMETERS)}.")
    return tuple(
        Tool(name=name, description=texts[name]["description"], parameters=PARAMETERS[name](texts[name], preset))
        for name in selected
    )


def openai_format(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tool definitions in the format of OpenAI and compatible servers."""
    return [
        {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
        for tool in tools
    ]


def anthropic_format(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tool definitions in the format of Anthropic."""
    return [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools]


class MemoryTools:
    """The memory tools of a preset, bound to one scope."""

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
        project: str | None = None,
    ) -> None:
        """Bind the preset's tools, or the tools in ``names``, to a scope. By default, tool texts are in the user's language.

        The ``forget`` tools forget only memories of the user, never shared ones. The function ``owns`` can restrict
        them further: it gets the scope of a memory and returns True if the memory can be forgotten.

        Set ``project`` to the name of the app if the app represents a project. New memories about the user are then
        stored without the app, so that they apply in other projects, too.
        """
        self._memory = memory
        self._owns = owns
        self._project = project
        self._parts: dict[str, Any] = {
            "user": clean_name(user, what="user"),
            "app": clean_name(app, what="app"),
            "agent": clean_name(agent, what="agent"),
        }
        self._scope = Scope(tenant=services(memory).store.tenant, **self._parts)
        language = language or language_for(memory, self._scope.user)
        self._texts = tool_texts(language)
        self.definitions = memory_tools(memory.preset, names=names, language=language)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolResult:
        """Run a tool by name. ``arguments`` can also be the JSON text that the model wrote."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except (ValueError, RecursionError):
                return self._misused(name, "the arguments are not JSON")
        return self.run(ToolCall(id="", name=name, arguments=arguments if isinstance(arguments, Mapping) else {}))

    def run(self, call: ToolCall, *, sources: Sequence[str] = (), seen: Collection[str] = ()) -> ToolResult:
        """Run a tool call. ``sources`` are the messages that led to it. Messages in ``seen`` are left out of search results."""
        offered = {tool.name: tool for tool in self.definitions}
        if call.name not in offered:
            which = "unknown" if offered else "none_offered"
            return self.problem(which, name=escape_line(call.name), tools=", ".join(offered))
        try:
            given, flaws = conform(dict(call.arguments), offered[call.name].parameters)
        except ValueError as error:
            return self._misused(call.name, str(error))
        if flaws:
            return self._misused(call.name, "; ".join(flaws))
        try:
            return self._dispatch(call.name, given, sources=sources, seen=seen)
        except HoldfastError as error:
            return self.problem("failed", name=call.name, problem=escape_line(str(error)))

    def _dispatch(self, name: str, given: Mapping[str, Any], *, sources: Sequence[str], seen: Collection[str]) -> ToolResult:
        if name == "remember":
            return self._remember(given["key"], given["value"], sources)
        if name == "forget":
            return self._forget(given["key"])
        if name == "search_memories":
            return self._search(given["query"], given.get("memory_type"), given.get("limit", 5), seen)
        if name == "store_memory":
            return self._store(given["content"], given.get("memory_type"), given.get("metadata", {}), sources, given.get("key"))
        if "memory_id" not in given and "key" in given:
            return self._forget(given["key"])
        return (
            self._forget_memory(given["memory_id"])
            if "memory_id" in given
            else self._misused(name, "memory_id or key is missing")
        )

    def too_many(self) -> ToolResult:
        """Return the error result for a model that keeps calling tools instead of answering."""
        return self.problem("too_many")

    def already_forgotten(self, call: ToolCall, taken: Consent) -> ToolResult | None:
        """Return a success result for a forget call whose memories Holdfast has already forgotten. Otherwise return None.

        Holdfast forgets memories by itself when the user asks for it in a message. ``taken`` lists what it has
        forgotten.
        """
        named = str(call.arguments.get("key") or call.arguments.get("memory_id") or "")
        meant = [each for each in taken.memories if each.id == named or same_key(_label(each), named)]
        if call.name == "forget_memory":
            return (
                ToolResult(text=safe_json({"success": True, "id": named}), data={"success": True, "id": named}) if meant else None
            )
        taken_ids = [each.id for each in meant or taken.memories] or list(taken.messages)
        return self._forgotten(named, len(taken_ids), taken_ids) if taken_ids else None

    def withheld(self) -> ToolResult:
        """Return the error result for a tool that would store content of a message that is off the record."""
        return self.problem("withheld")

    def _misused(self, name: str, problem: str) -> ToolResult:
        forms = {tool.name: tool.parameters for tool in self.definitions}
        return self.misused(name, problem, forms.get(name, {}))

    def misused(self, name: str, problem: str, form: Schema) -> ToolResult:
        """Return the error result for a call of the tool ``name`` with wrong arguments.

        ``problem`` says what is wrong, and ``form`` is the JSON schema of the right arguments.
        """
        problem = escape_line(problem.removeprefix("the answer ").rstrip("."))
        parameters = json.dumps(form, ensure_ascii=False)
        return self.problem("arguments", name=escape_line(name), problem=problem, parameters=parameters)

    def problem(self, which: str, **values: str) -> ToolResult:
        """Return an error result. ``which`` selects its text in the table ``problems`` of the tool texts.

        ``values`` fill in the placeholders of the text.
        """
        return ToolResult(ok=False, text=self._texts["problems"][which].format(**values))

    # Tools of the Rumi design: a key and a value.

    def _remember(self, key: str, value: str, sources: Sequence[str]) -> ToolResult:
        preset, kind = self._memory.preset, self._memory.preset.kind(None)
        if preset.reconcile_rules.normalize_keys:
            key = canonical_key(key)
        labelled: dict[str, Any] = {"key": key} if kind.keyed != "no" else {"metadata": {"key": clean_name(key, what="key")}}
        value, dates = self._dated(value)
        labelled["metadata"] = {**dates, **labelled.get("metadata", {})}
        kept = self._memory.remember(value, sources=sources, **labelled, **self._place(value, key=key))
        label = _label(kept) or key
        text = self._texts["remember"]["done"].format(key=escape_line(label), value=escape_line(kept.text))
        return self.with_redactions(kept, ToolResult(text=text, data={"id": kept.id, "key": label, "value": kept.text}))

    def _forget(self, key: str) -> ToolResult:
        if key.startswith("mem_") and self._is_own(key):
            return self._forgotten(key, self._memory.forget(key, **self._parts), [key])
        meant = [each for each in self._own() if same_key(_label(each), key)]
        by_key = {each.key for each in meant if each.key and self._owns is None}
        count = sum(self._forget_key(name) for name in by_key)
        count += sum(self._memory.forget(each.id, **self._parts) for each in meant if each.key not in by_key)
        return self._forgotten(key, count, [each.id for each in meant]) if count else self._nothing_under(key)

    def _forget_key(self, key: str) -> int:
        """Forget the memories with a key. Return their number, which is 0 if no memory has this key."""
        try:
            return self._memory.forget(key=key, **self._parts)
        except NotFound:
            return 0

    def _forgotten(self, key: str, count: int, ids: Sequence[str]) -> ToolResult:
        text = self._texts["forget"]["done"].format(key=escape_line(key), count=count)
        return ToolResult(text=text, data={"key": key, "forgotten": count, "ids": list(ids)})

    def _nothing_under(self, key: str) -> ToolResult:
        """Return the result of forgetting an unknown key: an error that lists known keys and similar memories."""
        texts = self._texts["forget"]
        names = sorted({label for each in self._own() if (label := _label(each))})[:30]
        kinds = [kind.name for kind in self._memory.preset.learned_kinds]
        found = self._memory.recall(key, limit=3, kinds=kinds, **self._parts)
        near = [{"id": hit.id, "text": str(hit)[:200]} for hit in found if hit.is_relevant and self._is_own(hit.id)]
        listed = "; ".join(f"{each['id']} ({escape_line(each['text'])})" for each in near)
        text = texts["none"].format(
            key=escape_line(key),
            keys=texts["keys"].format(names=escape_line(", ".join(names))) if names else "",
            near=texts["near"].format(names=listed) if near else "",
        )
        data = {"key": key, "forgotten": 0, "ids": [], "keys": names, "near": near}
        return ToolResult(ok=False, text="\n".join([text, *found.notices]), data=data, notices=found.notices)

    def _own(self) -> list[Memory]:
        """Return the user's own memories, without memories shared by all users."""
        found = self._memory.memories(limit=_MAX_MEMORIES, **self._parts)
        return [each for each in found if self._is_ours(each.scope)]

    def _is_own(self, id: str) -> bool:
        return self.refusal(id) is None

    def _is_ours(self, scope: Scope) -> bool:
        return scope.user == self._scope.user and (self._owns is None or self._owns(scope))

    # Tools of the Reachy design: typed memories and ids.

    def _search(self, query: str, memory_type: str | None, limit: int, seen: Collection[str]) -> ToolResult:
        kinds = [memory_type] if memory_type else [kind.name for kind in self._memory.preset.learned_kinds]
        if memory_type in (None, message_type_of(self._memory.preset)):
            kinds = [kind for kind in kinds if kind != "message"] + ["message"]
        limit = max(1, min(limit, _MAX_RESULTS))
        hits = self._memory.recall(query, kinds=kinds, limit=limit + len(seen), **self._parts)
        new = [hit for hit in hits if hit.id not in seen]
        if self._min_score is None:
            chosen = [hit for hit in new if hit.is_relevant]
        else:  # a design with a minimum score also ranks by the score
            chosen = sorted((hit for hit in new if hit.score >= self._min_score), key=lambda hit: -hit.score)
        found = [self._shown(hit) for hit in chosen[:limit]]
        return ToolResult(text="\n".join([safe_json(found), *hits.notices]), data=found, notices=hits.notices)

    @property
    def _min_score(self) -> float | None:
        """Minimum score of a search result, from the preset. None if the preset sets none or has no search tool."""
        preset = self._memory.preset
        return preset.recall.min_cosine if "search_memories" in preset.tools else None

    def _shown(self, hit: Hit) -> dict[str, Any]:
        message = hit.message
        origin = {"role": message.role, "session": message.session} if message else {}
        shown = {
            "id": hit.id,
            "content": hit.text if len(hit.text) <= _MAX_TEXT_CHARACTERS else hit.text[: _MAX_TEXT_CHARACTERS - 1] + "…",
            "type": message_type_of(self._memory.preset) if message else hit.kind,
            "score": hit.score,
            "created_at": (message.at if message else hit.memory.created_at if hit.memory else hit.at).isoformat(),
            "metadata": dict(hit.memory.metadata) if hit.memory else origin,
        }
        keyed = hit.memory if hit.memory and self._memory.preset.kind(hit.kind).keyed == "many" else None
        since = str(hit.successor) if hit.successor else None
        later = "; ".join(hit.later) or None
        more = {"key": keyed.key if keyed else None, "asked": hit.asked, "since_changed_to": since, "said_later": later}
        return shown | {name: value for name, value in more.items() if value is not None}

    def _store(
        self, content: str, memory_type: str | None, metadata: Mapping[str, Any], sources: Sequence[str], key: str | None
    ) -> ToolResult:
        kind = self._memory.preset.kind(memory_type)
        content, dates = self._dated(content)
        metadata = {**dates, **metadata}
        if key is not None and kind.keyed == "no":
            key, metadata = None, {"key": clean_name(key, what="key"), **metadata}
        elif key is not None and self._memory.preset.reconcile_rules.normalize_keys:
            key = canonical_key(key, [each.key for each in self._own() if each.key])
        chosen = key or _key_for(kind, content, metadata)
        place = self._place(content, key=key, kind=kind.name)
        kept = self._memory.remember(content, kind=kind.name, key=chosen, metadata=metadata, sources=sources, **place)
        shown = {"id": kept.id, "content": kept.text, "type": kept.kind, "created_at": kept.created_at.isoformat()}
        shown |= {"key": label} if key is not None and (label := _label(kept)) else {}
        return self.with_redactions(kept, ToolResult(text=safe_json(shown), data=shown))

    def _dated(self, text: str) -> tuple[str, dict[str, str]]:
        """Return two values: a text with calendar dates added after words such as "tomorrow", and the dates of its events.

        Memories that are extracted from messages get dates in the same way.
        """
        if len(text) > MAX_TEXT:  # will be refused; reading it would take seconds
            return text, {}
        parts = services(self._memory)
        reading = reading_of(text, parts.sentence_reader)
        text = dated(text, parts.clock.now(), reading)
        return text, dates_of(text, parts.clock.now(), reading)

    def _place(self, text: str, *, key: str | None = None, kind: str | None = None) -> dict[str, Any]:
        """Return the user, app and agent for a new memory. If the app is a project, a memory about the user gets no app."""
        in_project = self._project is not None and self._scope.user is not None
        of_user = in_project and belongs_to_user(text, key=key, kind=kind, reader=services(self._memory).sentence_reader)
        return {**self._parts, "app": None} if of_user else self._parts

    def with_redactions(self, kept: Memory, result: ToolResult) -> ToolResult:
        """Return ``result``, the result of a write, with a note that tells the model which secrets were redacted.

        ``kept`` is the stored memory. If no secret was redacted in it, ``result`` is returned unchanged.
        """
        if not kept.redacted:
            return result
        listed = [str(each) for each in kept.redacted]
        said = self._texts["problems"]["redacted"].format(secrets=escape_line(", ".join(listed)))
        return replace(result, text=f"{result.text}\n{said}", data={**result.data, "redacted": listed})

    def _forget_memory(self, id: str) -> ToolResult:
        refusal = self.refusal(id)
        if refusal is None and self._memory.forget(id, **self._parts):
            return ToolResult(text=safe_json({"success": True, "id": id}), data={"success": True, "id": id})
        why = self._texts["problems"][refusal or "absent"].format(id=escape_line(id))
        data = {"success": False, "id": id, "error": why}
        return ToolResult(ok=False, text=safe_json(data), data=data)

    def refusal(self, id: str) -> str | None:
        """Return the reason why a model may not change a memory, or None if the model may change it.

        The reason is a key of the table ``problems`` in the tool texts. For an unknown id and for a memory that the
        scope may not see, the reason is the same, ``absent``. So the model does not learn whether the memory exists.
        """
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
    """Return the user's language, or the preset's language if the user has none."""
    layout = memory.preset.layout
    own = services(memory).store.user(user).language if user else None
    return own or (layout.language if layout else None)


def _label(memory: Memory) -> str | None:
    """Return a memory's key. If the memory has no key, return the ``key`` in its metadata, where kinds without keys store it."""
    label = memory.key or memory.metadata.get("key")
    return label if isinstance(label, str) else None


def _key_for(kind: Kind, content: str, metadata: Mapping[str, Any]) -> str | None:
    """Return the key for a new memory, or None if it gets no key.

    A memory of a kind without keys gets no key. In other kinds, the key is the ``context_key`` in the metadata. If there is
    no ``context_key``, the kind decides. If the kind allows many values per key, the memory gets no key. If it allows one
    value per key, the key is derived from the text, so that the memory does not supersede a memory with another text.
    """
    named = metadata.get("context_key")
    if kind.keyed == "no":
        return None
    if isinstance(named, str) and named.strip():
        return named
    return context_key(content, metadata) if kind.keyed == "one" else None


def safe_json(value: Any) -> str:
    """Return JSON with ``<`` and ``>`` escaped, so that stored text cannot open or close a tag in the prompt."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
