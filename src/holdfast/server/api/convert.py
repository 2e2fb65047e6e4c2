"""Convert engine objects to the response models in ``responses``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from pydantic import BaseModel

from holdfast import types
from holdfast.agent.agent import Answer
from holdfast.server.api import responses

Item = TypeVar("Item")


def memory(found: types.Memory) -> responses.Memory:
    """Convert a memory to a response model."""
    return responses.Memory.model_validate({**_parts(found.scope), **_fields(found, responses.Memory)})


def message(found: types.Message) -> responses.Message:
    """Convert a message to a response model."""
    own = {**_parts(found.scope), **_fields(found, responses.Message), "consent": consent(found.consent)}
    return responses.Message.model_validate(own)


def consent(found: types.Consent | None) -> responses.Consent | None:
    """Convert the result of a wish about memory to a response model."""
    if found is None:
        return None
    return responses.Consent(
        wish=found.wish, memories=[memory(each) for each in found.memories], messages=list(found.messages), undo=found.undo
    )


def session(found: types.SessionRecord, *, title: str | None = None, said_at: datetime | None = None) -> responses.Session:
    """Convert a session record to a response model.

    ``title`` is the title of the session, and ``said_at`` is the time of its last message. Both are None if not looked up.
    """
    return responses.Session.model_validate(
        {**_parts(found.scope), **_fields(found, responses.Session), "title": title, "said_at": said_at}
    )


def hit(found: types.Hit) -> responses.Hit:
    """Convert a hit to a response model."""
    return responses.Hit(
        id=found.id,
        kind=found.kind,
        text=found.text,
        score=found.score,
        relevant=found.is_relevant,
        provenance=found.provenance,
        asked=found.asked,
        similarity=found.similarity,
        at=found.at,
        why=[responses.Reason(arm=each.arm, rank=each.rank, score=each.score) for each in found.why],
        memory=memory(found.memory) if found.memory else None,
        message=message(found.message) if found.message else None,
        left_out_by=found.left_out_by,
        successor=memory(found.successor) if found.successor else None,
        later=list(found.later),
    )


def context(found: types.Context) -> responses.Context:
    """Convert a context block to a response model."""
    return responses.Context(
        text=found.text,
        tokens=found.tokens,
        stable=found.stable,
        changing=found.changing,
        hits=[hit(each) for each in found.hits],
        left_out=[hit(each) for each in found.left_out],
        notices=list(found.notices),
        notice_codes=[responses.TextCode.of(each) for each in found.notices],
        trace=found.trace,
    )


def hits(found: types.Hits) -> responses.Hits:
    """Convert the hits of a recall to a response model."""
    codes = [responses.TextCode.of(each) for each in found.notices]
    return responses.Hits(hits=[hit(each) for each in found], notices=list(found.notices), notice_codes=codes)


def change(found: types.ChangeRecord) -> responses.Change:
    """Convert a history entry to a response model. The author's fields become fields of the entry itself."""
    author = {name: getattr(found.author, name) for name in ("actor", "model", "prompt", "job")}
    own = {name: getattr(found, name) for name in ("id", "batch", "at", "action", "memory", "revision", "reason")}
    return responses.Change.model_validate({**own, **author, "after": memory(found.after) if found.after else None})


def job(found: types.Job) -> responses.Job:
    """Convert a job to a response model."""
    return responses.Job.model_validate({**_fields(found, responses.Job), "payload": dict(found.payload)})


def receipt(found: types.Receipt) -> responses.Receipt:
    """Convert an erasure receipt to a response model."""
    return responses.Receipt.model_validate({**_fields(found, responses.Receipt), "target": dict(found.target)})


def answer(found: Answer) -> responses.ChatAnswer:
    """Convert a reply of the agent to a response model."""
    uses = [
        responses.ToolUse(name=use.call.name, arguments=dict(use.call.arguments), ok=use.result.ok, text=use.result.text)
        for use in found.tool_uses
    ]
    return responses.ChatAnswer(
        text=found.text,
        context=context(found.context),
        tool_uses=uses,
        message_id=found.message_id,
        reply_id=found.reply_id,
        redacted=[responses.Redaction.model_validate(each) for each in found.redacted],
        consent=consent(found.consent),
        usage=responses.Usage.model_validate(_fields(found.usage, responses.Usage)),
    )


def kind(found: types.Kind) -> responses.Kind:
    """Convert a kind of memory to a response model. A lifetime that is a duration becomes a string with the number of seconds."""
    life = found.lifetime
    lasts = life if life is None or isinstance(life, str) else f"{life.total_seconds():.0f}"
    own = {name: getattr(found, name) for name in ("name", "meaning", "keyed", "pinned", "renewed_by_use")}
    return responses.Kind.model_validate({**own, "lifetime": lasts})


def page_of(items: Iterable[Item], *, limit: int, offset: int) -> tuple[list[Item], int | None]:
    """Return two values: the items of a page, and the offset of the next page. The offset is None if this is the last page.

    ``offset`` is the offset of this page. The page has at most ``limit`` items. To show that there is a next page, ``items``
    must contain more than ``limit`` items.
    """
    found = list(items)
    return found[:limit], offset + limit if len(found) > limit else None


def _fields(found: object, model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the attributes of an object that are also fields of the model, as a dictionary."""
    noun: Any = type(found)
    names, values = _reading(noun, model)
    return dict(zip(names, values(found), strict=True))


@cache
def _reading(noun: type, model: type[BaseModel]) -> tuple[Sequence[str], Callable[[object], tuple[Any, ...]]]:
    """Return two values: the names of the fields that the class ``noun`` and the model have in common, and a function.

    The function takes an object of the class and returns the values of these fields.
    """
    names = [name for name in model.model_fields if hasattr(noun, name)]
    return names, attrgetter(*names)


def _parts(scope: types.Scope) -> dict[str, str | None]:
    return {"user": scope.user, "app": scope.app, "agent": scope.agent}
