"""Create a virtual environment and install locked packages into it, showing progress.

    python tools/setup_venv.py .venv --for "the server" --requirements requirements-server.lock [--editable .]

On a terminal one line is rewritten; elsewhere a line is printed at least every ten seconds. If pip fails, all it said is shown.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
import time
import venv
from pathlib import Path

PLAIN_SECONDS = 10.0
"""The longest silence where output goes into a pipe or a file."""
TICK_SECONDS = 0.2
PINNED = re.compile(r"^[A-Za-z0-9][\w.\-\[\]]*==", re.MULTILINE)
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--progress-bar", "off")


class Progress:
    """What pip is doing, read from its output, and how long it has taken."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.seen = 0
        self.doing = "starting pip"
        self.began = time.monotonic()
        self._shown_at = self.began
        self._terminal = sys.stdout.isatty()

    def read(self, line: str) -> None:
        """Take a line of pip's output."""
        words = line.split()
        if line.startswith("Ignoring "):  # for another system or version of Python
            self.expected -= 1
        elif line.startswith(("Collecting ", "Requirement already satisfied: ")):
            self.seen += 1
            name = line.partition(": ")[2].split()[0] if words[0] == "Requirement" else words[1]
            self.doing = re.split(r"[=<>!~;]", name)[0]
        elif words[:1] == ["Downloading"]:
            self.doing = (
                f"downloading {self.doing.removeprefix('downloading ').partition(' (')[0]} {' '.join(words[2:4])}".rstrip()
            )
        elif line.startswith("Installing collected packages"):
            self.doing = "unpacking"

    def show(self) -> None:
        """Rewrite the line of a terminal; elsewhere print one if the last is long ago."""
        seconds = time.monotonic() - self.began
        text = f"  {min(self.seen, self.expected)} of {self.expected}: {self.doing}, {seconds:.0f} s"
        if self._terminal:
            sys.stdout.write(f"\r\x1b[K{text[:78]}")
            sys.stdout.flush()
        elif time.monotonic() - self._shown_at >= PLAIN_SECONDS:
            self._shown_at = time.monotonic()
            say(text)

    def finish(self, text: str) -> None:
        """Print the last line."""
        say(("\r\x1b[K" if self._terminal else "") + f"  {text} after {time.monotonic() - self.began:.0f} s")


def say(text: str) -> None:
    """Print a line now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def install(python: Path, arguments: list[str], expected: int) -> None:
    """Run pip install and show how far it is; exit with its code and all it said if it fails."""
    progress, said = Progress(expected), list[str]()
    process = subprocess.Popen(
        [str(python), *PIP, *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", errors="replace", env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip

    def listen() -> None:
        for line in process.stdout or ():
            said.append(line)
            progress.read(line.strip())

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        while listener.is_alive():
            listener.join(TICK_SECONDS)
            progress.show()
        code = process.wait()
    except KeyboardInterrupt:
        process.kill()
        progress.finish("stopped")
        sys.exit(130)
    if code:
        progress.finish("FAILED")
        sys.stderr.write("".join(said))
        sys.stderr.write(
            "\npip could not install the packages; what it said stands above. Run the same make command again to retry.\n"
        )
        sys.exit(code)
    progress.finish("done")


def main() -> None:
    """Create the environment if it is not there, and install."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--for", dest="purpose", required=True)
    parser.add_argument("--requirements", type=Path, required=True)
    parser.add_argument("--editable", type=Path)
    given = parser.parse_args()
    python = given.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        say(f"Creating the Python environment {given.folder} ...")
        venv.create(given.folder, with_pip=True, symlinks=os.name != "nt")
    expected = len(PINNED.findall(given.requirements.read_text("utf-8")))
    say(f"Installing up to {expected} packages for {given.purpose} ({given.requirements.name}) ...")
    install(python, ["--require-hashes", "-r", str(given.requirements)], expected)
    if given.editable is not None:
        say("Installing Holdfast itself ...")
        install(python, ["--no-deps", "--editable", str(given.editable)], 1)


if __name__ == "__main__":
    main()
