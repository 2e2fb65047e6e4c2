"""Keep payloads of imported messages small enough to store."""

import json
from typing import Any

_MAX_CHARACTERS = 100_000
"""Maximum length of an imported payload as JSON, in characters. Results of tools can be whole files."""
_MAX_TEXT = 10_000


def limited(payload: Any) -> Any:
    """Return the payload. If it is too large, cut its long texts. If that is not enough, keep only its size."""
    if len(json.dumps(payload)) <= _MAX_CHARACTERS:
        return payload
    shorter = _cut(payload)
    size = len(json.dumps(payload))
    return shorter if len(json.dumps(shorter)) <= _MAX_CHARACTERS else {"cut": True, "characters": size}


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else value[:_MAX_TEXT] + "[cut]"
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value
