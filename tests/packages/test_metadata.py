"""Metadata computed by ``hatch_build.py``: the dependencies in a checkout, and the links and URLs of a published README."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from .support import MODELS, ROOT

ADDRESS = "https://example.org/people/holdfast"


def _metadata(project: Path, **environment: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "hatchling", "metadata"]
    ran = subprocess.run(
        command, cwd=project, env={**os.environ, **environment}, capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def _copy(folder: Path, *, repository: str) -> Path:
    """Copy the files from which the metadata is computed, and set the address of the repository in ``pyproject.toml``."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src/holdfast/version.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    settings = folder / "pyproject.toml"
    text, count = re.subn(r'^repository = ".*"$', f'repository = "{repository}"', settings.read_text("utf-8"), flags=re.MULTILINE)
    assert count == 1
    text = text.replace('mcp-name = ""', 'mcp-name = "org.example/holdfast"')
    settings.write_text(text, "utf-8")
    return folder


def test_a_checkout_requires_its_own_models_and_a_release_the_published_ones() -> None:
    version = tomllib.loads((MODELS / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"holdfast-models @ {MODELS.as_uri()}" in _metadata(ROOT)["dependencies"]
    assert f"holdfast-models=={version}" in _metadata(ROOT, HOLDFAST_RELEASE="1")["dependencies"]


def test_a_source_distribution_requires_the_published_models(tmp_path: Path) -> None:
    found = _metadata(_copy(tmp_path, repository=""))
    assert not [each for each in found["dependencies"] if "@" in each]
    assert "urls" not in found
    assert not re.search(r"\]\((?!https?:|#)", found["readme"]["text"])


def test_links_of_a_public_repository_are_absolute(tmp_path: Path) -> None:
    found = _metadata(_copy(tmp_path, repository=ADDRESS))
    assert f"[docs/guide.md]({ADDRESS}/blob/main/docs/guide.md)" in found["readme"]["text"]
    assert found["urls"]["Repository"] == ADDRESS
    assert "<!-- mcp-name: org.example/holdfast -->" in found["readme"]["text"]
    files = re.findall(rf"\({re.escape(ADDRESS)}/blob/main/([^)#]+)", found["readme"]["text"])
    assert len(files) > 10
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_images_of_the_readme_need_a_public_repository(tmp_path: Path) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    public.mkdir()
    private.mkdir()
    assert f"({ADDRESS}/raw/main/docs/assets/dashboard.png)" in _metadata(_copy(public, repository=ADDRESS))["readme"]["text"]
    assert "![" not in _metadata(_copy(private, repository=""))["readme"]["text"]


def test_both_distributions_have_the_same_licence() -> None:
    assert (MODELS / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_no_install_command_names_the_foreign_distribution_holdfast() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    if not tracked:
        pytest.skip("not a git checkout")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"] == "holdfast-memory"
    wrong = re.compile(r"install [^\n]{0,30}(?<![\w.-])holdfast(?:\[| *[\"'`\n])|[\"'`]holdfast\[[a-z{]")
    pages = [ROOT / name for name in tracked if name.endswith((".md", ".py", ".js")) and not name.startswith("tests/packages/")]
    found = [f"{page.relative_to(ROOT)}: {each[0]!r}" for page in pages for each in wrong.finditer(page.read_text("utf-8"))]
    assert found == []
