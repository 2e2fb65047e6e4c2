"""Requests generated from the OpenAPI document cause no server error and no undocumented response."""

import importlib.util
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from holdfast.config.settings import Settings
from holdfast.testing import ScriptedChat
from tests.sampling import Sample
from tests.server.http_support import Served, serving

OPERATIONS = 84
EXAMPLES = 12
SHORT_EXAMPLES = 3
"""Requests per operation without ``--full``."""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
UNDESCRIBED = ("import_file", "choose_model")
"""Operations that reject some requests although they match the schema: it cannot describe file formats or usable models."""
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
    settings = Settings(rate_limit=1_000_000)
    with pytest.MonkeyPatch.context() as patch, serving(home, chat=model, transcriber=Hears(), settings=settings) as served:
        patch.setenv("HOLDFAST_HOME", str(home))  # where the default user is stored
        served.client.post("/v1/sessions/0/messages", json={"role": "user", "text": "hello"})
        yield served


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_no_generated_request_causes_a_server_error_or_an_undocumented_response(live: Served, sample: Sample) -> None:
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
            max_examples=sample.size(EXAMPLES, short=SHORT_EXAMPLES),
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


CONFIGURATION = """[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "429"]
"""
"""Settings of Schemathesis: statuses that it accepts for invalid requests. Its default lacks 413, for a body that is too large."""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_command_of_schemathesis_finds_nothing_with_its_own_checks(live: Served, tmp_path: Path, sample: Sample) -> None:
    """Run the command on a sixth of the operations, or with ``--full`` on all. Another document has another sixth."""
    if importlib.util.find_spec("schemathesis") is None:
        pytest.skip("Schemathesis is not installed.")
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION, "utf-8")
    document = live.as_(live.key("admin")).get("/openapi.json")
    names = [operation["operationId"] for path in document.json()["paths"].values() for operation in path.values()]
    # The last operation would revoke the key in use.
    tried = [name for name in names if name not in (*UNDESCRIBED, *ENDLESS, "revoke_key")]
    chosen = sample.of(tried, every=6, start=zlib.crc32(document.content))
    included = [part for name in chosen for part in ("--include-operation-id", name)]
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{live.url}/openapi.json", *included, "--seed", "11"]
    # One worker: in Python 3.11, two threads that parse source code at the same time can raise SystemError, and Hypothesis does.
    options = ["--max-examples", "2", "--continue-on-failure", "--request-timeout", "30", "--workers", "1"]
    key = ["-H", f"Authorization: Bearer {live.key('admin')}"]
    ran = subprocess.run([*command, *options, *key], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stdout[-20_000:]
    generated = re.findall(r"\b(\d+) generated, \1 passed", ran.stdout)
    assert [int(count) >= sample.size(1000, short=300) for count in generated] == [True], ran.stdout[-1000:]
