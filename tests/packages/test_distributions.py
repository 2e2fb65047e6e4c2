"""The built distributions: contents, metadata, the wheel that each system gets, and running them with uvx and pipx."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from holdfast.models.local.registry import MODELS, READERS, WheelMember
from holdfast.version import __version__

from .support import ROOT, build_all, plain_environment, tool

ASKED = "Is there a doctor in the family?"
SAID = "Her sister is a surgeon in Lyon"


def _metadata(path: Path) -> Metadata:
    """Return the validated metadata of a wheel or sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
            return Metadata.from_email(archive.read(name), validate=True)
    with tarfile.open(path) as sdist:
        (member,) = [each for each in sdist.getnames() if re.fullmatch(r"[^/]+/PKG-INFO", each)]
        file = sdist.extractfile(member)
        assert file is not None
        return Metadata.from_email(file.read(), validate=True)


def _best(wheels: list[Path], tags: list[Tag]) -> Path:
    """Return the wheel that pip chooses on a system with these tags, given in order of preference."""
    ranks = {tag: rank for rank, tag in enumerate(tags)}
    fitting = {
        min(ranks[tag] for tag in parse_wheel_filename(path.name)[3] if tag in ranks): path
        for path in wheels
        if not parse_wheel_filename(path.name)[3].isdisjoint(ranks)
    }
    return fitting[min(fitting)]


def _tags(platforms: list[str]) -> list[Tag]:
    return [*cpython_tags((3, 12), platforms=platforms), *compatible_tags((3, 12), "cp312", platforms)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build_all(tmp_path_factory.mktemp("built") / "dist")


@pytest.mark.long
@pytest.mark.ledger("X1")
def test_the_distributions_are_complete_and_each_system_gets_the_right_models(built: list[Path]) -> None:
    (sdist,) = [path for path in built if path.name.endswith(".tar.gz")]
    (wheel,) = [path for path in built if path.name.startswith("holdfast_memory-") and path.suffix == ".whl"]
    models = [path for path in built if path.name.startswith("holdfast_models-")]
    assert len(built) == 4

    for path in (sdist, wheel):
        found = _metadata(path)
        required = {each.name: each for each in found.requires_dist or []}
        assert not [each for each in required.values() if each.url], "a published package may not require a local folder"
        assert "onnxruntime" not in required
        assert found.description_content_type == "text/markdown"
        assert found.description
        assert not re.search(r"\]\((?!https?:|#)", found.description), "a link that is dead on a package index"
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".onnx")]
        assert "holdfast/py.typed" in archive.namelist()
    assert wheel.stat().st_size < 3_000_000
    with tarfile.open(sdist) as source:
        assert not [name for name in source.getnames() if name.endswith(".onnx")]

    manylinux = [f"manylinux_2_{minor}_aarch64" for minor in range(39, 16, -1)]
    musl = [f"musllinux_1_{minor}_x86_64" for minor in (2, 1, 0)]
    full = _best(models, _tags(manylinux))
    assert {_best(models, _tags([platform])) for platform in ("win_amd64", "macosx_13_0_arm64")} == {full}
    empty = _best(models, _tags(musl))
    assert {_best(models, _tags(["linux_armv7l"])), _best(models, _tags(["manylinux_2_17_x86_64"]))} == {empty}
    (runtime,) = _metadata(full).requires_dist or []
    assert runtime.name == "onnxruntime"
    assert runtime.marker is not None
    assert [runtime.marker.evaluate({"platform_machine": name}) for name in ("x86_64", "arm64", "armv7l")] == [True, True, False]
    mac = {"sys_platform": "darwin", "platform_machine": "x86_64"}
    assert [runtime.marker.evaluate({**mac, "python_version": version}) for version in ("3.13", "3.14")] == [True, False]
    assert not _metadata(empty).requires_dist
    own = [weight for spec in (*MODELS.values(), *READERS.values()) for weight in spec.files if weight.included]
    with zipfile.ZipFile(full) as archive:
        for weight in own:
            assert archive.getinfo(f"holdfast_models/{weight.included}").file_size == weight.size
    with zipfile.ZipFile(empty) as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} == {f"{empty.name.partition('-py3')[0]}.dist-info"}
    for weight in own:
        (carrier,) = weight.carriers
        assert isinstance(carrier, WheelMember)
        assert (carrier.project, carrier.version) == (_metadata(full).name, str(_metadata(full).version))
        assert carrier.platform is not None
        assert _best(models, _tags([carrier.platform])) == full


@pytest.mark.long
def test_the_bundle_for_mcp_hosts_starts_and_answers(built: list[Path], tmp_path: Path) -> None:
    uv = tool("uv")
    if uv is None:
        pytest.skip("uv is not installed.")
    for path in built:
        shutil.copy(path, tmp_path)
    subprocess.run([sys.executable, str(ROOT / "tools" / "build_mcp.py"), str(tmp_path)], check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / f"holdfast-{__version__}.mcpb") as archive:
        archive.extractall(tmp_path / "bundle")
        config = json.loads(archive.read("manifest.json"))["server"]["mcp_config"]
    answers = {"__dirname": str(tmp_path / "bundle"), "user_config.user": "ana", "user_config.home": str(tmp_path / "home")}
    arguments = [re.sub(r"\$\{(.+?)\}", lambda name: answers.get(name[1], ""), each) for each in config["args"]]
    environment = {
        name: re.sub(r"\$\{(.+?)\}", lambda name: answers.get(name[1], ""), each) for name, each in config["env"].items()
    }
    version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version}) + "\n"
    answered = _run([uv, *arguments], said=asked, UV_PYTHON=sys.executable, **environment)
    assert json.loads(answered)["result"]["serverInfo"]["name"].casefold() == "holdfast"


@pytest.mark.long
@pytest.mark.parametrize(("platform", "by_meaning"), [("aarch64-unknown-linux-musl", False), ("aarch64-unknown-linux-gnu", True)])
def test_every_dependency_has_a_wheel_with_and_without_glibc(platform: str, *, by_meaning: bool, built: list[Path]) -> None:
    uv = tool("uv")
    if uv is None:
        pytest.skip("uv is not installed.")
    options = [
        "--quiet",
        "--no-header",
        "--only-binary",
        ":all:",
        "--python-platform",
        platform,
        "--find-links",
        str(built[0].parent),
    ]
    resolved = _run([uv, "pip", "compile", "-", *options], said="holdfast-memory[server,postgres]\n", UV_PYTHON=sys.executable)
    assert "\nholdfast-models==" in resolved
    assert ("onnxruntime==" in resolved) is by_meaning


@pytest.mark.long
def test_a_lock_file_of_a_project_that_depends_on_holdfast_includes_onnxruntime(built: list[Path], tmp_path: Path) -> None:
    uv = tool("uv")
    if uv is None:
        pytest.skip("uv is not installed.")
    project = """[project]\nname = "bot"\nversion = "0"\nrequires-python = ">=3.11"\ndependencies = ["holdfast-memory"]\n"""
    (tmp_path / "pyproject.toml").write_text(project, "utf-8")
    _run([uv, "lock", "--quiet", "--directory", str(tmp_path), "--find-links", str(built[0].parent)], UV_PYTHON=sys.executable)
    assert 'name = "onnxruntime"' in (tmp_path / "uv.lock").read_text("utf-8")


def _run(command: list[str], said: str = "", **environment: str) -> str:
    ran = subprocess.run(
        command, input=said, capture_output=True, text=True, check=False, timeout=240, env=plain_environment(**environment)
    )
    if ran.returncode and re.search(
        r"dns error|Failed to (fetch|download)|Temporary failure in name|error sending request", ran.stderr
    ):
        pytest.skip("The package index cannot be reached.")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.long
@pytest.mark.ledger("X1")
def test_uvx_and_pipx_run_the_built_wheel(built: list[Path], tmp_path: Path) -> None:
    uv = tool("uv")
    if uv is None:
        pytest.skip("uv is not installed.")
    dist = built[0].parent
    (wheel,) = [path for path in built if path.name.startswith("holdfast_memory-") and path.suffix == ".whl"]
    places = {"HOLDFAST_HOME": str(tmp_path / "home"), "UV_FIND_LINKS": str(dist), "PIP_FIND_LINKS": str(dist)}
    uvx = [uv, "tool", "run", "--python", sys.executable]
    _run([*uvx, "--from", str(wheel), "holdfast", "remember", SAID, "--user", "ana"], **places)
    assert SAID in _run([*uvx, "--from", str(wheel), "holdfast", "recall", ASKED, "--user", "ana"], **places)
    pipx = [*uvx, "--from", "pipx==1.18.4", "pipx"]
    chosen = ["--backend", "uv", "--python", sys.executable]
    places |= {"PIPX_HOME": str(tmp_path / "pipx"), "PATH": f"{Path(uv).parent}:/usr/bin:/bin"}
    places |= {"PIPX_BIN_DIR": str(tmp_path / "bin")}
    assert _run([*pipx, "run", *chosen, "--spec", str(wheel), "holdfast", "--version"], **places) == f"holdfast {__version__}\n"
    _run([*pipx, "install", *chosen, str(wheel)], **places)
    for name in ("holdfast", "holdfast-memory"):
        assert SAID in _run([str(tmp_path / "bin" / name), "recall", ASKED, "--user", "ana"], **places)


_LANGCHAIN_CLIENT = """
import asyncio, sys
from importlib.metadata import version
from langchain_mcp_adapters.client import MultiServerMCPClient

async def main():
    command = {"transport": "stdio", "command": sys.executable, "args": ["-m", "holdfast", "mcp", "--user", "ana"]}
    client = MultiServerMCPClient({"holdfast": command | {"env": {"HOLDFAST_HOME": sys.argv[1], "PATH": "/usr/bin:/bin"}}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    await tools["store_memory"].ainvoke({"key": "drink", "content": "green tea"})
    print(version("langchain-mcp-adapters"), await tools["memory_context"].ainvoke({"query": "What does she drink?"}))

asyncio.run(main())
"""


@pytest.mark.long
@pytest.mark.ledger("X14")
def test_the_server_installs_and_works_beside_langchains_mcp_client(built: list[Path], tmp_path: Path) -> None:
    uv = tool("uv")
    if uv is None:
        pytest.skip("uv is not installed.")
    (wheel,) = [path for path in built if path.name.startswith("holdfast_memory-") and path.suffix == ".whl"]
    ours, theirs = f"holdfast-memory[server] @ {wheel.as_uri()}", "langchain-mcp-adapters>=0.3.2"  # 0.3.2 needs mcp<2
    command = [uv, "run", "--quiet", "--no-project", "--python", sys.executable, "--with", ours, "--with", theirs]
    ran = _run([*command, "python", "-c", _LANGCHAIN_CLIENT, str(tmp_path / "home")], UV_FIND_LINKS=str(wheel.parent))
    assert "green tea" in ran
