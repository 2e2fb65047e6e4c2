"""Scores of a story's days, and their table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast_bench.story.player import Day, ended, stated
from holdfast_bench.story.process import ModelMode
from holdfast_bench.story.script import Fact, Story
from holdfast_bench.story.words import coverage, first_saying, plain, says, sentences

MIN_PRESENT: Final = 90.0
"""Target without a model: minimum percentage of the durable facts that are shown."""
MAX_STALE: Final = 5.0
"""Target without a model: maximum percentage of the shown facts that are no longer true."""
_MIN_SMALL_TALK: Final = 0.75
"""A sentence counts as small talk if a turn of small talk contains at least this share (0 to 1) of its terms."""

_ENDS: Final = tuple(
    (words,)
    for words in (
        *("no longer", "anymore", "any more", "used to", "formerly", "until", "stopped", "quit", "cancel"),
        *("ya no", "dejo de", "deje de", "solia", "hasta hace"),
        *("since changed to", "desde entonces cambio"),
    )
)
"""Phrases which show that a line reports the end of something, in the format of ``Find``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayScore:
    """The scores of one day of a story. Each list names the errors of one type."""

    story: str
    design: str
    model: ModelMode
    day: int
    durable: int
    """Number of durable facts that were stated and are still true."""
    missing: Sequence[str]
    explicit: int
    missing_explicit: Sequence[str]
    stale: Sequence[str]
    """Facts that are shown although they are no longer true, each with the line that shows it."""
    wrongly_retired: Sequence[str]
    small_talk: Sequence[str]
    refusals: Sequence[str]
    over: Sequence[str]
    kills: int
    restarts: int

    @property
    def present(self) -> float:
        """Percentage of the durable facts that are shown."""
        return _percent(self.durable - len(self.missing), self.durable)

    @property
    def present_explicit(self) -> float:
        """Of the durable facts that a person explicitly asked to remember, the percentage that is shown."""
        return _percent(self.explicit - len(self.missing_explicit), self.explicit)

    @property
    def stale_share(self) -> float:
        """Percentage of the shown facts that are no longer true."""
        shown = self.durable - len(self.missing) + len(self.stale)
        return 100 * len(self.stale) / shown if shown else 0.0

    @property
    def meets_targets(self) -> bool:
        """True if the day meets the targets for a design without a model.

        At least 90% of the durable facts are shown, at most 5% of the shown facts are outdated, and there are no other
        errors.
        """
        clean = not (self.wrongly_retired or self.small_talk or self.refusals or self.over)
        return clean and self.present >= MIN_PRESENT and self.stale_share <= MAX_STALE

    def as_data(self) -> dict[str, Any]:
        """Return the scores as JSON data."""
        return {
            "story": self.story,
            "design": self.design,
            "model": self.model,
            "day": self.day,
            "durable": self.durable,
            "present": round(self.present, 1),
            "present_explicit": round(self.present_explicit, 1),
            "stale": round(self.stale_share, 1),
            "wrongly_retired": len(self.wrongly_retired),
            "small_talk": len(self.small_talk),
            "refusals": len(self.refusals),
            "over": list(self.over),
            "kills": self.kills,
            "restarts": self.restarts,
            "meets_targets": self.meets_targets,
            "details": {
                name: list(getattr(self, name))
                for name in ("missing", "stale", "wrongly_retired", "small_talk", "refusals", "over")
            },
        }


def score(story: Story, day: Day, *, model: ModelMode) -> DayScore:
    """Compare the texts that a design showed and stored at the end of a day with the facts that are true then."""
    over = ended(story, day.day)
    told = [story.facts[id] for id in stated(story, day.day)]
    durable = [fact for fact in told if fact.durable and fact.id not in over]
    asked = day.observation.asked
    missing = [fact for fact in durable if first_saying(asked[fact.id], fact.find) is None]
    stale = [(fact, first_saying(_as_present(story, fact, asked[fact.id]), fact.find)) for fact in told if fact.id in over]
    return DayScore(
        story=story.name,
        design=story.design,
        model=model,
        day=day.day,
        durable=len(durable),
        missing=[_named(fact) for fact in missing],
        explicit=sum(fact.explicit for fact in durable),
        missing_explicit=[_named(fact) for fact in missing if fact.explicit],
        stale=[f"{_named(fact)} | {line.strip()}" for fact, line in stale if line is not None],
        wrongly_retired=[_named(fact) for fact in _wrongly_retired(story, day, over)],
        small_talk=list(_small_talk(story, day)),
        refusals=[f"{id}: {story.secrets[id].says} | {file}" for id, file in day.leaked.items()],
        over=day.observation.over,
        kills=day.kills,
        restarts=day.restarts,
    )


def _as_present(story: Story, fact: Fact, lines: Iterable[str]) -> list[str]:
    """Return the lines that state a past fact as if it were still true.

    A line that says that the fact has ended, or that states its replacement, is left out.
    """
    turns = [turn for session in story.sessions for turn in session.turns if fact.id in turn.ends]
    newer = [story.facts[id].find for turn in turns for id in turn.facts if id != fact.id]
    return [line for line in lines if not says(line, _ENDS) and not any(says(line, find) for find in newer)]


def _named(fact: Fact) -> str:
    return f"{fact.id}: {fact.says}"


def _percent(part: int, total: int) -> float:
    return 100 * part / total if total else 100.0


def _wrongly_retired(story: Story, day: Day, over: set[str]) -> Iterable[Fact]:
    """Yield the facts that the design has retired although they are still true.

    Only facts are checked for which a later turn looked like a change without being one (``look_alike``).
    """
    kept = {
        id
        for session in story.sessions
        if session.day <= day.day
        for turn in session.turns
        if turn.look_alike
        for id in turn.keeps
    }
    for id in sorted(kept - over):
        find = story.facts[id].find
        if first_saying(day.observation.retired, find) is not None and first_saying(day.observation.live, find) is None:
            yield story.facts[id]


def _small_talk(story: Story, day: Day) -> Iterable[str]:
    """Yield the sentences in the design's documents that come only from small talk."""
    turns = [turn for session in story.sessions if session.day <= day.day for turn in session.turns]
    idle = [turn.text for turn in turns if turn.small_talk or turn.role == "noise"]
    others = [turn.text for turn in turns if not turn.small_talk and turn.role != "noise"]
    for sentence in dict.fromkeys(part for text in day.observation.documents for part in sentences(text)):
        best = max(((coverage(sentence, text), text) for text in idle), default=(0.0, ""))
        if best[0] < _MIN_SMALL_TALK or any(says(sentence, fact.find) for fact in story.facts.values()):
            continue
        if max((coverage(sentence, text) for text in others), default=0.0) < best[0] and plain(sentence).strip():
            yield sentence


def table(scores: Sequence[DayScore]) -> str:
    """Return the scores as a table, one line per story, model and day."""
    head = ("story", "model", "day", "facts", "present", "asked for", "stale", "retired", "talk", "refused", "over", "targets")
    rows = [
        (
            each.story,
            each.model,
            f"{each.day}",
            f"{each.durable}",
            f"{each.present:.1f}",
            f"{each.present_explicit:.1f}",
            f"{each.stale_share:.1f}",
            f"{len(each.wrongly_retired)}",
            f"{len(each.small_talk)}",
            f"{len(each.refusals)}",
            f"{len(each.over)}",
            "met" if each.meets_targets else "missed",
        )
        for each in scores
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    )


def details(scores: Sequence[DayScore]) -> str:
    """Return all errors, one per line."""
    lines = []
    for each in scores:
        lines.append(f"{each.story}, model {each.model}, day {each.day}")
        for name in ("missing", "stale", "wrongly_retired", "small_talk", "refusals", "over"):
            lines += [f"  {name.replace('_', ' ')}: {text}" for text in getattr(each, name)]
    return "\n".join(lines)
