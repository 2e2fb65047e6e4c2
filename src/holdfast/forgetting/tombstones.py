"""Apply tombstones to a restored backup: erase again the data that was erased after the backup was made."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from holdfast.forgetting.erase import Erasing, erase_in_copy
from holdfast.forgetting.records import Tombstone, mark_of, tombstones
from holdfast.forgetting.targets import MEMORIES_OF_APP
from holdfast.presets.base import Preset
from holdfast.protocols import SessionFilter, Store
from holdfast.types import Scope


def later_tombstones(store: Store, known: Iterable[Tombstone]) -> list[Tombstone]:
    """Return the tombstones in ``known`` that a store does not contain: those of erasures made after the store was backed up."""
    applied = {stone.id for stone in tombstones(store)}
    return list({stone.id: stone for stone in known if stone.id not in applied}.values())


def apply_tombstones(store: Store, preset: Preset, stones: Iterable[Tombstone], now: datetime) -> list[str]:
    """Erase all data that the tombstones identify. Return the files that contain, or may still contain, erased data.

    A file may still contain erased data if it could not be scrubbed completely, for example because another program reads
    it.
    """
    left: list[str] = []
    for stone in stones:
        for target, scope in _targets(store, stone):
            left += erase_in_copy(store, preset, target, Erasing(now=now, scope=scope, actor="restore"), id=stone.id)
    return left


def _targets(store: Store, stone: Tombstone) -> Iterator[tuple[Mapping[str, str], Scope | None]]:
    """Yield the data in a store that a tombstone identifies. Each result is a pair: an erasure target, and a scope.

    The scope is None unless the tombstone identifies a session by a hash.
    """
    if stone.is_exact:
        yield {stone.kinds[0]: stone.mark}, None
        return
    secret = store.setting("secret") or ""
    for target, scope in _candidates(store, stone.kinds):
        if mark_of(secret, target, scope) == stone.mark:
            yield target, scope


def _candidates(store: Store, kinds: tuple[str, ...]) -> Iterator[tuple[Mapping[str, str], Scope | None]]:
    if kinds == ("session",):
        yield from (({"session": session.id}, session.scope) for session in store.sessions(SessionFilter()))
        return
    if kinds == (MEMORIES_OF_APP,):
        yield from (({MEMORIES_OF_APP: app}, None) for app in {scope.app for scope in store.scopes() if scope.app})
        return
    for names in {tuple(str(getattr(scope, kind, None) or "") for kind in kinds) for scope in store.scopes()}:
        if all(names):
            yield dict(zip(kinds, names, strict=True)), None
