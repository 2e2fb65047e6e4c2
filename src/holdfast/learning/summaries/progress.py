"""How far the messages of a scope are summarized, and which summaries its base document contains.

Settings of the store and metadata of base documents record this. The functions return the names of these settings.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from holdfast.types import Memory, Scope

WAITING = "waiting_for_base"
"""Metadata key of an imported summary that was not part of the base document in its old database."""
IMPORTED_TO = "imported_to"
"""Metadata key of a base document: the time of the last imported summary that it contains."""


def summarized_setting(scope: Scope) -> str:
    """Return the name of the setting that stores the last summarized message of a scope: "rolled-up:" and a hash of the scope."""
    return f"rolled-up:{_scope_hash(scope)}"


def incorporated_setting(scope: Scope) -> str:
    """Return the name of the setting that stores the last message whose summary is part of the base document.

    Holdfast's own jobs do not write this setting. It is written if a host program merges summaries into the base
    document by itself.
    """
    return f"incorporated:{_scope_hash(scope)}"


def imported_setting(scope: Scope) -> str:
    """Return the name of the setting that stores the time of the last imported summary in the base document.

    It is written only if a host program merges summaries into the base document itself.
    """
    return f"incorporated_imports:{_scope_hash(scope)}"


def imported_at(summary: Memory) -> str:
    """Return the time of an imported summary, as a text that sorts by time."""
    return summary.valid_from.astimezone(UTC).isoformat(timespec="microseconds")


def covered(summaries: Sequence[Memory]) -> dict[str, Any]:
    """Return the metadata of a base document that records which summaries it contains."""
    numbers = [int(each.metadata["to"]) for each in summaries if "to" in each.metadata]
    times = [imported_at(each) for each in summaries if each.metadata.get(WAITING)]
    return {**({"to": max(numbers)} if numbers else {}), **({IMPORTED_TO: max(times)} if times else {})}


def _scope_hash(scope: Scope) -> str:
    owner = json.dumps([scope.app, scope.user, scope.agent]).encode()
    return hashlib.blake2b(owner, digest_size=12).hexdigest()
