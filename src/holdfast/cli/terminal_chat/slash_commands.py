"""Slash commands of the chat: /remember, /forget, /memories, /why, /context, /new, /end, /help."""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from holdfast.agent.tools import MemoryTools
from holdfast.cli.console import one_error
from holdfast.cli.output import brief, memory_line, safe, table
from holdfast.cli.terminal_chat.conversation import TerminalChat
from holdfast.cli.terminal_chat.output import command_named, command_names, hits_json
from holdfast.errors import HoldfastError

_COMMAND = re.compile(r"/([^\W\d_]{1,20}|\?)(?:\s+(.*))?", re.DOTALL)
"""Pattern of a slash command: a slash and one word, optionally followed by text.

A path such as /usr/bin does not match and is sent as a message.
"""


def handle_line(talk: TerminalChat, line: str) -> bool:
    """Handle one line of input: a slash command or a message. Return False if the conversation should end."""
    typed = _COMMAND.fullmatch(line.rstrip())
    if typed is None:
        if line.strip():
            talk.say(line.strip())
        return True
    name, rest = command_named(typed[1].casefold()), (typed[2] or "").strip()
    if name == "end":
        return False
    try:
        (_RUN[name] if name else _unknown)(talk, rest if name else typed[1])
    except HoldfastError as error:
        _refuse(talk, error.code, str(error))
    return True


def _scope(talk: TerminalChat) -> dict[str, Any]:
    scope = talk.agent.session.scope
    return {"user": scope.user, "app": scope.app, "agent": scope.agent}


def _usage(talk: TerminalChat, place: int) -> str:
    return talk.output.text("what", usage=list(talk.output.help)[place])


def _refuse(talk: TerminalChat, code: str, message: str) -> None:
    if talk.output.as_json:
        talk.output.show(one_error(code, message), [])
    else:
        talk.output.aside(safe(message))


def _remember(talk: TerminalChat, text: str) -> None:
    if talk.agent.session.off_record:
        _refuse(talk, "off_record", talk.output.text("off_record"))
    elif not text:
        _refuse(talk, "usage", _usage(talk, 0))
    else:
        memory = talk.memory.remember(text, **_scope(talk))
        talk.output.show({"remembered": memory}, [talk.output.text("remembered", text=brief(str(memory)), id=memory.id)])


def _forget(talk: TerminalChat, target: str) -> None:
    if not target:
        _refuse(talk, "usage", _usage(talk, 1))
        return
    talk.agent.digest_now()
    tools = MemoryTools(talk.memory, names=["forget"], language=talk.output.language, **_scope(talk))
    result = tools.call("forget", {"key": target})
    if not result.ok:
        near = [f"  {each['id']}  {brief(each['text'])}" for each in result.data["near"]]
        lines = [talk.output.text("nothing_under", key=brief(target)), *([talk.output.text("meant"), *near] if near else [])]
        talk.output.show(result.data, lines)
        return
    changes = {change.batch: change.id for id in result.data["ids"] for change in talk.memory.history(id)[-1:]}
    talk.output.show({**result.data, "undo": list(changes.values())}, [safe(result.text)])
    for change in changes.values():
        talk.output.aside(talk.output.text("undo", change=change))


def _memories(talk: TerminalChat, query: str) -> None:
    output = talk.output
    if query:
        hits = talk.memory.recall(query, **_scope(talk))
        lines = [*output.hits(hits)] or [output.text("no_hits")]
        output.show({"recalled": hits_json(hits), "notices": hits.notices}, [*lines, *hits.notices])
        return
    found = talk.memory.memories(**_scope(talk))
    output.show({"memories": found}, [memory_line(each) for each in found] or [output.text("no_memories")])


def _why(talk: TerminalChat, _rest: str) -> None:
    output, context = talk.output, talk.agent.context
    if context is None:
        output.show({"recalled": [], "left_out": []}, [output.text("why_not_yet")])
        return
    lines = [output.text("why"), *output.hits(context.hits)] if context.hits else [output.text("why_nothing")]
    for reason in ("budget", "limit", "floor", "origin"):
        hits = [hit for hit in context.left_out if hit.left_out_by == reason]
        lines += [output.text(f"left_out_{reason}"), *output.hits(hits)] if hits else []
    value = {"recalled": hits_json(context.hits), "left_out": hits_json(context.left_out), "notices": context.notices}
    output.show(value, [*lines, *context.notices])


def _context(talk: TerminalChat, _rest: str) -> None:
    context = talk.agent.context or talk.agent.session.context(persona=talk.agent.persona)
    talk.output.show({"context": context.text}, [safe(context.text) or talk.output.text("no_context")])


def _new(talk: TerminalChat, _rest: str) -> None:
    talk.start_new_session()
    id = talk.agent.session.id
    talk.output.show({"session": id}, [talk.output.text("new", session=id)])


def _help(talk: TerminalChat, _rest: str) -> None:
    talk.output.show({"commands": talk.output.help}, table([*talk.output.help.items()]))


def _unknown(talk: TerminalChat, typed: str) -> None:
    close = get_close_matches(typed.casefold(), command_names(), n=1)
    near = talk.output.text("near", name=f"/{close[0]}") if close else ""
    _refuse(talk, "unknown_command", talk.output.text("unknown", name=f"/{typed}", near=near))


_RUN: Mapping[str, Callable[[TerminalChat, str], None]] = {
    "remember": _remember,
    "forget": _forget,
    "memories": _memories,
    "why": _why,
    "context": _context,
    "new": _new,
    "help": _help,
}
