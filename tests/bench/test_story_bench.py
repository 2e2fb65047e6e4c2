"""The story benchmark: story files are checked when they are loaded, processes are really killed, and each fault is counted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner

from holdfast.cli.app import app
from holdfast_bench.story.hosts import Observation
from holdfast_bench.story.player import Day, ended, play, stated
from holdfast_bench.story.scores import DayScore, score, table
from holdfast_bench.story.script import DESIGNS, StoryInvalid, load_stories, load_story
from holdfast_bench.story.words import leaks, says
from tests.sampling import Sample

pytestmark = pytest.mark.long

HEAD = (
    'design = "{design}"\ntitle = "Two days"\nlanguage = "en"\ndays = [2]\n[[person]]\nid = "ana"\ntimezone = "Europe/Madrid"\n'
)
FACTS = """
[[fact]]
id = "town"
says = "Ana lives in Oslo."
durable = true
find = [["oslo"]]
ask = ["Where do I live?"]
person = "ana"

[[fact]]
id = "newtown"
says = "Ana lives in Bergen."
durable = true
find = [["bergen"]]
ask = ["Where do I live?", "Where did I move to?"]
person = "ana"

[[fact]]
id = "nuts"
says = "Ana is allergic to walnuts."
durable = true
explicit = true
find = [["allerg", "walnut"]]
ask = ["Am I allergic to anything?"]
person = "ana"

[[secret]]
id = "gift"
says = "The gift is a kayak."
find = [["kayak"]]
"""
DAY_ONE = """
[[session]]
day = 1
time = "19:05"
person = "ana"
app = "calendar"

[[session.turn]]
role = "user"
text = "I live in Oslo."
facts = ["town"]

[[session.turn]]
role = "assistant"
text = "Noted."

[[session.turn]]
role = "user"
text = "Remember that I am allergic to walnuts."
facts = ["nuts"]

[[session.turn]]
role = "assistant"
text = "I will."

[session.model]
facts = [{ text = "The user lives in Oslo.", sources = [1] }, { text = "The user is allergic to walnuts.", sources = [3] }]
summary = "The user lives in Oslo and is allergic to walnuts."
"""
DAY_TWO = """
[[session]]
day = 2
time = "08:00"
person = "ana"
app = "calendar"
events_before = ["kill", "kill_during"]

[[session.turn]]
role = "user"
text = "Don't save this: the birthday gift is a kayak."
refused = ["gift"]

[[session.turn]]
role = "assistant"
text = "I won't."

[[session.turn]]
role = "noise"
text = "[BLANK_AUDIO]"

[[session.turn]]
role = "user"
text = "I moved to Bergen last week."
facts = ["newtown"]
ends = ["town"]

[[session.turn]]
role = "assistant"
text = "How exciting."

[[session.turn]]
role = "user"
text = "Nice sunny weather, lovely clouds today, right?"
small_talk = true

[session.model]
facts = [{ text = "The user lives in Bergen.", sources = [4], replaces = "town" }]
summary = "The user moved to Bergen."
"""
SHORT = FACTS + DAY_ONE + DAY_TWO


def _write(folder: Path, design: str = "lobug", body: str = SHORT) -> Path:
    path = folder / f"{design}.toml"
    path.write_text(HEAD.format(design=design) + body, "utf-8")
    return path


def _day(story_path: Path, **changes: object) -> DayScore:
    """Return the score of a day on which the assistant did everything right, apart from the given ``changes``."""
    story = load_story(story_path)
    right: dict[str, object] = {
        "asked": {"town": ["- lives in Bergen"], "newtown": ["- lives in Bergen"], "nuts": ["- allergic to walnuts"]},
        "documents": ["The user lives in Bergen."],
        "live": ["lives in Bergen", "allergic to walnuts"],
        "retired": ["lives in Oslo"],
    }
    leaked = changes.pop("leaked", {})
    observation = Observation(**{**right, **changes})  # type: ignore[arg-type]
    return score(story, Day(day=2, observation=observation, leaked=leaked, kills=0, restarts=0), model="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("model", ["none", "scripted"])
def test_a_story_with_kills_is_played_and_scored(tmp_path: Path, model: str) -> None:
    story = load_story(_write(tmp_path))
    [day] = play(story, tmp_path / "run", model=model, embedder="talk-embed-s")  # type: ignore[arg-type]
    result = score(story, day, model=model)  # type: ignore[arg-type]
    assert (result.durable, result.explicit, result.kills) == (2, 1, 2)
    assert list(result.missing) == []
    assert list(result.missing_explicit) == []
    assert list(result.stale) == []
    assert list(result.refusals) == []
    assert list(result.small_talk) == []
    assert list(result.over) == []
    assert result.meets_targets


@pytest.mark.parametrize("design", [design for design in DESIGNS if design != "lobug"])  # the test above plays it
def test_every_other_design_has_a_host_that_plays_a_story(tmp_path: Path, sample: Sample, design: str) -> None:
    story = load_story(_write(tmp_path, design))
    models: Sequence[Literal["none", "scripted"]] = ("none", "scripted")
    for model in sample.of(models, every=2, start=list(DESIGNS).index(design)):
        [day] = play(story, tmp_path / model, model=model, embedder="talk-embed-s")
        result = score(story, day, model=model)
        assert list(result.missing_explicit) == []
        assert list(result.refusals) == []
        assert list(result.over) == []
        if model == "scripted":
            assert list(result.missing) == []


def test_a_right_day_meets_the_targets_and_each_fault_is_counted(tmp_path: Path) -> None:
    path = _write(tmp_path)
    assert _day(path).meets_targets
    asked = {"town": ["- lives in Oslo"], "newtown": ["- (2026) nothing"], "nuts": ["- allergic to walnuts"]}
    wrong = _day(path, asked=asked)
    assert list(wrong.missing) == ["newtown: Ana lives in Bergen."]
    assert (wrong.present, wrong.stale_share) == (50.0, 50.0)
    past = {**asked, "newtown": ["- lives in Bergen"], "town": ["- no longer lives in Oslo", "- moved from Oslo to Bergen"]}
    assert _day(path, asked=past).meets_targets
    noted = {**past, "town": ["- lives in Oslo (since changed to: moved)", "- vive en Oslo (desde entonces cambió a: otra)"]}
    assert _day(path, asked=noted).meets_targets, "the line says that it is outdated"
    assert _day(path, documents=["Nice sunny weather, lovely clouds."]).small_talk
    assert _day(path, leaked={"gift": "memory.db"}).refusals
    over = _day(path, over=["memories of an app: 11 of at most 10"])
    assert not any(each.meets_targets for each in (wrong, over))


def test_a_look_alike_that_retires_a_fact_is_counted(tmp_path: Path) -> None:
    turn = '[[session.turn]]\nrole = "user"\ntext = "My sister is allergic to nothing."\nlook_alike = true\nkeeps = ["nuts"]\n'
    path = _write(tmp_path, body=FACTS + DAY_ONE + DAY_TWO.replace("[session.model]", f"{turn}\n[session.model]"))
    assert not _day(path).wrongly_retired
    assert _day(path, live=["lives in Bergen"], retired=["allergic to walnuts"]).wrongly_retired


def test_a_fact_is_true_from_its_statement_to_its_end(tmp_path: Path) -> None:
    story = load_story(_write(tmp_path))
    assert list(stated(story, 1)) == ["town", "nuts"]
    assert ended(story, 1) == set()
    assert ended(story, 2) == {"town"}


def test_words_match_without_case_accents_and_endings_but_numbers_match_as_a_whole(tmp_path: Path) -> None:
    assert says("Vive en CÓRDOBA desde 2026.", (("cordoba", "2026"),))
    assert says("two walnuts", (("walnut",),))
    assert not says("(2026-03-02) walnuts", (("2",), ("nut",)))
    file = tmp_path / "memory.db-wal"
    file.write_bytes(b"\x00\xff the Kayak is blue \x00")
    assert leaks(file, (("kayak", "blue"),))
    assert not leaks(file, (("kayak", "red"),))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('design = "lobug"', 'design = "hal"', "design must be one of"),
        ("day = 1", "day = 31", "day must be a number"),
        ('time = "08:00"', 'time = "8 o\'clock"', "time must be a time"),
        ('ends = ["town"]', 'ends = ["village"]', "village"),
        ('refused = ["gift"]', 'refused = ["party"]', "party"),
        ('find = [["kayak"]]', "find = []", "needs find"),
        ('role = "noise"', 'role = "robot"', "role must be one of"),
        ('"kill_during"]', '"fire"]', "events_before must be one of"),
        ('timezone = "Europe/Madrid"', 'timezone = "Europe/Atlantis"', "no time zone"),
        ("sources = [4]", "sources = [40]", "not numbers of turns"),
        ("small_talk = true", "smalltalk = true", "unknown field"),
        ('id = "gift"\n', "", "gift|id"),
    ],
)
def test_a_story_that_is_not_in_the_format_is_a_clear_error(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = _write(tmp_path)
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(StoryInvalid, match=problem):
        load_story(path)


def test_the_built_in_stories_are_in_the_format() -> None:
    stories = load_stories()
    assert {story.design for story in stories} <= set(DESIGNS)
    for story in stories:
        assert all(story.facts[id].find for id in stated(story, 30))
    with pytest.raises(StoryInvalid, match="no story named"):
        load_stories(names=["none of them"])


def test_the_command_prints_json_and_a_table(tmp_path: Path) -> None:
    path = _write(tmp_path, body=FACTS + DAY_ONE)
    arguments = ["bench", "story", "--stories", str(tmp_path), "--model", "none", "--embedder", "none", "--days", "1", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    [data] = json.loads(result.stdout)
    assert (data["story"], data["day"], data["present"], data["meets_targets"]) == ("lobug", 1, 100.0, True)
    lines = table([_day(path)]).splitlines()
    assert lines[0].split()[:3] == ["story", "model", "day"]
    assert lines[1].endswith(("met", "missed"))
