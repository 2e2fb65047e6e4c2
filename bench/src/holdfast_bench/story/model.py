"""The scripted chat model of a story. For the turns quoted in a prompt, it returns the answers that the story defines.

The model recognizes a prompt by the schema of the requested answer. It knows the story but uses only the prompt: an
answer never contains a fact whose turns are not quoted in the prompt.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.errors import ModelUnavailable
from holdfast.testing import RecordedCall, ScriptedChat
from holdfast.text.terms import query_terms
from holdfast_bench.story.script import ModelFact, Session, Story
from holdfast_bench.story.words import plain, says

_BLOCK = r"<{0}>\n?(.*?)\n?</{0}>"
_NUMBERED = re.compile(r"(\d+) \| (.*)")
_MIN_CHARACTERS = 8
"""Minimum length of a turn that is searched in a prompt. Shorter turns, such as "ok", occur in every prompt."""
_KEY = re.compile(r"([\w ]{2,24}): (.+)")


class StoryModel:
    """Answers the prompts of a story. While ``down`` is True, every call raises ``ModelUnavailable``."""

    def __init__(self, story: Story, now: Callable[[], datetime]) -> None:
        self.down = False
        self._story = story
        self._now = now
        self._turns = [
            (plain(turn.text), session, number)
            for session in story.sessions
            for number, turn in enumerate(session.turns, 1)
            if len(turn.text) >= _MIN_CHARACTERS
        ]
        self.chat = ScriptedChat(respond=self._respond, name="story")

    def _respond(self, call: RecordedCall) -> str | ModelUnavailable:
        if self.down:
            return ModelUnavailable("The story's model is down.")
        wanted = (call.schema or {}).get("properties", {})
        text = html.unescape(call.turns[-1].text if len(call.turns) < 4 else call.text)
        answers: Mapping[str, Callable[[str, Mapping[str, Any]], Any]] = {
            "items": self._items,
            "paragraph": self._paragraph,
            "summary": self._summary,
            "document": self._document,
            "action": self._compaction,
            "topic": self._topic,
            "name": self._topic_name,
            "subtopics": self._subtopics,
        }
        answer: Any = next((make(text, wanted) for name, make in answers.items() if name in wanted), {})
        return json.dumps(answer, ensure_ascii=False)

    def _quoted(self, transcript: str) -> Iterator[tuple[int, Session, int]]:
        """Find the story's turns that are quoted in a transcript. Turns of future sessions are ignored.

        Yield the line number in the transcript, the session, and the turn number in the session. Both numbers start at 1.
        """
        for place, line in enumerate(transcript.splitlines(), 1):
            within = plain(line)
            for text, session, number in self._turns:
                if text in within and session.at <= self._now():
                    yield place, session, number

    def _items(self, text: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
        fields = wanted["items"]["items"]["properties"]
        name = next(each for each in ("value", "fact", "conclusion", "text") if each in fields)
        known = dict(_numbered(_block(text, "known")))
        lines: dict[tuple[int, int], int] = {}
        for place, session, number in self._quoted(_block(text, "conversation")):
            lines.setdefault((session.number, number), place)
        made = []
        for session in self._story.sessions:
            for fact in session.model.facts:
                sources = [lines[session.number, n] for n in fact.sources if (session.number, n) in lines]
                if sources and (session.number, max(fact.sources)) in lines:
                    made.append({**_item(name, fact), "messages": sources, "replaces": self._replaced(fact, known)})
        return {"items": made}

    def _replaced(self, fact: ModelFact, known: Mapping[int, str]) -> list[int]:
        finds = [self._story.facts[id].find for id in fact.replaces]
        return [number for number, line in known.items() if any(says(line, find) for find in finds)]

    def _sessions(self, text: str) -> list[Session]:
        found = {session.number: session for _, session, _ in self._quoted(text)}
        return [found[number] for number in sorted(found)]

    def _paragraph(self, text: str, _: Mapping[str, Any]) -> dict[str, Any]:
        sessions = self._sessions(_block(text, "transcript"))
        parts = [each.model.summary or " ".join(fact.text for fact in each.model.facts) for each in sessions]
        paragraph = " ".join(part for part in parts if part)
        return {"paragraph": paragraph or None, "importance": 5 if paragraph else 0, "tags": []}

    def _summary(self, text: str, _: Mapping[str, Any]) -> dict[str, Any]:
        notes = _block(text, "notes")
        if notes:
            return {"summary": _subject(notes)}
        sessions = self._sessions(_block(text, "transcript"))
        parts = [each.model.summary or " ".join(fact.text for fact in each.model.facts) for each in sessions]
        return {"summary": " ".join(part for part in parts if part) or "Nothing of lasting interest was said."}

    def _document(self, text: str, _: Mapping[str, Any]) -> dict[str, Any]:
        """Return a new base document: the newest facts first, without facts that are no longer true."""
        old = [line.lstrip("-* ") for line in _block(text, "document").splitlines() if line.lstrip().startswith(("-", "*"))]
        facts = [line.lstrip("-* ") for line in _block(text, "facts").splitlines() if len(line) > 1]
        kept = [line for line in dict.fromkeys([*reversed(facts), *old]) if not self._has_ended(line)]
        limit = re.search(r"(\d+) (?:words|palabras)", text.rpartition("</facts>")[2])
        words = int(limit[1]) - 10 if limit else 350
        lines = ["## User Profile"]
        for line in kept:
            words -= len(line.split()) + 1
            if words > 0:
                lines.append(f"- {line}")
        return {"document": "\n".join(lines)}

    def _has_ended(self, line: str) -> bool:
        replaced = [
            self._story.facts[id].find
            for session in self._story.sessions
            if session.at <= self._now()
            for fact in session.model.facts
            for id in fact.replaces
        ]
        return any(says(line, find) for find in replaced)

    def _compaction(self, text: str, _: Mapping[str, Any]) -> dict[str, Any]:
        """Choose the memory to delete: the first memory without a durable fact that is still true.

        If each memory contains such a fact, choose the first memory.
        """
        lasting = [fact.find for fact in self._story.facts.values() if fact.durable]
        lines = _numbered(_block(text, "memories"))
        empty = [number for number, line in lines if self._has_ended(line) or not any(says(line, find) for find in lasting)]
        return {"action": "delete", "target": (empty or [1])[0], "text": None, "reason": "least useful"}

    def _topic(self, text: str, _: Mapping[str, Any]) -> dict[str, Any]:
        """Return the first topic that shares a word with the message."""
        message = _terms(_block(text, "message"))
        names = [line.lstrip("- ").partition(":")[0].strip() for line in _block(text, "topics").splitlines()]
        return {"topic": next((name for name in names if name and not _terms(name).isdisjoint(message)), None)}

    def _topic_name(self, text: str, _: Mapping[str, Any]) -> dict[str, Any]:
        notes = _terms(_block(text, "notes"))
        existing = [line.lstrip("- ") for line in _block(text, "existing").splitlines()]
        known = next((name for name in existing if len(name) > 1 and not _terms(name).isdisjoint(notes)), None)
        return {"name": known or _subject(_block(text, "notes"))}

    def _subtopics(self, text: str, _: Mapping[str, Any]) -> dict[str, Any]:
        lines = _numbered(_block(text, "lines"))
        half = len(lines) // 2
        parts = [lines[:half], lines[half:]]
        return {
            "subtopics": [
                {"name": _subject("\n".join(line for _, line in part)), "lines": [number for number, _ in part]}
                for part in parts
                if part
            ]
        }


def _item(name: str, fact: ModelFact) -> dict[str, Any]:
    """Return a fact as the JSON object that the prompt requests. ``name`` is the name of the field for the fact's text."""
    if name == "value":
        pair = _KEY.fullmatch(fact.text)
        return {"key": pair[1].strip(), "value": pair[2]} if pair else {"key": "dato", "value": fact.text}
    more = {"fact": {"type": "personal"}, "text": {"kind": "fact"}}.get(name, {})
    return {name: fact.text, **more}


def _block(text: str, name: str) -> str:
    found = re.search(_BLOCK.format(name), text, re.DOTALL)
    return found[1] if found else ""


def _numbered(text: str) -> list[tuple[int, str]]:
    found = [_NUMBERED.match(line.strip()) for line in text.splitlines()]
    return [(int(line[1]), line[2]) for line in found if line]


def _terms(text: str) -> set[str]:
    return {term for terms in query_terms(text, ("en", "es")) for term in terms}


def _subject(notes: str) -> str:
    """Return the subject of some notes: their most frequent long word."""
    words: Sequence[str] = [word for word in plain(notes).split() if len(word) > 4 and word not in ("usuario", "usuaria")]
    return Counter(words).most_common(1)[0][0] if words else "notes"
