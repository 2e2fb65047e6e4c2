"""The window: the last messages of a session, in the form that every chat model accepts.

Many models reject a list that starts with an assistant turn, has two turns of one role in a row, or contains an empty
text. Stored messages can lead to each of these cases: a reply failed, a person sent two messages, or a recording
contained no speech.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from holdfast.chat import Turn
from holdfast.protocols import MessageFilter
from holdfast.recall.conversation_state import conversation_state
from holdfast.services import Services
from holdfast.session import Session
from holdfast.types import FORGETTING, OFF_RECORD, Message

INTERRUPTED: Final = "interrupted"
"""Value of a message's ``action`` field that marks an incomplete reply. No memories are extracted from such a reply."""
_SHOWN_ACTIONS: Final = (None, INTERRUPTED, FORGETTING, OFF_RECORD)
"""Actions of the messages that a model may see. Messages marked as noise or as forgotten are left out."""
_MESSAGES_PER_TURN: Final = 4
"""Number of messages to read from the store per turn of the window.

Consecutive messages of one role are merged into one turn, so a window can need more messages than it has turns.
"""
_BLANK_RECORDING: Final = re.compile(
    r"""(?: [\[(*] \s* (?: blank[ _]audio | silence | no[ _]speech | inaudible | (?:background[ _])?noise | music
                         | silencio | ruido | música ) \s* [\])*] \s* )+""",
    re.IGNORECASE | re.VERBOSE,
)
"""Pattern of the notes that transcribers write for a recording without speech, such as [BLANK_AUDIO]."""
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Unicode categories of control characters, format characters and spaces."""

_Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The turns that a model receives after the system prompt, and the ids of the messages in them."""

    turns: tuple[Turn, ...]
    message_ids: frozenset[str]


@dataclass(slots=True, kw_only=True)
class _Run:
    """Consecutive messages of one role, which become one turn."""

    role: _Role
    messages: list[Message] = field(default_factory=list)
    asked: str | None = None
    """The question that the first message answers, if the turn with the question is not in the window."""

    def turn(self) -> Turn:
        # A person who repeats an unanswered message has made one request. The last copy stays, in its place.
        texts = list(dict.fromkeys(_text(message) for message in reversed(self.messages)))
        asked = [f"(assistant) {self.asked}"] if self.asked else []
        return Turn(role=self.role, text="\n\n".join([*asked, *reversed(texts)]))


def window_for(messages: Sequence[Message], *, limit: int) -> Window:
    """Return the window that ends with the last of ``messages``, which is the user's new message.

    The first and the last turn are the user's, and the roles alternate. Consecutive messages of one role are merged, with a
    blank line in between. Messages without content are left out. The window has at most ``limit`` turns, and at least the new
    message. If the first message of the window answers a question of the assistant, the first turn contains the question.
    """
    *earlier, new = messages
    runs = _runs([*filter(_says_something, earlier), new])
    recent = _from_user(runs[-max(limit, 1) :])
    return Window(
        turns=tuple(run.turn() for run in recent),
        message_ids=frozenset(message.id for run in recent for message in run.messages),
    )


def read_window(services: Services, session: Session, new: Message) -> Window:
    """Return the last turns of a session, up to and including the message ``new``. The preset sets the number of turns.

    If ``new`` repeats a message that is already stored, the messages after the stored one are left out.
    """
    limit = services.preset.window
    before = _before(services, session, new, limit=limit * _MESSAGES_PER_TURN)
    return window_for([*(message for message in before if message.id != new.id), new], limit=limit)


def _before(services: Services, session: Session, new: Message, *, limit: int) -> list[Message]:
    if session.off_record:
        shown = [message for message in session.messages() if message.action in _SHOWN_ACTIONS]
        return shown[-limit:]
    state = conversation_state(services.store.session(session.id, session.scope))
    return services.store.messages(
        MessageFilter(
            session=session.id,
            exactly=session.scope,
            after_seq=state.window_from,
            up_to_seq=new.seq,
            actions=_SHOWN_ACTIONS,
            newest=limit,
        )
    )


def _runs(messages: Iterable[Message]) -> list[_Run]:
    runs: list[_Run] = []
    for message in messages:
        role: _Role = "assistant" if message.role == "assistant" else "user"
        if not runs or runs[-1].role != role:
            runs.append(_Run(role=role))
        runs[-1].messages.append(message)
    return runs


def _from_user(runs: Sequence[_Run]) -> list[_Run]:
    """Return the runs (consecutive messages of one role), starting with the first user turn.

    Tool results at the start of that turn are left out, because the turn that called the tool is not in the window.
    """
    for index, run in enumerate(runs):
        if run.role == "user":
            first = next((place for place, message in enumerate(run.messages) if message.role != "tool"), None)
            if first is not None:
                kept = run.messages[first:]
                return [_Run(role="user", messages=kept, asked=kept[0].asked), *runs[index + 1 :]]
    return []


def _says_something(message: Message) -> bool:
    """Return True if a message has content.

    A message has no content if its text has no visible characters, or if it is the transcription of a recording without
    speech.
    """
    visible = any(unicodedata.category(character) not in _INVISIBLE for character in message.text)
    return visible and not (message.role == "user" and _BLANK_RECORDING.fullmatch(message.text.strip()))


def _text(message: Message) -> str:
    """Return the text of a message for the window.

    A message whose role is neither user nor assistant becomes part of a user turn. Its text then starts with its role.
    """
    return message.text if message.role in ("user", "assistant") else f"({message.role}) {message.text}"
