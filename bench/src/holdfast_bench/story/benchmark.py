"""Plays the stories and prints their scores. ``script.py`` defines the format of a story, and ``player.py`` plays it."""

import json
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from holdfast_bench.story.player import play
from holdfast_bench.story.process import ModelMode
from holdfast_bench.story.scores import DayScore, details, score, table
from holdfast_bench.story.script import FOLDER, load_stories


def run(
    *,
    stories: Path = FOLDER,
    names: Collection[str] = (),
    models: Sequence[ModelMode] = ("none", "scripted"),
    embedder: str = "talk-embed-s",
    last_day: int | None = None,
    misses: bool = False,
    as_json: bool = False,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> list[DayScore]:
    """Play each story with each model, print the table, and return the scores."""
    loaded = load_stories(stories, names=names)  # all files are checked before the first one is played
    scores: list[DayScore] = []
    for story in loaded:
        for model in models:
            with tempfile.TemporaryDirectory(prefix="holdfast-story-", ignore_cleanup_errors=True) as folder:
                days = play(story, Path(folder), model=model, embedder=embedder, last_day=last_day, progress=progress)
                scores += [score(story, day, model=model) for day in days]
    if as_json:
        print(json.dumps([each.as_data() for each in scores], ensure_ascii=False))  # noqa: T201  (output of the command)
    else:
        if misses:
            print(details(scores), end="\n\n")  # noqa: T201
        print(table(scores))  # noqa: T201
    return scores
