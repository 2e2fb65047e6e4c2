"""Find a session by its id."""

from dataclasses import replace

from holdfast.errors import InvalidInput, NotFound
from holdfast.protocols import Reads, SessionFilter
from holdfast.types import Scope, SessionRecord
from holdfast.types.translatable import translatable


def only_session(reads: Reads, id: str, *, reader: Scope | None = None) -> SessionRecord:
    """Return the session with this id. Raise ``NotFound`` if there is none.

    Sessions that ``reader`` may not see are treated as missing. Different scopes can have sessions with the same id. If
    several sessions have this id, return the one in the scope of ``reader``. If none of them is in that scope, raise
    ``InvalidInput``.
    """
    found = reads.sessions(SessionFilter(ids=(id,)))
    seen = [session for session in found if reader is None or reader.sees(session.scope)]
    own = [session for session in seen if reader is not None and session.scope == replace(reader, also_apps=())]
    chosen = own or seen
    if not chosen:
        raise NotFound(
            translatable(
                "absent.session_of",
                "There is no session {id}. To start a session with this id, name its user, app or agent.",
                id=id,
            )
        )
    if len(chosen) > 1:
        raise InvalidInput(f"Several users, apps or agents have a session {id}. Name the one that is meant.")
    return chosen[0]
