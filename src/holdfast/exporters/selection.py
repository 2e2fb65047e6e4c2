"""Select the data to export: everything, one session, or all data of a user, app or agent."""

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.background.jobs import session_of
from holdfast.errors import InvalidInput, NotFound
from holdfast.protocols import SessionFilter, Store
from holdfast.text.clean import clean_name
from holdfast.types import Job, Message, Scope, SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The data to export: everything, one session, or all data of an owner.

    ``owner`` names a user, app or agent, or several of them. Only data that matches all of them is selected.
    """

    owner: Mapping[str, str]
    session: SessionRecord | None = None

    @property
    def is_whole(self) -> bool:
        """True if everything is selected."""
        return not self.owner and self.session is None

    @property
    def parts(self) -> dict[str, str]:
        """The selection as written in the header of an export.

        It can have the keys ``user``, ``app`` and ``agent`` with the names of the owner, and ``session`` with the id of the
        session. A key is missing if it is not part of the selection.
        """
        if self.session is None:
            return dict(self.owner)
        scope = self.session.scope
        named = {part: value for part in ("user", "app", "agent") if (value := getattr(scope, part)) is not None}
        return {"session": self.session.id, **named}

    def owns(self, scope: Scope) -> bool:
        """Return True if all data of a scope is selected. Return False for every scope if only one session is selected."""
        return self.session is None and all(getattr(scope, part) == value for part, value in self.owner.items())

    def has(self, message: Message) -> bool:
        """Return True if a message is selected."""
        if self.session is None:
            return self.owns(message.scope)
        return (message.session, message.scope) == (self.session.id, self.session.scope)


def select(
    store: Store, *, user: str | None = None, app: str | None = None, agent: str | None = None, session: str | None = None
) -> Selection:
    """Return the selection for an export. Without arguments, everything is selected. An unknown session raises an error.

    A user, app or agent without data selects nothing, which is not an error. With a session, these arguments identify the owner
    of the session.
    """
    named = {"user": user, "app": app, "agent": agent}
    owner = {part: cleaned for part, value in named.items() if (cleaned := clean_name(value, what=part)) is not None}
    id = clean_name(session, what="session")
    return Selection(owner=owner) if id is None else Selection(owner={}, session=_only_session(store, id, owner))


def _only_session(store: Store, id: str, owner: Mapping[str, str]) -> SessionRecord:
    """Return the session with this id. If several sessions have this id, return the one whose scope is exactly this owner.

    Raise an error if there is no such session, or if it is unclear which one is meant.
    """
    found = store.sessions(SessionFilter(ids=(id,), owner=owner))
    exact = Scope(tenant=store.tenant, user=owner.get("user"), app=owner.get("app"), agent=owner.get("agent"))
    chosen = [session for session in found if session.scope == exact] or found
    if not chosen:
        raise NotFound(f"There is no session {id}. Nothing was exported.")
    if len(chosen) > 1:
        raise InvalidInput(
            f"Several users, apps or agents have a session {id}. Name the one that is meant. Nothing was exported."
        )
    return chosen[0]


def belongs(job: Job, selection: Selection, store: Store) -> bool:
    """Return True if a job works on selected data. The job's payload names the session or the scope that the job works on."""
    if selection.is_whole:
        return True
    if "session" in job.payload:
        found = session_of(store, job)
        wanted = selection.session
        if found is None or wanted is not None:
            return found is not None and wanted is not None and (found.id, found.scope) == (wanted.id, wanted.scope)
        return selection.owns(found.scope)
    return selection.session is None and all(job.payload.get(part) == value for part, value in selection.owner.items())
