"""Choose the model of a role for the next start of the server. The choice is saved in the settings file."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from holdfast.config.explain import explain_settings
from holdfast.config.folders import models_directory
from holdfast.config.loading import read_file
from holdfast.config.models import make_chat, make_embedder, make_reranker, make_sentence_reader, make_transcriber
from holdfast.config.readiness import model_problems
from holdfast.config.saving import save_setting, used_settings_file
from holdfast.config.settings import Settings
from holdfast.errors import Conflict, InvalidInput, ModelError, SettingsError
from holdfast.models.local import packaged, registry
from holdfast.models.local.weights import locate
from holdfast.presets.base import Preset
from holdfast.types.translatable import translatable

ModelRole: TypeAlias = Literal["chat", "embedder", "reranker", "reader", "transcriber"]
"""The role of a model. The setting that names the model has the same name as the role."""
ROLES: tuple[ModelRole, ...] = ("chat", "embedder", "reranker", "reader", "transcriber")


def roles_set_at_start(settings: Settings, preset: Preset) -> dict[str, str]:
    """Return the roles whose model was set by an environment variable or by an argument.

    The result maps each role to the name of the variable, or to an empty string for an argument. The models of these
    roles cannot be chosen in the settings file, because variables and arguments take precedence over the file.
    """
    fixed = (each for each in explain_settings(settings, preset) if each.origin in ("argument", "environment"))
    return {each.name: each.place or "" for each in fixed if each.name in ROLES}


def choices(role: ModelRole) -> list[str]:
    """Return the names of the local models for a role, and ``none``. A local model is listed if it is on this machine.

    For a reranker, ``chat`` is listed, too. Models of providers are not listed.
    """
    known: Mapping[str, registry.Spec] = {
        "embedder": {**registry.MODELS, **registry.PACKAGED},
        "reranker": registry.RERANKERS,
        "reader": registry.READERS,
    }.get(role, {})
    more = {"reranker": ["chat"]}.get(role, [])
    return ["none", *(name for name, spec in known.items() if _is_here(spec)), *more]


def chosen_for_next_start(role: ModelRole, settings: Settings) -> str | None:
    """Return the model that the settings file names, if the running server uses another one. Otherwise return None."""
    try:
        saved = _read(used_settings_file()).get(role)
    except SettingsError:
        return None
    return saved if isinstance(saved, str) and saved != getattr(settings, role) else None


def choose_model(role: ModelRole, name: str, settings: Settings, preset: Preset, *, set_at_start: Mapping[str, str]) -> Path:
    """Save the model for a role (``chat``, ``embedder``, ...) in the settings file, and return the path of that file.

    The model is used from the next start. Raise ``InvalidInput`` if the model is unknown, or if its package, API key or
    weights are missing. Raise ``Conflict`` if an environment variable or an argument sets the model, because both take
    precedence over the file. ``set_at_start`` is the result of :func:`roles_set_at_start`.
    """
    if role in set_at_start:
        raise _is_fixed(role, set_at_start[role])
    named: dict[str, Any] = {role: name}
    try:
        _check(role, name, replace(settings, **named), preset)
    except (ModelError, SettingsError) as error:
        raise InvalidInput(str(error)) from error
    path = used_settings_file()
    save_setting(role, name, path)
    return path


def _check(role: ModelRole, name: str, wanted: Settings, preset: Preset) -> None:
    if role == "chat":
        make_chat(name, wanted)
    elif role == "embedder":
        make_embedder(name, wanted.embedder_url, preset=preset)
    elif role == "reranker":
        make_reranker(name)
    elif role == "reader":
        make_sentence_reader(name)
    else:
        make_transcriber(wanted)
    for problem in model_problems(wanted, preset):
        if problem.setting == role:
            raise problem.error
    if role == "embedder" and name in registry.MODELS:
        locate(registry.MODELS[name], models_directory())


def _is_fixed(role: ModelRole, variable: str) -> Conflict:
    if variable:
        return Conflict(
            translatable(
                "models.variable",
                "The variable `{variable}` sets this model. Nothing was changed. Change the variable, and start the server again.",
                variable=variable,
            )
        )
    return Conflict(
        translatable(
            "models.argument",
            "The server was started with an argument that sets this model (`{setting}`). Nothing was changed. Start it without the argument.",
            setting=role,
        )
    )


def _is_here(spec: registry.Spec) -> bool:
    """Return True if the weights of a model are on this machine."""
    try:
        if isinstance(spec, registry.PackagedSpec):
            packaged.locate(spec)
        else:
            locate(spec, models_directory())
    except ModelError:
        return False
    return True


def _read(path: Path) -> Mapping[str, object]:
    return read_file(path) if path.is_file() else {}
