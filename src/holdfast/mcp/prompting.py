"""MCP prompts that a person can choose: "remember this conversation", "what do you know about me", "forget something"."""

from collections.abc import Mapping
from typing import Any

from holdfast.mcp.caller import McpCaller
from holdfast.mcp.sdk import MCPError, types
from holdfast.text.clean import clean_name, escape_line

ARGUMENTS: Mapping[str, tuple[str, bool]] = {
    "remember_conversation": ("focus", False),
    "what_do_you_know": ("about", False),
    "forget_about": ("about", True),
}
"""Maps each prompt to the name of its argument, and to True if the argument is required."""
_MAX_MEMORIES = 100


def list_prompts(caller: McpCaller) -> list[types.Prompt]:
    """List the prompts in the caller's language."""
    return [_described(name, caller.texts["prompts"][name]) for name in ARGUMENTS]


def _described(name: str, texts: Mapping[str, str]) -> types.Prompt:
    argument, required = ARGUMENTS[name]
    return types.Prompt(
        name=name,
        title=texts["title"],
        description=texts["description"],
        arguments=[types.PromptArgument(name=argument, description=texts[argument], required=required)],
    )


def fill_prompt(caller: McpCaller, name: str, arguments: Mapping[str, Any] | None) -> types.GetPromptResult:
    """Return a prompt with its argument filled in. Some prompts also contain the caller's memories.

    Raise ``MCPError`` if the prompt is unknown, or if it requires an argument that is missing.
    """
    problems = caller.texts["problems"]
    if name not in ARGUMENTS:
        known = ", ".join(ARGUMENTS)
        raise MCPError(types.INVALID_PARAMS, problems["unknown_prompt"].format(name=escape_line(name), prompts=known))
    argument, required = ARGUMENTS[name]
    value = clean_name((arguments or {}).get(argument) or None, what=argument)
    if required and value is None:
        raise MCPError(types.INVALID_PARAMS, problems["missing"].format(name=name, argument=argument))
    texts = caller.texts["prompts"][name]
    given = {argument: value} if required else {argument: texts[f"{argument}_text"].format(**{argument: value}) if value else ""}
    if "{known}" in texts["text"]:
        given["known"] = _known(caller, value) or texts["nothing"]
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=texts["text"].format(**given)))
    return types.GetPromptResult(description=texts["description"], messages=[message])


def _known(caller: McpCaller, about: str | None) -> str:
    """Return the newest memories, or the memories about a subject, as a Markdown list."""
    memory, parts = caller.memory, caller.parts
    kinds = [kind.name for kind in memory.preset.learned_kinds]
    notices: tuple[str, ...] = ()
    if about is None:
        found = [str(each) for each in memory.memories(limit=_MAX_MEMORIES, **parts) if each.trust >= memory.preset.min_trust]
    else:
        hits = memory.recall(about, kinds=kinds, limit=20, **parts)
        found, notices = [str(hit) for hit in hits], hits.notices
    return "\n".join([*(f"- {escape_line(each)}" for each in found), *(f"({notice})" for notice in notices)])
