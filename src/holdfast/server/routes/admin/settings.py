"""Routes that explain the settings of the server, and check its health."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field

from holdfast.config.explain import explain_settings
from holdfast.config.readiness import model_problems
from holdfast.config.settings import Settings
from holdfast.presets import PRESETS
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model, TextCode
from holdfast.server.caller import Calling, needs
from holdfast.server.routes.idempotency import Route
from holdfast.types import Finding

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)


class Setting(Model):
    """A setting, its value, and the source of the value."""

    name: Annotated[str, Field(examples=["undo_days"])]
    """The name of the setting."""
    value: Annotated[bool | int | float | str | None, Field(examples=[30])] = None
    """The value in effect, or null if there is none. Keys and passwords are masked."""
    origin: Literal["argument", "environment", "file", "preset", "default"]
    """Where the value comes from. `argument` is a flag of the command line, `--settings`, or an argument in Python."""
    place: Annotated[str | None, Field(examples=["HOLDFAST_UNDO_DAYS"])] = None
    """The environment variable or the file that has the value, or null."""
    variable: Annotated[str | None, Field(examples=["HOLDFAST_UNDO_DAYS"])] = None
    """The environment variable for this setting, or null if there is none."""
    help: str
    """What the setting does."""


class SettingList(Model):
    """The settings of the server."""

    items: list[Setting]
    """All settings. They change when the server is started with other values."""
    preset: Annotated[str, Field(examples=["default"])]
    """The name of the preset in use."""
    presets: Annotated[list[str], Field(examples=[["default", "apps"]])]
    """The names of all presets."""


class HealthCheck(Model):
    """The result of one check of the store, the models or the job queue."""

    check: Annotated[str, Field(examples=["job queue"])]
    """The name of the check."""
    ok: bool
    """True if the check found no problem."""
    detail: Annotated[str, Field(examples=["2 jobs failed and are not retried"])]
    """What the check found."""
    detail_code: TextCode | None = None
    """The code and the values for translating `detail`, or null."""
    remedy: str | None = None
    """What to do, or null."""
    remedy_code: TextCode | None = None
    """The code and the values for translating `remedy`, or null."""


class HealthReport(Model):
    """The results of the checks of the store, the models and the job queue."""

    ok: bool
    """True if no check found a problem."""
    items: list[HealthCheck]
    """The results. Problems come first."""


@router.get("/settings", operation_id="list_settings", responses=problems(), openapi_extra=needs("admin"))
def settings(caller: Calling, request: Request) -> SettingList:
    """List settings.

    Returns each setting with its value, the source of the value, and its effect. The key must be an admin key of the
    operator.
    """
    caller.operate()
    preset = caller.memory.preset
    items = [Setting.model_validate(each) for each in explain_settings(request.app.state.settings, preset)]
    return SettingList(items=items, preset=preset.name, presets=list(PRESETS))


@router.get("/doctor", operation_id="doctor", responses=problems(), openapi_extra=needs("admin"))
def doctor(
    caller: Calling,
    request: Request,
    deep: Annotated[bool, Query(description="Also run the slow checks, such as the hashes of all rows.")] = False,  # noqa: FBT002
) -> HealthReport:
    """Check the store, the models and the job queue.

    Returns the result of each check, and how to fix each problem. The key must be an admin key of the operator.
    """
    caller.operate()
    found = caller.memory.doctor(deep=deep)
    known = {each.check for each in found if not each.ok}
    chosen: Settings = request.app.state.settings
    found += [
        Finding(check=each.setting, ok=False, detail=str(each.error))
        for each in model_problems(chosen, caller.memory.preset)
        if each.setting not in known
    ]
    found.sort(key=lambda each: each.ok)
    return HealthReport(ok=all(each.ok for each in found), items=[_check(each) for each in found])


def _check(found: Finding) -> HealthCheck:
    codes = {"detail_code": TextCode.of(found.detail), "remedy_code": TextCode.of(found.remedy)}
    return HealthCheck(check=found.check, ok=found.ok, detail=found.detail, remedy=found.remedy, **codes)
