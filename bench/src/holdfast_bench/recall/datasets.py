"""Conversations with questions whose evidence is known, from the house's own form or from the originals'.

The house's form is a list of ``{id, sessions: [{id, at, turns: [{id, speaker, text}]}], questions: [{id, category, text,
evidence: [turn id]}]}``, or one such object whose ``haystacks`` give each question sessions of its own. LoCoMo, LongMemEval
and BEAM are read as their authors publish them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from holdfast.errors import InvalidInput

_LONG_AGO: Final = datetime(2024, 1, 1, tzinfo=UTC)
_DATES: Final = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%B-%d-%Y", "%Y-%m-%d", "%B %d, %Y")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """A conversation at one time."""

    id: str
    at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and the turns or sessions that answer it."""

    id: str
    category: str
    text: str
    evidence: tuple[str, ...]
    sessions: tuple[str, ...] = ()
    """Where whole sessions are the evidence."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What one store or user has said over time, and what is asked about it."""

    id: str
    sittings: tuple[Sitting, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A benchmark. ``by_session`` says that evidence is scored by session."""

    name: str
    talks: tuple[Talk, ...]
    by_session: bool = False


def load(path: Path, *, haystacks: bool = False) -> Dataset:
    """Read a data set; with ``haystacks``, each question has the sessions that belong to it alone."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as JSON: {error}") from error
    try:
        return _dataset(path.stem, data, haystacks=haystacks)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{path} is in none of the forms that are known: {type(error).__name__} {error}.") from error


def _dataset(name: str, data: Any, *, haystacks: bool) -> Dataset:
    if isinstance(data, Mapping) and "haystacks" in data:
        talks = _haystacks(data) if haystacks else (_talk({"id": name, **data}),)
        return Dataset(name=name, talks=tuple(talks), by_session=True)
    if haystacks:
        raise InvalidInput(f"{name} has no haystacks; leave --haystacks out.")
    first = data[0]
    if "sessions" in first:
        return Dataset(name=name, talks=tuple(_talk(each) for each in data))
    if "conversation" in first and "qa" in first:
        return Dataset(name=name, talks=tuple(_locomo(each) for each in data))
    if "haystack_sessions" in first:
        return Dataset(name=name, talks=tuple(_longmemeval(each) for each in data), by_session=True)
    return Dataset(name=name, talks=tuple(_beam(number, each) for number, each in enumerate(data)))


# --- the house's form ---------------------------------------------------------------------------------------


def _talk(data: Mapping[str, Any]) -> Talk:
    sittings = tuple(_sitting(each) for each in data["sessions"])
    return Talk(id=str(data["id"]), sittings=sittings, questions=tuple(_asked(each) for each in data["questions"]))


def _haystacks(data: Mapping[str, Any]) -> Iterator[Talk]:
    known = {str(each["id"]): _sitting(each) for each in data["sessions"]}
    for stack in data["haystacks"]:
        sittings = sorted((known[str(id)] for id in stack["session_ids"]), key=lambda sitting: sitting.at)
        questions = (
            [each for each in data["questions"] if each["id"] in stack["questions"]]
            if stack["questions"] and isinstance(stack["questions"][0], str)
            else stack["questions"]
        )
        yield Talk(id=str(stack["id"]), sittings=tuple(sittings), questions=tuple(_asked(each) for each in questions))


def _sitting(data: Mapping[str, Any]) -> Sitting:
    turns = tuple(Turn(id=str(turn["id"]), speaker=str(turn["speaker"]), text=str(turn["text"])) for turn in data["turns"])
    return Sitting(id=str(data["id"]), at=_moment(data["at"]), turns=turns)


def _asked(data: Mapping[str, Any]) -> Asked:
    return Asked(
        id=str(data["id"]), category=str(data.get("category", "")), text=str(data["text"]),
        evidence=tuple(map(str, data.get("evidence") or ())), sessions=tuple(map(str, data.get("evidence_sessions") or ())),
        at=_moment(data["asked_at"]) if data.get("asked_at") else None,
    )  # fmt: skip


# --- the originals' forms -----------------------------------------------------------------------------------

_LOCOMO_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def _locomo(data: Mapping[str, Any]) -> Talk:
    said = data["conversation"]
    numbers = sorted(int(match[1]) for name in said if (match := re.fullmatch(r"session_(\d+)", name)))
    sittings = tuple(
        Sitting(
            id=f"S{number}", at=_moment(said[f"session_{number}_date_time"]),
            turns=tuple(
                Turn(id=turn["dia_id"], speaker=turn["speaker"], text=_with_picture(turn)) for turn in said[f"session_{number}"]
            ),
        )
        for number in numbers
    )  # fmt: skip
    questions = tuple(
        Asked(
            id=f"{data['sample_id']}:{number}", category=_LOCOMO_CATEGORIES.get(each.get("category"), ""), text=each["question"],
            evidence=tuple(id for part in each.get("evidence", ()) for id in re.findall(r"D\d+:\d+", str(part))),
        )
        for number, each in enumerate(data["qa"])
    )  # fmt: skip
    return Talk(id=str(data["sample_id"]), sittings=sittings, questions=questions)


def _with_picture(turn: Mapping[str, Any]) -> str:
    """Return what was said; a picture that was shown speaks by its caption."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shows {caption}]" if caption else str(turn["text"])


def _longmemeval(data: Mapping[str, Any]) -> Talk:
    stacked = zip(data["haystack_session_ids"], data["haystack_dates"], data["haystack_sessions"], strict=True)
    sittings = [
        Sitting(
            id=str(id), at=_moment(at),
            turns=tuple(Turn(id=f"{id}#{number}", speaker=turn["role"], text=turn["content"]) for number, turn in enumerate(turns)),
        )
        for id, at, turns in stacked
    ]  # fmt: skip
    asked = Asked(
        id=str(data["question_id"]), category=str(data.get("question_type", "")), text=data["question"], evidence=(),
        sessions=tuple(map(str, data.get("answer_session_ids", ()))), at=_moment(data["question_date"]),
    )  # fmt: skip
    return Talk(id=asked.id, sittings=tuple(sorted(sittings, key=lambda sitting: sitting.at)), questions=(asked,))


def _beam(number: int, data: Mapping[str, Any]) -> Talk:
    sittings, last = [], _LONG_AGO
    for place, batch in enumerate(data["chat"], 1):
        turns = [turn for part in (batch["turns"] if isinstance(batch, Mapping) else batch) for turn in _flat(part)]
        anchor = next((turn["time_anchor"] for turn in turns if turn.get("time_anchor")), None)
        last = _moment(anchor) if anchor else last
        sittings.append(
            Sitting(
                id=f"B{place}", at=last,
                turns=tuple(Turn(id=str(turn["id"]), speaker=turn["role"], text=turn["content"]) for turn in turns),
            )
        )  # fmt: skip
    probing = data["probing_questions"]
    probing = json.loads(probing) if isinstance(probing, str) else probing
    questions = tuple(
        Asked(
            id=f"{data.get('conversation_id', number)}:{category}:{place}", category=category, text=each["question"],
            evidence=tuple(str(id) for id in _ids(each.get("source_chat_ids"))),
        )
        for category, several in probing.items()
        for place, each in enumerate(several)
    )  # fmt: skip
    return Talk(id=str(data.get("conversation_id", number)), sittings=tuple(sittings), questions=questions)


def _flat(part: Any) -> list[Any]:
    return list(part) if isinstance(part, Sequence) and not isinstance(part, str) else [part]


def _ids(found: Any) -> Iterator[Any]:
    """Yield the turn ids of nested lists and tables."""
    if isinstance(found, Mapping):
        for value in found.values():
            yield from _ids(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from _ids(value)
    elif found is not None:
        yield found


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = _parsed(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _parsed(text: str) -> datetime:
    for form in _DATES:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise InvalidInput(f"{text!r} is no date that is known.")
