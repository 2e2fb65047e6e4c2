"""Reads data sets: conversations with questions, and the turns or sessions that answer each question (the evidence).

Holdfast's format is a list of conversations: ``{id, sessions: [{id, at, turns: [{id, speaker, text}]}], questions:
[{id, category, text, evidence: [turn id]}]}``. A file can also contain a single object with ``sessions``, ``questions``
and ``haystacks``. The haystacks assign sessions to each question. LoCoMo, LongMemEval and BEAM are read in the format
in which their authors publish them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from holdfast.errors import InvalidInput

_DEFAULT_DATE: Final = datetime(2024, 1, 1, tzinfo=UTC)
_DATES: Final = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%B-%d-%Y", "%Y-%m-%d", "%B %d, %Y")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedSession:
    """One session of a conversation, with its date."""

    id: str
    at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and the turns or sessions that answer it."""

    id: str
    category: str
    text: str
    evidence: tuple[str, ...]
    sessions: tuple[str, ...] = ()
    """Ids of the sessions that answer the question; used if the data set gives evidence by session."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """All sessions of one user, and the questions about them."""

    id: str
    sessions: tuple[DatedSession, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A benchmark data set. ``by_session`` is True if evidence is scored by session instead of by turn."""

    name: str
    conversations: tuple[Conversation, ...]
    by_session: bool = False


def load(path: Path, *, haystacks: bool = False) -> Dataset:
    """Read a data set.

    With ``haystacks``, each question is asked only on the sessions that the file's ``haystacks`` assign to it.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as JSON: {error}") from error
    try:
        return _dataset(path.stem, data, haystacks=haystacks)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{path} is not in a known format: {type(error).__name__} {error}.") from error


def _dataset(name: str, data: Any, *, haystacks: bool) -> Dataset:
    if isinstance(data, Mapping) and "haystacks" in data:
        conversations = _haystacks(data) if haystacks else (_conversation({"id": name, **data}),)
        return Dataset(name=name, conversations=tuple(conversations), by_session=True)
    if haystacks:
        raise InvalidInput(f"{name} has no haystacks. Omit --haystacks.")
    first = data[0]
    if "sessions" in first:
        return Dataset(name=name, conversations=tuple(_conversation(each) for each in data))
    if "conversation" in first and "qa" in first:
        return Dataset(name=name, conversations=tuple(_locomo(each) for each in data))
    if "haystack_sessions" in first:
        return Dataset(name=name, conversations=tuple(_longmemeval(each) for each in data), by_session=True)
    return Dataset(name=name, conversations=tuple(_beam(number, each) for number, each in enumerate(data)))


# --- Holdfast's format ---------------------------------------------------------------------------------------


def _conversation(data: Mapping[str, Any]) -> Conversation:
    sessions = tuple(_session(each) for each in data["sessions"])
    return Conversation(id=str(data["id"]), sessions=sessions, questions=tuple(_question(each) for each in data["questions"]))


def _haystacks(data: Mapping[str, Any]) -> Iterator[Conversation]:
    known = {str(each["id"]): _session(each) for each in data["sessions"]}
    for stack in data["haystacks"]:
        sessions = sorted((known[str(id)] for id in stack["session_ids"]), key=lambda session: session.at)
        questions = (
            [each for each in data["questions"] if each["id"] in stack["questions"]]
            if stack["questions"] and isinstance(stack["questions"][0], str)
            else stack["questions"]
        )
        yield Conversation(id=str(stack["id"]), sessions=tuple(sessions), questions=tuple(_question(each) for each in questions))


def _session(data: Mapping[str, Any]) -> DatedSession:
    turns = tuple(Turn(id=str(turn["id"]), speaker=str(turn["speaker"]), text=str(turn["text"])) for turn in data["turns"])
    return DatedSession(id=str(data["id"]), at=_parse_date(data["at"]), turns=turns)


def _question(data: Mapping[str, Any]) -> Question:
    return Question(
        id=str(data["id"]),
        category=str(data.get("category", "")),
        text=str(data["text"]),
        evidence=tuple(map(str, data.get("evidence") or ())),
        sessions=tuple(map(str, data.get("evidence_sessions") or ())),
        at=_parse_date(data["asked_at"]) if data.get("asked_at") else None,
    )


# --- original formats -----------------------------------------------------------------------------------

_LOCOMO_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def _locomo(data: Mapping[str, Any]) -> Conversation:
    chat = data["conversation"]
    numbers = sorted(int(match[1]) for name in chat if (match := re.fullmatch(r"session_(\d+)", name)))
    sessions = tuple(
        DatedSession(
            id=f"S{number}",
            at=_parse_date(chat[f"session_{number}_date_time"]),
            turns=tuple(
                Turn(id=turn["dia_id"], speaker=turn["speaker"], text=_with_picture(turn)) for turn in chat[f"session_{number}"]
            ),
        )
        for number in numbers
    )
    questions = tuple(
        Question(
            id=f"{data['sample_id']}:{number}",
            category=_LOCOMO_CATEGORIES.get(each.get("category"), ""),
            text=each["question"],
            evidence=tuple(id for part in each.get("evidence", ()) for id in re.findall(r"D\d+:\d+", str(part))),
        )
        for number, each in enumerate(data["qa"])
    )
    return Conversation(id=str(data["sample_id"]), sessions=sessions, questions=questions)


def _with_picture(turn: Mapping[str, Any]) -> str:
    """Return the text of a turn, with the caption of a shared picture appended."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shows {caption}]" if caption else str(turn["text"])


def _longmemeval(data: Mapping[str, Any]) -> Conversation:
    stacked = zip(data["haystack_session_ids"], data["haystack_dates"], data["haystack_sessions"], strict=True)
    sessions = [
        DatedSession(
            id=str(id),
            at=_parse_date(at),
            turns=tuple(
                Turn(id=f"{id}#{number}", speaker=turn["role"], text=turn["content"]) for number, turn in enumerate(turns)
            ),
        )
        for id, at, turns in stacked
    ]
    question = Question(
        id=str(data["question_id"]),
        category=str(data.get("question_type", "")),
        text=data["question"],
        evidence=(),
        sessions=tuple(map(str, data.get("answer_session_ids", ()))),
        at=_parse_date(data["question_date"]),
    )
    return Conversation(id=question.id, sessions=tuple(sorted(sessions, key=lambda session: session.at)), questions=(question,))


def _beam(number: int, data: Mapping[str, Any]) -> Conversation:
    sessions, last = [], _DEFAULT_DATE
    for index, batch in enumerate(data["chat"], 1):
        turns = [turn for part in (batch["turns"] if isinstance(batch, Mapping) else batch) for turn in _flat(part)]
        anchor = next((turn["time_anchor"] for turn in turns if turn.get("time_anchor")), None)
        last = _parse_date(anchor) if anchor else last
        sessions.append(
            DatedSession(
                id=f"B{index}",
                at=last,
                turns=tuple(Turn(id=str(turn["id"]), speaker=turn["role"], text=turn["content"]) for turn in turns),
            )
        )
    probing = data["probing_questions"]
    probing = json.loads(probing) if isinstance(probing, str) else probing
    questions = tuple(
        Question(
            id=f"{data.get('conversation_id', number)}:{category}:{index}",
            category=category,
            text=each["question"],
            evidence=tuple(str(id) for id in _ids(each.get("source_chat_ids"))),
        )
        for category, group in probing.items()
        for index, each in enumerate(group)
    )
    return Conversation(id=str(data.get("conversation_id", number)), sessions=tuple(sessions), questions=questions)


def _flat(part: Any) -> list[Any]:
    return list(part) if isinstance(part, Sequence) and not isinstance(part, str) else [part]


def _ids(found: Any) -> Iterator[Any]:
    """Yield the turn ids that occur anywhere in nested lists and mappings."""
    if isinstance(found, Mapping):
        for value in found.values():
            yield from _ids(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from _ids(value)
    elif found is not None:
        yield found


def _parse_date(text: str) -> datetime:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        date = _parse_other_date(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _parse_other_date(text: str) -> datetime:
    for date_format in _DATES:
        try:
            return datetime.strptime(text.strip(), date_format).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise InvalidInput(f"{text!r} is not a date in a known format.")
