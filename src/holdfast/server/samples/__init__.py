"""Sample data for the first start: invented people with memories and conversations. It is stored and removed as a whole."""

import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.engine import Engine
from holdfast.errors import Conflict
from holdfast.services import services
from holdfast.types import Receipt
from holdfast.types.translatable import translatable

_SETTING = "samples"
"""Name of the store setting with the language of the stored sample data. It contains no names, so that an erasure leaves none."""


def stored(memory: Engine) -> list[str]:
    """Return the names of the sample users. Return an empty list if this store does not contain the sample data."""
    language = services(memory).store.setting(_SETTING)
    return [person["name"] for person in _people(language)] if language else []


def add(memory: Engine, language: str) -> list[str]:
    """Store the sample data in a language, and return the names of the sample users.

    Raise ``Conflict`` if the store already contains the sample data, or a user whose name contains one of these names.
    """
    if stored(memory):
        raise Conflict(translatable("samples.stored", "The sample data is stored already. Nothing was changed. Remove it first."))
    people = _people(language)
    for person in people:
        if memory.users(containing=person["name"], limit=1):
            raise Conflict(
                translatable("samples.user", "There is a user {user!r} already. No sample data was stored.", user=person["name"])
            )
    with services(memory).store.write() as tx:
        tx.set_setting(_SETTING, language)  # first, so that an interrupted call can be removed
    now = services(memory).clock.now()
    for person in people:
        memory.set_user(person["name"], language=language)
        _store(memory, person, now)
    return [person["name"] for person in people]


def remove(memory: Engine) -> list[Receipt]:
    """Erase the sample users with all their data. Return one receipt per user."""
    receipts = [memory.erase(user=name) for name in stored(memory)]
    with services(memory).store.write() as tx:
        tx.set_setting(_SETTING, "")
    return receipts


def _store(memory: Engine, person: Mapping[str, Any], now: datetime) -> None:
    name = person["name"]
    for each in person["memories"]:
        fields = {field: each[field] for field in ("kind", "key", "topic", "pinned") if field in each}
        memory.remember(each["text"], user=name, valid_from=now - timedelta(days=each["days"]), **fields)
    for each in person["sessions"]:
        talk = memory.session(user=name)
        began = now - timedelta(days=each["days"])
        for minute, (role, text) in enumerate(each["messages"]):
            talk.add(role, text, at=began + timedelta(minutes=minute))
        talk.end()


@cache
def _people(language: str) -> Sequence[Mapping[str, Any]]:
    file = Path(__file__).parent / f"{language}.toml"
    found: list[Mapping[str, Any]] = tomllib.loads(file.read_text("utf-8"))["people"]
    return found
