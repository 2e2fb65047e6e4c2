"""Parse the lines of Holdfast's JSONL export into entries. The counterpart of ``exporters/records.py``."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

from holdfast.exporters.entries import (
    JOB_PLACES,
    SESSION_PLACES,
    Entry,
    JobEntry,
    MemoryEntry,
    MessageEntry,
    RevisionEntry,
    SessionEntry,
    SummarizedEntry,
)
from holdfast.importers.fields import Fields
from holdfast.text.clean import clean_name, clean_namespace, clean_value, exact_text
from holdfast.types import (
    TRUST,
    Act,
    AppRecord,
    Author,
    ChangeRecord,
    Job,
    JobState,
    Memory,
    MemoryOrigin,
    MemoryStatus,
    Message,
    Scope,
    SessionRecord,
    SessionStatus,
    Trace,
    UserProfile,
)
from holdfast.types.translatable import translatable

_ACTIONS = ("created", "revised", "retired", "restored")
_TIMES = ("valid_to", "expires_at", "last_used_at", "last_seen_at", "retired_at")


def to_entry(fields: Fields, tenant: str) -> Entry:
    """Convert the fields of one line of an export to an entry. Raise InvalidInput with the line's number if a field is bad."""
    decode = _DECODERS.get(fields.name("type"))
    if decode is None:
        raise fields.fail(translatable("import.no_type", "there is no type {kind!r}.", kind=fields.text("type")))
    return decode(fields, tenant)


def _scope(fields: Fields, tenant: str) -> Scope:
    user, app, agent = (clean_name(fields.maybe(part), what=part) for part in ("user", "app", "agent"))
    return Scope(tenant=tenant, user=user, app=app, agent=agent)


def _user(fields: Fields, _tenant: str) -> UserProfile:
    return UserProfile(user=fields.name("user"), timezone=fields.name("timezone"), language=fields.maybe("language"))


def _app(fields: Fields, _tenant: str) -> AppRecord:
    return AppRecord(
        app=fields.name("app"),
        name=fields.maybe("name"),
        installed_at=fields.maybe_time("installed_at"),
        uninstalled_at=fields.maybe_time("uninstalled_at"),
        shares_with=fields.texts("shares_with"),
        metadata=_metadata(fields),
    )


def _metadata(fields: Fields) -> dict[str, Any]:
    cleaned: dict[str, Any] = clean_value("metadata", fields.mapping("metadata"), exact=True)
    return cleaned


def _message(fields: Fields, tenant: str) -> MessageEntry:
    acts = (*get_args(Act), None)
    message = Message(
        id=fields.name("id"),
        session=fields.name("session"),
        scope=_scope(fields, tenant),
        role=fields.name("role"),
        text=exact_text(fields.text("text")),
        at=fields.time("at"),
        speaker=fields.maybe("speaker"),
        client_id=fields.maybe("client_id"),
        origin=fields.chosen("origin", list(TRUST)),
        action=fields.maybe("action"),
        language=fields.maybe("language"),
        act=fields.chosen("act", acts),
        asks=fields.flag("asks"),
        asked=fields.maybe("asked"),
        payload=fields.values.get("payload"),
    )
    return MessageEntry(message=message, answers=fields.maybe("answers"))


def _session(fields: Fields, tenant: str) -> SessionEntry:
    session = SessionRecord(
        id=fields.name("id"),
        scope=_scope(fields, tenant),
        status=fields.chosen("status", get_args(SessionStatus)),
        started_at=fields.time("started_at"),
        last_at=fields.time("last_at"),
        ended_at=fields.maybe_time("ended_at"),
        metadata=_metadata(fields),
    )
    return SessionEntry(session=session, places=_places(fields, "messages", ("digested_to", *SESSION_PLACES)))


def _places(fields: Fields, name: str, allowed: tuple[str, ...]) -> dict[str, str]:
    places = fields.mapping(name)
    for each, id in places.items():
        if each not in allowed or not isinstance(id, str):
            raise fields.fail(
                translatable(
                    "export.places", "{name!r} maps {allowed} to ids of messages.", name=name, allowed=", ".join(allowed)
                )
            )
    return places


def _summarized(fields: Fields, tenant: str) -> SummarizedEntry:
    return SummarizedEntry(scope=_scope(fields, tenant), up_to=fields.name("up_to"))


def _memory(fields: Fields, tenant: str) -> MemoryEntry:
    id, scope = fields.name("id"), _scope(fields, tenant)
    revisions = [_revision(each, id, scope) for each in [*fields.objects("earlier"), fields]]
    numbers = [each.memory.revision for each in revisions]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise fields.fail(
            translatable("export.revisions", "the revisions {numbers} do not follow each other.", numbers=str(numbers))
        )
    return MemoryEntry(revisions=revisions)


def _revision(fields: Fields, id: str, scope: Scope) -> RevisionEntry:
    memory = Memory(
        id=id,
        scope=scope,
        revision=int(fields.number("revision", 1)),
        kind=fields.name("kind"),
        text=exact_text(fields.text("text")),
        key=fields.maybe("key"),
        namespace=clean_namespace(fields.texts("namespace")),
        topic=fields.maybe("topic"),
        importance=float(fields.number("importance", 5.0)),
        tags=fields.texts("tags"),
        metadata=_metadata(fields),
        origin=fields.chosen("origin", get_args(MemoryOrigin)),
        trust=float(fields.number("trust", 1.0)),
        sources=fields.texts("sources"),
        pinned=fields.flag("pinned"),
        language=fields.maybe("language"),
        status=fields.chosen("status", get_args(MemoryStatus), "live"),
        reason=fields.maybe("reason"),
        replaced_by=fields.maybe("replaced_by"),
        indexed=fields.texts("indexed") if "indexed" in fields.values else None,
        created_at=fields.time("created_at"),
        updated_at=fields.time("updated_at"),
        valid_from=fields.time("valid_from"),
        recorded_at=fields.time("recorded_at"),
    )
    times: dict[str, Any] = {name: fields.maybe_time(name) for name in _TIMES}
    memory = replace(memory, **times)
    change = _change(fields, memory) if "change" in fields.values else None
    return RevisionEntry(memory=memory, change=change, covers=_places(fields, "covers", ("from", "to")))


def _change(fields: Fields, memory: Memory) -> ChangeRecord:
    change = Fields(fields.values["change"], f"{fields.place}, change")
    author = Author(
        actor=change.name("actor"), model=change.maybe("model"), prompt=change.maybe("prompt"), job=change.maybe("job")
    )
    return ChangeRecord(
        id=change.name("id"),
        batch=change.name("batch"),
        at=change.time("at"),
        action=change.chosen("action", _ACTIONS),
        memory=memory.id,
        revision=memory.revision,
        author=author,
        reason=change.maybe("reason"),
    )


def _job(fields: Fields, _tenant: str) -> JobEntry:
    job = Job(
        id=fields.name("id"),
        kind=fields.name("kind"),
        payload=fields.mapping("payload"),
        effect=fields.name("effect"),
        state=fields.chosen("state", get_args(JobState)),
        priority=int(fields.number("priority", 0)),
        attempt=int(fields.number("attempt", 0)),
        created_at=fields.time("created_at"),
        not_before=fields.time("not_before"),
        finished_at=fields.maybe_time("finished_at"),
        cost=float(fields.number("cost", 0.0)),
        error=fields.maybe("error"),
    )
    return JobEntry(job=job, places=_places(fields, "messages", JOB_PLACES))


def _trace(fields: Fields, tenant: str) -> Trace:
    try:
        return Trace.of(
            fields.mapping("details"),
            id=fields.name("id"),
            scope=_scope(fields, tenant),
            at=fields.time("at"),
            question=exact_text(fields.text("question")),
            session=fields.maybe("session"),
            message=fields.maybe("message"),
        )
    except (TypeError, ValueError) as error:
        raise fields.fail(translatable("export.trace", "the details of the trace are not complete.")) from error


_DECODERS: Mapping[str, Callable[[Fields, str], Entry]] = {
    "user": _user,
    "app": _app,
    "message": _message,
    "session": _session,
    "summarized": _summarized,
    "memory": _memory,
    "job": _job,
    "trace": _trace,
}
