"""Create a virtual environment and install locked packages into it, with progress.

    python tools/setup_venv.py .venv --for "the server" --requirements requirements-server.lock [--editable .]

On a terminal, one progress line is rewritten. Elsewhere, a line is printed at least every ten seconds. If pip fails, its
output is printed.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

PLAIN_SECONDS = 10.0
"""Maximum seconds between two lines of output to a pipe or a file."""
TICK_SECONDS = 0.2
PINNED = re.compile(r"^[A-Za-z0-9][\w.\-\[\]]*==", re.MULTILINE)
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--progress-bar", "off")


class Progress:
    """The progress of one step, read from pip's output."""

    def __init__(self, title: str, packages: int = 0) -> None:
        """Announce the step.

        A step that installs packages is announced later, when pip has skipped the packages for other systems.
        """
        self._title = title
        self._packages = packages
        self._seen = 0
        self._doing = ""
        self._began = self._shown_at = time.monotonic()
        self._terminal = sys.stdout.isatty()
        self._announced = not packages
        if not packages:
            say(title)

    def read(self, line: str) -> None:
        """Update the progress from a line of pip's output."""
        words = line.split()
        if line.startswith("Ignoring "):  # a package for another system or Python version
            self._packages -= 1
        elif line.startswith(("Collecting ", "Requirement already satisfied: ")):
            name = line.partition(": ")[2].split()[0] if words[0] == "Requirement" else words[1]
            self._doing = re.split(r"[=<>!~;]", name)[0]
            self._seen += 1
        elif words[:1] == ["Downloading"]:
            self._doing = (
                f"downloading {self._doing.removeprefix('downloading ').partition(' (')[0]} {' '.join(words[2:4])}".rstrip()
            )
        elif line.startswith("Installing collected packages"):
            self._doing = "unpacking"

    def show(self) -> None:
        """Rewrite the progress line on a terminal. Elsewhere, print a new line if the last one is older than ten seconds."""
        if self._seen:
            self._announce()
        seconds = f"{time.monotonic() - self._began:.0f} s"
        text = (
            f"  {min(self._seen, self._packages)} of {self._packages}: {self._doing}, {seconds}"
            if self._packages
            else f"  {seconds}"
        )
        if self._terminal and self._announced:
            sys.stdout.write(f"\r\x1b[K{text[:78]}")
            sys.stdout.flush()
        elif time.monotonic() - self._shown_at >= PLAIN_SECONDS:
            self._shown_at = time.monotonic()
            say(text)

    def finish(self, text: str) -> None:
        """Print the final line of the step."""
        self._announce()
        say(("\r\x1b[K" if self._terminal else "") + f"  {text} after {time.monotonic() - self._began:.0f} s")

    def _announce(self) -> None:
        if not self._announced:
            self._announced = True
            say(self._title.format("1 package" if self._packages == 1 else f"{self._packages} packages"))


def say(text: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def work(command: list[str], progress: Progress) -> None:
    """Run a command with progress. If it fails, print its output and exit with its code."""
    output: list[str] = []
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )

    def listen() -> None:
        for line in process.stdout or ():
            output.append(line)
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
        sys.stderr.write("".join(output))
        sys.stderr.write("\nThis step of the setup failed; its output is above. Run the same make command again to retry.\n")
        sys.exit(code)
    progress.finish("done")


def main() -> None:
    """Create the environment if it does not exist, and install the packages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--for", dest="purpose", required=True)
    parser.add_argument("--requirements", type=Path, required=True)
    parser.add_argument("--editable", type=Path)
    given = parser.parse_args()
    python = given.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        work([sys.executable, "-m", "venv", str(given.folder)], Progress(f"Creating the Python environment {given.folder} ..."))
    packages = len(PINNED.findall(given.requirements.read_text("utf-8")))
    title = f"Installing {{}} for {given.purpose} ({given.requirements.name}) ..."
    work([str(python), *PIP, "--require-hashes", "-r", str(given.requirements)], Progress(title, packages))
    if given.editable is not None:
        work([str(python), *PIP, "--no-deps", "--editable", str(given.editable)], Progress("Installing Holdfast itself ..."))


if __name__ == "__main__":
    main()
