"""How the engine's values are shown: each of its nouns as the model in ``schemas`` that stands for it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from pydantic import BaseModel

from holdfast import types
from holdfast.agent import Answer
from holdfast.server import schemas

Item = TypeVar("Item")


def memory(found: types.Memory) -> schemas.Memory:
    """Return a memory as JSON has it."""
    return schemas.Memory.model_validate({**_parts(found.scope), **_fields(found, schemas.Memory)})


def message(found: types.Message) -> schemas.Message:
    """Return a message as JSON has it."""
    return schemas.Message.model_validate({**_parts(found.scope), **_fields(found, schemas.Message)})


def session(found: types.SessionRecord) -> schemas.Session:
    """Return a session as JSON has it."""
    return schemas.Session.model_validate({**_parts(found.scope), **_fields(found, schemas.Session)})


def hit(found: types.Hit) -> schemas.Hit:
    """Return a hit as JSON has it."""
    return schemas.Hit(
        id=found.id, kind=found.kind, text=found.text, score=found.score, similarity=found.similarity, at=found.at,
        why=[schemas.Reason(arm=each.arm, rank=each.rank, score=each.score) for each in found.why],
        memory=memory(found.memory) if found.memory else None,
        message=message(found.message) if found.message else None,
        successor=memory(found.successor) if found.successor else None,
    )  # fmt: skip


def context(found: types.Context) -> schemas.Context:
    """Return a context as JSON has it."""
    return schemas.Context(
        text=found.text, tokens=found.tokens, stable=found.stable, changing=found.changing,
        hits=[hit(each) for each in found.hits], left_out=[hit(each) for each in found.left_out],
    )  # fmt: skip


def change(found: types.ChangeRecord) -> schemas.Change:
    """Return a change as JSON has it."""
    author = {name: getattr(found.author, name) for name in ("actor", "model", "prompt", "job")}
    own = {name: getattr(found, name) for name in ("id", "batch", "at", "action", "memory", "revision", "reason")}
    return schemas.Change.model_validate({**own, **author, "after": memory(found.after) if found.after else None})


def job(found: types.Job) -> schemas.Job:
    """Return a job as JSON has it."""
    return schemas.Job.model_validate({**_fields(found, schemas.Job), "payload": dict(found.payload)})


def receipt(found: types.Receipt) -> schemas.Receipt:
    """Return a receipt as JSON has it."""
    return schemas.Receipt.model_validate({**_fields(found, schemas.Receipt), "target": dict(found.target)})


def answer(found: Answer) -> schemas.ChatAnswer:
    """Return a reply as JSON has it."""
    uses = [
        schemas.ToolUse(name=use.call.name, arguments=dict(use.call.arguments), ok=use.result.ok, text=use.result.text)
        for use in found.tool_uses
    ]
    return schemas.ChatAnswer(
        text=found.text, context=context(found.context), tool_uses=uses, message_id=found.message_id, reply_id=found.reply_id,
        usage=schemas.Usage.model_validate(_fields(found.usage, schemas.Usage)),
    )  # fmt: skip


def kind(found: types.Kind) -> schemas.Kind:
    """Return a kind as JSON has it."""
    life = found.lifetime
    lasts = life if life is None or isinstance(life, str) else f"{life.total_seconds():.0f}"
    own = {name: getattr(found, name) for name in ("name", "meaning", "keyed", "pinned", "renewed_by_use")}
    return schemas.Kind.model_validate({**own, "lifetime": lasts})


def page_of(items: Iterable[Item], *, limit: int, offset: int) -> tuple[list[Item], int | None]:
    """Return at most ``limit`` of the items, and where the next page begins; one more than the limit says there is one."""
    found = list(items)
    return found[:limit], offset + limit if len(found) > limit else None


def _fields(found: object, model: type[BaseModel]) -> Mapping[str, Any]:
    """Return what an object has of a model's fields."""
    noun: Any = type(found)
    names, values = _reading(noun, model)
    return dict(zip(names, values(found), strict=True))


@cache
def _reading(noun: type, model: type[BaseModel]) -> tuple[Sequence[str], Callable[[object], tuple[Any, ...]]]:
    """Return which of a model's fields a noun of ours has, and what reads them all; our nouns keep theirs in slots."""
    names = [name for name in model.model_fields if hasattr(noun, name)]
    return names, attrgetter(*names)


def _parts(scope: types.Scope) -> dict[str, str | None]:
    return {"user": scope.user, "app": scope.app, "agent": scope.agent}
