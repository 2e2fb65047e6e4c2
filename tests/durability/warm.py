"""Imported by the fork server: what learning needs is made ready here once, so that a child need not begin with it.

The rules compile their patterns when they first use them, which takes longer than all that a killed child does.
The files are closed and gone before the first child is started.
"""

import tempfile
from pathlib import Path

from .test_kill_learning import prepare, state
from .test_kill_stories import tell_on


def warm_up() -> None:
    """Learn in each way once, in English and in Spanish."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("cascade", "pages"):
            folder = Path(place) / name
            folder.mkdir()
            prepare(folder, name)
            state(folder, name)
        for name in ("default", "rumi"):
            tell_on(Path(place) / f"story-{name}", name)


warm_up()
