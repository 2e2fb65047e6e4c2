"""Runs the steps of the Dockerfile in a plain shell, in a folder that represents the root of the image."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OFFLINE = re.compile(
    r"dns error|Failed to (fetch|download)|name resolution|Name or service|error sending request|NewConnectionError"
)


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments, with continued lines joined."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    found = [line.partition(" ") for line in joined.splitlines()]
    assert all(re.fullmatch(r"[A-Z]+", name) for name, _, _ in found)
    return [(name, argument) for name, _, argument in found]


def context() -> list[str]:
    """Return the files that Docker would send to the builder: the files of the git checkout that .dockerignore allows."""
    everything, *others = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert everything == "*"
    allowed = {line.removeprefix("!") for line in others if line.startswith("!")}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    if not tracked:
        pytest.skip("not a git checkout")
    return [name for name in tracked if name.partition("/")[0] in allowed and (ROOT / name).is_file()]


@dataclass
class Image:
    """The result of the steps: a folder, the environment, and the command."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    cwd: str = "/"
    command: dict[str, list[str]] = field(default_factory=dict)

    def place(self, text: str) -> str:
        """Return the text of an instruction with each absolute path of the image moved under ``self.root``."""
        return re.sub(r"(?<![\w./:])/(?=(opt|build|data)\b)", f"{self.root}/", text)

    def run(self, name: str, argument: str) -> None:
        """Carry out an instruction."""
        match name:
            case "FROM" | "VOLUME" | "EXPOSE" | "USER":
                pass
            case "ENV":
                for assignment in argument.split():
                    key, _, value = assignment.partition("=")
                    self.environment[key] = self.place(value).replace("$PATH", self.environment["PATH"])
            case "WORKDIR":
                self.cwd = self.place(argument)
                Path(self.cwd).mkdir(parents=True)
            case "COPY":
                self._copy(*argument.split())
            case "RUN":
                self._shell(argument)
            case "ENTRYPOINT" | "CMD" | "HEALTHCHECK":
                parts = re.search(r"\[.*\]", argument)
                assert parts is not None
                self.command[name] = [str(each) for each in json.loads(parts[0])]
            case _:
                pytest.fail(f"The test does not know the instruction {name}.")

    def _copy(self, *parts: str) -> None:
        *sources, target = [part for part in parts if not part.startswith("--")]
        if any(part.startswith("--from=") for part in parts):
            assert sources == [target]
            assert Path(self.place(target)).is_dir()
            return
        assert target == "./"
        for name in context() if sources == ["."] else sources:
            path = Path(self.cwd) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path)

    def _shell(self, line: str) -> None:
        if os.getuid() != 0:
            line = line.replace("-o 10001 -g 10001 ", "")
        line = line.replace(" --no-cache ", " ")  # the cache of this machine saves downloads
        cwd = self.cwd if self.cwd != "/" else str(self.root)
        ran = subprocess.run(
            ["sh", "-ec", self.place(line)],
            cwd=cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
        if ran.returncode and OFFLINE.search(ran.stderr):
            pytest.skip("The package index cannot be reached.")
        assert ran.returncode == 0, f"{line}\n{ran.stdout}{ran.stderr}"


def build(root: Path) -> Image:
    """Run all steps of the Dockerfile. The Python of the tests replaces the Python of the base image."""
    programs = root / "usr" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(getattr(sys, "_base_executable", sys.executable))
    kept = {name: value for name, value in os.environ.items() if re.match(r"HOME$|PIP_|UV_|.*_proxy$|SSL_|.*_CA_BUNDLE", name)}
    image = Image(root, {**kept, "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"})
    for name, argument in instructions(ROOT / "deploy" / "Dockerfile"):
        image.run(name, argument)
        image.environment.pop("UV_COMPILE_BYTECODE", None)  # takes half a minute
    return image
