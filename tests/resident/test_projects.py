"""The name of the project that a folder belongs to."""

from pathlib import Path

import pytest

from holdfast.resident.projects import project_of


def _repository(folder: Path, url: str | None = None) -> Path:
    (folder / ".git").mkdir(parents=True)
    remote = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*\n' if url else "[core]\n"
    (folder / ".git" / "config").write_text(remote, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("https://github.com/acme/shop.git", "github.com/acme/shop"),
        ("https://ana:secret@GitHub.com/acme/shop", "github.com/acme/shop"),
        ("ssh://git@git.example.org:2222/team/shop.git", "git.example.org/team/shop"),
        ("https://git.example.org/group/sub/shop/", "git.example.org/group/sub/shop"),
    ],
)
def test_clones_of_one_remote_have_one_name_without_passwords(tmp_path: Path, url: str, name: str) -> None:
    assert project_of(_repository(tmp_path / "a", url)) == name


@pytest.mark.parametrize("url", [None, "/srv/git/shop.git", "../shop", "file:///srv/shop.git"])
def test_a_repository_without_a_remote_is_named_by_its_path(tmp_path: Path, url: str | None) -> None:
    root = _repository(tmp_path / "a", url)
    (root / "src" / "deep").mkdir(parents=True)
    assert project_of(root / "src" / "deep") == str(root.resolve())


def test_a_worktree_belongs_to_its_main_checkout(tmp_path: Path) -> None:
    root = _repository(tmp_path / "main", "git@github.com:acme/shop.git")
    own = root / ".git" / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n", "utf-8")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n", "utf-8")
    assert project_of(tree) == "github.com/acme/shop"


@pytest.mark.parametrize("folder", [None, "", "/", "/does/not/exist"])
def test_a_folder_outside_of_repositories_has_no_project(folder: str | None) -> None:
    assert project_of(folder) is None
