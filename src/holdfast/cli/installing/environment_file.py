"""The file with the environment variables that assistants need. Assistants often do not pass on the variables of a shell.

All assistants use one file in the data directory, which only its owner can read. Therefore keys are neither in an
assistant's settings, which may be shared, nor on a command line, which other users can see.
"""

import os
import sys
from pathlib import Path

import click

from holdfast.cli.console import note
from holdfast.cli.options import Flags
from holdfast.config import environment
from holdfast.config.folders import chosen_folders, data_directory
from holdfast.config.settings import Settings
from holdfast.config.stores import is_database, store_path
from holdfast.errors import SettingsError

FILE = "agents.env"
_HEADER = b"SQLite format 3\0"


def carried_variables(flags: Flags, settings: Settings) -> dict[str, str]:
    """Return the variables for the environment file, which the installed commands read.

    These are the ``HOLDFAST_*`` variables, with absolute paths for the folders, and the keys of the store and the models.
    If the key of an encrypted store or of a model is not set, the user is asked for it at the terminal.

    Without a terminal, raise ``SettingsError`` if the key of an encrypted store is missing. If the key of a model is
    missing, only a note is printed.
    """
    carried = {**environment.own_variables(), **chosen_folders()}
    if settings.key is None and _is_encrypted(settings):
        carried["HOLDFAST_KEY"] = _asked(
            "The store is encrypted. Its key",
            f"The store {store_path(settings)} is encrypted. Nothing was changed. Set HOLDFAST_KEY and run the command again.",
        )
    for model in (settings.chat, settings.embedder or ""):
        carried |= _provider_key(flags, settings, model)
    return carried


def _provider_key(flags: Flags, settings: Settings, model: str) -> dict[str, str]:
    if ":" not in model:
        return {}
    from holdfast.models.remote import providers  # noqa: PLC0415  (optional dependency)

    name = providers.key_variable(model)
    if name is None or (model == settings.chat and settings.chat_key):
        return {}
    value = environment.variable(name)
    if value is None and sys.stdin.isatty():
        value = click.prompt(f"{name}, for {model}", default="", hide_input=True, show_default=False, err=True) or None
    if value is None:
        note(f"{name} is not set, and {model} may need it. Set it and run this command again.", as_json=flags.json)
    return {name: value} if value else {}


def _asked(question: str, otherwise: str) -> str:
    """Ask the user for a secret. If there is no terminal, raise an error with the text ``otherwise``."""
    if not sys.stdin.isatty():
        raise SettingsError(otherwise)
    answer: str = click.prompt(question, hide_input=True, err=True)
    return answer


def _is_encrypted(settings: Settings) -> bool:
    if is_database(settings):
        return False
    try:
        with store_path(settings).open("rb") as file:
            start = file.read(len(_HEADER))
    except OSError:
        return False
    return bool(start) and start != _HEADER


def environment_path() -> Path:
    """Return the path of the environment file."""
    return data_directory().expanduser().absolute() / FILE


def written(variables: dict[str, str]) -> str:
    """Return the content of the environment file for the given variables."""
    broken = [name for name, value in variables.items() if "\n" in value or "\r" in value]
    if broken:
        raise SettingsError(f"The value of {broken[0]} has several lines, which is not possible here. Nothing was changed.")
    lines = [f"{name}={value}" for name, value in sorted(variables.items())]
    return "\n".join(
        ["# Variables for assistants, written by `holdfast install`. They replace those of the environment.", *lines, ""]
    )


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
