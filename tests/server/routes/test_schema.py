"""Requests generated from the OpenAPI document cause no server error and no undocumented response."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from holdfast.testing import ScriptedChat
from tests.server.http_support import Served, serving

OPERATIONS = 83
EXAMPLES = 12
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
UNDESCRIBED = ("import_file", "choose_model")
"""Operations that also reject valid requests: a schema cannot describe the formats of files, or the models that can be used."""
ENDLESS = ("events",)
"""Operations whose response does not end. They have their own tests."""


class Hears:
    name = "told"

    def transcribe(self, recording: bytes) -> str:
        return "hello there"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    model = ScriptedChat(respond=lambda asked: "ok")
    home = tmp_path_factory.mktemp("schema")
    with pytest.MonkeyPatch.context() as patch, serving(home, chat=model, transcriber=Hears()) as served:
        patch.setenv("HOLDFAST_HOME", str(home))  # where the default user is stored
        served.client.post("/v1/sessions/0/messages", json={"role": "user", "text": "hello"})
        yield served


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_no_request_meets_a_fault_or_an_answer_that_is_not_documented(live: Served) -> None:
    schemathesis = pytest.importorskip("schemathesis")  # here, because the import takes a second
    from schemathesis import checks  # noqa: PLC0415

    schema = schemathesis.openapi.from_url(f"{live.url}/openapi.json")
    key = {
        "Authorization": f"Bearer {live.key('admin')}"
    }  # one of the requests creates a key, and from then on every request needs one
    tried = []
    for result in schema.get_all_operations():
        operation = result.ok()
        name = operation.definition.raw["operationId"]
        tried.append(name)
        if name in ENDLESS:
            continue

        @seed(20260301)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            verbosity=Verbosity.quiet,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            undescribed = case.operation.definition.raw["operationId"] in UNDESCRIBED
            chosen = CHECKS if undescribed else (*CHECKS, "positive_data_acceptance")
            case.call_and_validate(checks=[getattr(checks, name) for name in chosen], headers=key, timeout=30)

        ask()
    assert len(tried) == len(set(tried)) == OPERATIONS
