"""A voice device: its session, its sensor readings and its noise filter."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from holdfast.access.keys import ScopeParts
from holdfast.agent.agent import Agent
from holdfast.agent.device import DEVICE_SESSION, device_persona
from holdfast.agent.tools import language_for
from holdfast.engine import Engine
from holdfast.errors import NoChatModel
from holdfast.recall.conversation_state import with_state
from holdfast.server.caller import Caller
from holdfast.services import services
from holdfast.session import Session
from holdfast.text.clean import escape_line
from holdfast.types import NOISE

IGNORE: Final = NOISE
RESPOND: Final = "RESPOND"
SILENCE: Final = "(silence)"
_SENSORS: Final = "sensors"
_MAX_VALUES: Final = 40
_MAX_VALUE_CHARACTERS: Final = 200
_FILLERS: Final = frozenset("a ah aha eh ehm em er este hm hmm hum huh mm mmm mhm oh pues uh uhm um umm".split())
_ASIDE: Final = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|♪[^♪]*♪?")
"""Pattern of the notes that transcribers write for sounds other than speech: [BLANK_AUDIO], (music), *coughs*."""
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReply:
    """The reply of the device, and whether the user was speaking to the device at all."""

    response: str
    action: str


def is_noise(heard: str) -> bool:
    """Return True if a transcription contains no speech: only silence, sounds or filler words."""
    words = _WORD.findall(_ASIDE.sub(" ", heard).casefold())
    return all(word in _FILLERS for word in words)


def device_session(caller: Caller, parts: ScopeParts) -> Session:
    """Return the session of the device. Each access key has its own session, which continues after a restart.

    Requests without a key share one session. ``parts`` names the user, app and agent of the session.
    """
    key = caller.principal.key
    return caller.memory.session(id=f"{DEVICE_SESSION}:{key}" if key else DEVICE_SESSION, shared=not any(parts.values()), **parts)


def answer(caller: Caller, parts: ScopeParts, text: str, *, persona: str | None = None) -> DeviceReply:
    """Store a message, then generate and store the reply. The model can decide that the user was not speaking to the device.

    Without a chat model, memories are still extracted from the message, and ``NoChatModel`` is raised.
    """
    memory, session = caller.memory, device_session(caller, parts)
    language = language_for(memory, session.scope.user)
    agent = Agent(memory, session=session, persona=device_persona(language, persona), noise=IGNORE)
    try:
        reply = agent.reply(text, state=last_readings(memory, session))
    except NoChatModel:
        session.digest()
        raise
    return DeviceReply(response="", action=IGNORE) if reply.noise else DeviceReply(response=reply.text, action=RESPOND)


def clear(caller: Caller, parts: ScopeParts) -> None:
    """Clear the window of the device's session, so that the model no longer sees the existing messages. They stay stored."""
    device_session(caller, parts).clear_window()


def ignore(caller: Caller, parts: ScopeParts, heard: str) -> DeviceReply:
    """Store a transcription without speech as a message that is excluded from extraction and recall. Return an empty reply."""
    session = device_session(caller, parts)
    session.add("user", heard if heard.strip() else SILENCE, action=IGNORE)
    session.add("assistant", IGNORE, action=IGNORE)
    return DeviceReply(response="", action=IGNORE)


def store_readings(caller: Caller, parts: ScopeParts, sensors: Mapping[str, Any]) -> None:
    """Store the current sensor readings in the record of the device's session."""
    session = device_session(caller, parts)
    session.begin()
    with services(caller.memory).store.write(durable=False) as tx:
        record = tx.session(session.id, session.scope)
        if record is not None:
            tx.set_session(with_state(record, **{_SENSORS: format_readings(sensors)}))


def last_readings(memory: Engine, session: Session) -> str | None:
    """Return the last stored sensor readings as one line, or None if there are none."""
    record = services(memory).store.session(session.id, session.scope)
    line = record.metadata.get(_SENSORS) if record else None
    return line if isinstance(line, str) and line else None


def format_readings(sensors: Mapping[str, Any]) -> str:
    """Format sensor readings as one line of ``Name: value`` pairs."""
    pairs = [f"{_label(name)}: {_value(value)}" for name, value in _flat(sensors)]
    return ", ".join(pairs[:_MAX_VALUES])


def _flat(readings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each reading. The names of nested objects are joined: ``room temperature``.

    ``before`` is the joined name of the enclosing objects. An object whose joined name has five or more words is not
    flattened further, but yielded as one value. Readings without a value (None) are left out.
    """
    for name, value in readings.items():
        whole = f"{before} {name}".strip()
        if isinstance(value, Mapping) and whole.count(" ") < 4:
            yield from _flat(value, whole)
        elif value is not None:
            yield whole, value


def _label(name: str) -> str:
    plain = escape_line(name.replace("_", " "))[:_MAX_VALUE_CHARACTERS].strip()
    return plain[:1].upper() + plain[1:]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " / ".join(map(_value, value[:_MAX_VALUES]))[:_MAX_VALUE_CHARACTERS]
    return escape_line(str(value))[:_MAX_VALUE_CHARACTERS]
