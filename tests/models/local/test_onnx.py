"""Networks that run in this process: which inputs go first."""

import contextvars
from collections.abc import Callable

import pytest

from holdfast.models.local import onnx
from holdfast.runtime.priority import lower_priority, start_pace

pytestmark = pytest.mark.ledger("X28")


@pytest.mark.parametrize(
    ("tokens", "before", "kind"),
    [(96, lower_priority, "short"), (97, lower_priority, "low"), (97, start_pace, "long"), (97, lambda: None, "long")],
    ids=["short", "long in the background", "long in a request", "long in a library call"],
)
def test_long_inputs_of_low_priority_leave_room_for_others(tokens: int, before: Callable[[], object], kind: str) -> None:
    def run() -> str:
        before()
        return onnx._kind_of(tokens)

    assert contextvars.Context().run(run) == kind
