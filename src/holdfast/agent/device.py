"""The default personality of a voice device, and the id of its session."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

DEVICE_SESSION: Final = "device"
"""Id of the session of a device without an access key."""


def device_persona(language: str | None, custom: str | None = None) -> str:
    """Return the personality of a device, plus its instructions about noise.

    Noise is speech that is not addressed to the assistant. ``custom`` replaces the default personality. The text is in
    ``language``, or in English if there is no translation.
    """
    texts = _texts((language or "en").partition("-")[0].casefold())
    return f"{(custom or texts['persona']).strip()} {texts['noise'].strip()}"


@cache
def _texts(language: str) -> Mapping[str, str]:
    table = tomllib.loads((resources.files("holdfast.prompts") / "device.toml").read_text("utf-8"))
    found: Mapping[str, str] = table.get(language, table["en"])
    return found
