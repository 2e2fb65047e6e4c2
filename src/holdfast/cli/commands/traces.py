"""The command ``traces``."""

from collections.abc import Iterable
from typing import Any

import click

from holdfast.cli.console import say
from holdfast.cli.hints import unknown_user
from holdfast.cli.options import Flags, digest_waiting, limit_option, open_memory, with_flags
from holdfast.cli.output import brief, count, emit, plain, safe
from holdfast.engine import Engine
from holdfast.filters import MemoryFilter, MessageFilter
from holdfast.services import services
from holdfast.types.traces import Explanation, Trace, TracedCandidate

_REASONS = {
    "shown": "in the block",
    "floor": "too weak to be relevant",
    "budget": "relevant, but did not fit into the tokens",
    "duplicate": "repeats a better hit",
    "covered": "its message or memory says the same and is used instead",
    "limit": "enough others rank higher",
    "origin": "its trust is too low: text of a tool, a web page, a file or a quotation",
    "kind": "the preset does not show this kind in a block",
    "retired": "superseded, forgotten or expired",
    "hidden": "its message is withheld or forgotten",
    "session": "part of the conversation itself, so the model has it already",
    "scope": "belongs to another user, app or agent",
    "future": "its date is in the future",
    "unindexed": "has no text to search",
    "not_found": "no search had it among its best candidates",
}


@click.group(epilog="Example: holdfast traces list --user ana")
def traces() -> None:
    """Show how context blocks were built, and why a memory was not recalled."""


@traces.command("list", epilog="Example: holdfast traces list --user ana --limit 10")
@click.option("--session", metavar="ID", help="Only context blocks of this session.")
@limit_option(20)
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N results.")
@with_flags()
def list_traces(flags: Flags, **options: Any) -> None:
    """List traces of context blocks, newest first. They are kept for a few days."""
    with open_memory(flags) as memory:
        found = memory.traces(**options, **flags.scope)
        hint = None if found else unknown_user(memory, flags.user)
    emit(found, [_line(each) for each in found], as_json=flags.json)
    if not found:
        say(hint or "No traces. A context block for a prompt makes one, such as: holdfast context QUESTION", as_json=flags.json)


@traces.command("show", epilog="Example: holdfast traces show trc_01k4...")
@click.argument("id")
@with_flags(scope=False)
def show_trace(flags: Flags, id: str) -> None:
    """Show one trace: the question, the items in the context block, the items left out, and the reasons.

    ID is the id of a trace, as printed by `traces list`.
    """
    with open_memory(flags) as memory:
        trace = memory.trace(id)
        texts = _texts(memory, trace.candidates)
    emit(_with_texts(trace, texts), _trace_lines(trace, texts), as_json=flags.json)


@traces.command("why-not", epilog='Example: holdfast traces why-not mem_01k4... "where does she live?" --user ana')
@click.argument("id")
@click.argument("question", nargs=-1, required=True)
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Maximum size of the block. Default: the preset's.")
@with_flags()
def why_not(flags: Flags, id: str, question: tuple[str, ...], max_tokens: int | None) -> None:
    """Explain why a memory is in the context block for a question, or why it is not.

    ID is the id of a memory. Without --user, --app and --agent, the block is built for the scope of the memory. Nothing is
    stored.
    """
    with open_memory(flags) as memory:
        digest_waiting(memory)
        found = memory.explain(id, " ".join(question), max_tokens=max_tokens, **flags.scope)
        text = memory.get(id).text
        texts = _texts(memory, found.trace.candidates)
    emit(found, _explanation(found, text, texts), as_json=flags.json)


def _line(trace: Trace) -> str:
    shown = sum(each.outcome == "shown" for each in trace.candidates)
    parts = {"user": trace.scope.user, "app": trace.scope.app, "agent": trace.scope.agent}
    whose = " ".join(f"{name}={safe(value)}" for name, value in parts.items() if value) or "shared"
    numbers = f"{shown} shown of {trace.found}, {trace.milliseconds:.0f} ms"
    return f"{trace.id}  {trace.at:%Y-%m-%d %H:%M}  {whose}  {numbers}  {brief(trace.question)}"


def _trace_lines(trace: Trace, texts: dict[str, str]) -> list[str]:
    shown = [each for each in trace.candidates if each.outcome == "shown"]
    others = [each for each in trace.candidates if each.outcome != "shown"]
    arms = ", ".join(f"{name} {number}" for name, number in trace.arms.items()) or "none"
    steps = ", ".join(f"{name} {value:.1f}" for name, value in trace.steps.items() if value >= 0.05)
    return [
        _line(trace),
        f"tokens: {trace.tokens} of {trace.max_tokens}; candidates by search: {arms}; ms by step: {steps or 'none'}",
        *(f"notice: {safe(each)}" for each in trace.notices),
        "",
        f"In the block: {count(len(shown), 'item')}",
        *(_candidate(each, texts) for each in shown),
        *(["", f"Left out: {count(len(others), 'item')}"] if others else []),
        *(_candidate(each, texts) for each in others),
    ]


def _candidate(each: TracedCandidate, texts: dict[str, str]) -> str:
    rank = f"{each.rank:3}." if each.rank is not None else "   -"
    score = f"{each.score:.2f}" if each.score is not None else "    "
    text = brief(texts[each.id]) if each.id in texts else "(no longer stored)"
    reason = (
        "" if each.outcome == "shown" else f"\n            {_REASONS[each.outcome]}{f': {each.repeats}' if each.repeats else ''}"
    )
    return f"{rank} {score}  {each.kind}: {text}  ({each.id}){reason}"


def _explanation(found: Explanation, text: str, texts: dict[str, str]) -> list[str]:
    each = found.candidate
    better = [one for one in found.trace.candidates if one.outcome == "shown" and one.id != found.memory]
    return [
        f"{brief(text)}  ({found.memory})",
        f"{each.outcome}: {_REASONS[each.outcome]}",
        *([f"rank {each.rank} of {found.trace.found}"] if each.rank is not None else []),
        *([f"superseded by {found.replaced_by}"] if found.replaced_by else []),
        *(["", "In the block instead:"] if better and each.outcome != "shown" else []),
        *(_candidate(one, texts) for one in better if each.outcome != "shown"),
    ]


def _texts(memory: Engine, candidates: Iterable[TracedCandidate]) -> dict[str, str]:
    """Return the texts of candidates that are still stored, by id. Withheld messages are left out."""
    ids, store = [each.id for each in candidates], services(memory).store
    memories = store.memories(MemoryFilter(ids=ids, statuses=None))
    messages = [each for each in store.messages(MessageFilter(ids=ids)) if each.action is None]
    return {**{each.id: each.text for each in memories}, **{each.id: each.text for each in messages}}


def _with_texts(trace: Trace, texts: dict[str, str]) -> dict[str, Any]:
    shown: dict[str, Any] = plain(trace)
    shown["candidates"] = [{**each, "text": texts.get(each["id"])} for each in shown["candidates"]]
    return shown
