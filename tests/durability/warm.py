"""Warm-up of the fork server. The fork server imports this module, so its children start with compiled extraction rules.

Compiling the extraction rules on first use would take most of a killed child's time. All files are closed and removed
before the first child starts.
"""

import tempfile
from pathlib import Path

from .test_kill_learning import prepare, state
from .test_kill_stories import continue_story


def warm_up() -> None:
    """Run each kind of extraction once, in English and in Spanish."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("cascade", "pages"):
            folder = Path(place) / name
            folder.mkdir()
            prepare(folder, name)
            state(folder, name)
        for name in ("default", "rumi"):
            continue_story(Path(place) / f"story-{name}", name)


warm_up()
