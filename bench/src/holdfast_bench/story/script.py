"""Loads and checks stories. A story is a month of conversations with one design, written as a TOML file.

The format: ``design``, ``title`` and ``language``; ``[[person]]`` with ``id`` and ``timezone``; ``[[session]]`` with
``day``, ``time``, ``person``, ``app`` and ``events_before``; ``[[session.turn]]``; ``[session.model]`` with the answers
of a scripted model; ``[[fact]]`` and ``[[secret]]`` with the words that identify them.
"""

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from holdfast.errors import InvalidInput

FOLDER: Final = Path(__file__).parent / "stories"
DESIGNS: Final = ("rumi", "lobug", "rostro", "reachy", "apps")
ROLES: Final = ("user", "assistant", "noise", "tool", "web")
EVENTS: Final = ("restart", "kill", "kill_during", "model_down", "model_up")
DAYS: Final = 30
FIRST_DAY: Final = date(2026, 3, 1)
NOBODY: Final = "user"
"""Id of the only person in a story file that lists no persons."""

Find = tuple[tuple[str, ...], ...]
"""Alternative wordings. Each is a tuple of words that must all occur in one text."""


class StoryInvalid(InvalidInput):
    """A story file is not in the documented format."""

    code = "story_invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Someone who talks with the assistant."""

    id: str = NOBODY
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message.

    The role ``noise`` means sound that was not addressed to the assistant. The role ``web`` means the text of a web page.
    """

    role: str
    text: str
    facts: tuple[str, ...] = ()
    """Ids of the facts that the turn states."""
    ends: tuple[str, ...] = ()
    """Ids of the facts that are no longer true after the turn."""
    refused: tuple[str, ...] = ()
    """Ids of the secrets in the turn. The user asked not to keep them."""
    small_talk: bool = False
    look_alike: bool = False
    """True if the turn looks as if it ended a fact, but does not. ``keeps`` lists the ids of the facts that stay true."""
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFact:
    """A fact that the scripted model extracts. ``sources`` contains turn numbers, from 1. ``replaces`` is the id of a fact."""

    text: str
    sources: tuple[int, ...] = ()
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswers:
    """The scripted model's answers for a session."""

    facts: tuple[ModelFact, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation, and the events before it. If ``kill_during`` is set, the process is killed during the session."""

    number: int
    day: int
    at: datetime
    person: str
    app: str | None
    events_before: tuple[str, ...]
    turns: tuple[Turn, ...]
    model: ModelAnswers


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement about a person. If it is ``durable``, the design should still know it at the end.

    ``explicit`` means that the user asked to remember it.
    """

    id: str
    says: str
    find: Find
    durable: bool = True
    explicit: bool = False
    ask: tuple[str, ...] = ()
    person: str = NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """Something that a person said but asked not to keep."""

    id: str
    says: str
    find: Find


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A month of conversations with one design, with the facts and secrets in them."""

    name: str
    path: Path
    design: str
    title: str
    language: str
    people: tuple[Person, ...]
    sessions: tuple[Session, ...]
    """Sessions in the order of time."""
    facts: Mapping[str, Fact]
    secrets: Mapping[str, Secret]
    days: tuple[int, ...] = field(default=(7, 14, 30))
    """Days after which the story is scored."""

    def day_end(self, day: int) -> datetime:
        """Return 23:45 of a day of the story, in the time zone of the first person. The day is scored at this time."""
        return _local(day, time(23, 45), self.people[0].timezone)


def load_stories(folder: Path = FOLDER, *, names: Collection[str] = ()) -> list[Story]:
    """Load the stories of a folder and its subfolders, or only those with the given names.

    Raise StoryInvalid if a file is not in the right format.
    """
    files = {file.stem: file for file in sorted(folder.rglob("*.toml"))}
    if not files:
        raise StoryInvalid(f"There are no stories in {folder}: no file there ends with .toml.")
    unknown = [name for name in names if name not in files]
    if unknown:
        raise StoryInvalid(f"There is no story named {unknown[0]!r}. The stories are: {', '.join(files)}.")
    return [load_story(file) for name, file in files.items() if not names or name in names]


def load_story(path: Path) -> Story:
    """Load one story, and check it."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StoryInvalid(f"The story {path.name} cannot be read: {error}.") from error
    reading = _Reading(path.name)
    reading.check(data, ("design", "title", "language", "person", "session", "fact", "secret", "days"), "the file")
    people = [reading.make(Person, entry, f"person {n}") for n, entry in enumerate(data.get("person", ()), 1)] or [Person()]
    facts = [reading.found(Fact, entry, f"fact {n}") for n, entry in enumerate(data.get("fact", ()), 1)]
    secrets = [reading.found(Secret, entry, f"secret {n}") for n, entry in enumerate(data.get("secret", ()), 1)]
    zones = {person.id: reading.zone(person) for person in people}
    parts = [reading.session(entry, n, zones) for n, entry in enumerate(data.get("session", ()), 1)]
    story = Story(
        name=path.stem,
        path=path,
        design=reading.one_of(data.get("design"), DESIGNS, "design"),
        title=str(data.get("title", path.stem)),
        language=str(data.get("language", "en")),
        people=tuple(people),
        sessions=tuple(sorted(parts, key=lambda session: session.at)),
        facts={fact.id: fact for fact in facts},
        secrets={secret.id: secret for secret in secrets},
        **({"days": tuple(data["days"])} if "days" in data else {}),
    )
    _check_references(story, reading)
    return story


def _check_references(story: Story, reading: "_Reading") -> None:
    """Check that every id that a session or a fact mentions exists."""
    if not story.sessions:
        raise reading.error("it has no [[session]]")
    people = {person.id for person in story.people}
    for fact in story.facts.values():
        reading.known([fact.person] if fact.person != NOBODY else [], people, f"fact {fact.id}: person")
    for session in story.sessions:
        place = f"session {session.number}"
        for number, turn in enumerate(session.turns, 1):
            where = f"{place}, turn {number}"
            for name in ("facts", "ends", "keeps"):
                reading.known(getattr(turn, name), story.facts, f"{where}: {name}")
            reading.known(turn.refused, story.secrets, f"{where}: refused")
        for made in session.model.facts:
            reading.known(made.replaces, story.facts, f"{place}, model: replaces")
            if any(not 1 <= number <= len(session.turns) for number in made.sources):
                raise reading.error(f"{place}, model: sources {made.sources} are not numbers of turns")


class _Reading:
    """Builds the parts of one story. Its error messages name the story's file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def error(self, problem: str) -> StoryInvalid:
        return StoryInvalid(f"The story {self._file} is not in the format: {problem}.")

    def check(self, entry: Any, names: Sequence[str], place: str) -> None:
        """Raise an error if an entry is not a table, or has an unknown field."""
        if not isinstance(entry, Mapping):
            raise self.error(f"{place} is not a table")
        for name in entry:
            if name not in names:
                raise self.error(f"{place} has an unknown field {name!r}; its fields are {', '.join(names)}")

    def make(self, kind: Callable[..., Any], entry: Any, place: str, **given: Any) -> Any:
        """Return an object of the class ``kind``, such as a person, from an entry of the story file. Lists become tuples."""
        self.check(entry, [each.name for each in fields(kind) if each.name not in given], place)  # type: ignore[arg-type]
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
        try:
            return kind(**values, **given)
        except TypeError as error:
            raise self.error(f"{place}: {str(error).partition(') ')[2] or error}") from error

    def found(self, kind: Callable[..., Any], entry: Any, place: str) -> Any:
        """Return the fact or the secret that an entry of the story file describes."""
        if not isinstance(entry, Mapping) or not isinstance(entry.get("find"), list) or not entry["find"]:
            raise self.error(f"{place} needs find, a list of lists of words")
        find = [[words] if isinstance(words, str) else words for words in entry["find"]]
        if not all(isinstance(words, list) and words and all(map(_is_word, words)) for words in find):
            raise self.error(f"{place}: find must be a list of lists of words")
        rest = {name: value for name, value in entry.items() if name != "find"}
        if isinstance(rest.get("ask"), str):
            rest["ask"] = [rest["ask"]]
        made = partial(kind, find=tuple(tuple(words) for words in find))
        self.check(rest, [each.name for each in fields(kind) if each.name != "find"], place)  # type: ignore[arg-type]
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in rest.items()}
        try:
            return made(**values)
        except TypeError as error:
            raise self.error(f"{place}: {str(error).partition(') ')[2] or error}") from error

    def session(self, entry: Any, number: int, zones: Mapping[str, str]) -> Session:
        """Return a session with its turns and the answers of the scripted model."""
        place = f"session {number}"
        self.check(entry, ("day", "time", "person", "app", "events_before", "turn", "model"), place)
        day, person = entry.get("day"), entry.get("person", next(iter(zones)))
        if not isinstance(day, int) or not 1 <= day <= DAYS:
            raise self.error(f"{place}: day must be a number from 1 to {DAYS}, not {day!r}")
        self.known([person], zones, f"{place}: person")
        events = tuple(entry.get("events_before", ()))
        for event in events:
            self.one_of(event, EVENTS, f"{place}: events_before")
        turns = [self.make(Turn, turn, f"{place}, turn {n}") for n, turn in enumerate(entry.get("turn", ()), 1)]
        for n, turn in enumerate(turns, 1):
            self.one_of(turn.role, ROLES, f"{place}, turn {n}: role")
            if not _is_word(turn.text):
                raise self.error(f"{place}, turn {n}: text is empty")
        if not turns:
            raise self.error(f"{place} has no [[session.turn]]")
        return Session(
            number=number,
            day=day,
            at=_local(day, self.time(entry.get("time"), place), zones[person]),
            person=person,
            app=entry.get("app"),
            events_before=events,
            turns=tuple(turns),
            model=self.answers(entry.get("model", {}), place),
        )

    def answers(self, entry: Any, place: str) -> ModelAnswers:
        """Return the answers of the scripted model to a session."""
        self.check(entry, ("facts", "summary"), f"{place}, model")
        made = []
        for given in entry.get("facts", ()):
            one = given.get("replaces", ()) if isinstance(given, Mapping) else ()
            listed = [one] if isinstance(one, str) else list(one)
            made.append(self.make(ModelFact, {**given, "replaces": [each for each in listed if each]}, f"{place}, model fact"))
        return ModelAnswers(facts=tuple(made), summary=str(entry.get("summary", "")))

    def time(self, given: Any, place: str) -> time:
        try:
            return given if isinstance(given, time) else time.fromisoformat(given)
        except (TypeError, ValueError):
            raise self.error(f'{place}: time must be a time such as "19:05", not {given!r}') from None

    def zone(self, person: Person) -> str:
        try:
            return ZoneInfo(person.timezone).key
        except (OSError, ValueError, LookupError) as error:
            raise self.error(f"person {person.id}: there is no time zone {person.timezone!r}") from error

    def one_of(self, value: Any, known: Sequence[str], place: str) -> str:
        if value not in known:
            raise self.error(f"{place} must be one of {', '.join(known)}, not {value!r}")
        return str(value)

    def known(self, ids: Sequence[str], known: Collection[str], place: str) -> None:
        """Raise an error if an id does not exist."""
        for id in ids:
            if id not in known:
                raise self.error(f"{place} mentions {id!r}, which the file does not define")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _local(day: int, at: time, zone: str) -> datetime:
    """Convert a day of the story and a local time in a time zone to a time in UTC."""
    return datetime.combine(FIRST_DAY + timedelta(days=day - 1), at, ZoneInfo(zone)).astimezone(UTC)
