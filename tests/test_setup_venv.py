"""The script behind ``make serve`` prints what it installs. If pip fails, it prints pip's complete output."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "setup_venv.py"


def make_wheel(folder: Path) -> str:
    """Build a wheel with one empty module. Return its SHA-256, which pip verifies."""
    info = "tiny_package-1.0.dist-info"
    files = {
        "tiny_package.py": b"",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {
        name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for name, data in files.items()
    }
    record = "".join(f"{name},sha256={digests[name]},{len(data)}\n" for name, data in files.items()) + f"{info}/RECORD,,\n"
    wheel = folder / "tiny_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, data)
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def run(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a folder, with the wheels in that folder and without a package index."""
    (folder / "some.lock").write_text("\n".join(lines))
    command = [sys.executable, str(SCRIPT), str(folder / "venv"), "--for", "the tests"]
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": str(folder)}
    return subprocess.run(
        [*command, "--requirements", str(folder / "some.lock")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )


@pytest.mark.long
def test_setting_up_says_what_is_installed_and_shows_pips_own_words_when_it_fails(tmp_path: Path) -> None:
    digest = make_wheel(tmp_path)

    done = run(
        tmp_path,
        f"tiny-package==1.0 --hash=sha256:{digest}",
        f"other-package==1.0 ; python_version < '3' --hash=sha256:{digest}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"Creating the Python environment {tmp_path / 'venv'} ...\n")
    assert "\nInstalling 1 package for the tests (some.lock) ...\n" in done.stdout
    assert done.stdout.count("  done after ") == 2
    assert [*(tmp_path / "venv").rglob("tiny_package.py")]

    failed = run(tmp_path, f"no-such-package-at-all==1.0 --hash=sha256:{digest}")
    assert failed.returncode == 1
    assert "Creating" not in failed.stdout
    assert "FAILED" in failed.stdout
    assert "No matching distribution found for no-such-package-at-all==1.0" in failed.stderr
    assert "Run the same make command again" in failed.stderr
