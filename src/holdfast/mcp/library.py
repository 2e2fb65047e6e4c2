"""MCP resources: topic pages and the user's profile."""

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from holdfast.mcp.caller import McpCaller
from holdfast.mcp.sdk import MCPError, types
from holdfast.text.clean import escape_line
from holdfast.topic_files.topic_pages import TopicPage
from holdfast.types import Memory

TOPICS = "holdfast://topics"
PROFILE = "holdfast://profile"
_MAX_SCANNED = 5_000
"""Maximum number of memories that are read to find those for the profile."""
_MAX_TOPICS = 100
"""Maximum number of topic pages listed as separate resources. One more resource, the list of topics, names all topics."""
_MAX_FACTS = 50
"""Maximum number of facts in the user's profile. Facts are shown only if there are no pinned or profile memories."""


class ResourceReader:
    """Lists and reads the resources that one caller may read."""

    def __init__(self, caller: McpCaller) -> None:
        self._caller = caller
        self._texts = caller.texts["resources"]

    def resources(self) -> list[types.Resource]:
        """List the resources: the list of topics, the profile, and the most recently changed topic pages."""
        own = [
            self._entry(TOPICS, "topics", "application/json"),
            self._entry(PROFILE, "profile", "text/markdown"),
        ]
        return own + [
            types.Resource(
                uri=topic_uri(page.topic),
                name=page.topic,
                title=page.title,
                description=self._texts["topic_about"],
                mime_type="text/markdown",
            )
            for page in self._pages()[:_MAX_TOPICS]
        ]

    def _entry(self, uri: str, which: str, mime_type: str) -> types.Resource:
        return types.Resource(
            uri=uri, name=which, title=self._texts[which], description=self._texts[f"{which}_about"], mime_type=mime_type
        )

    def templates(self) -> list[types.ResourceTemplate]:
        """Return the URI template of a topic page."""
        return [
            types.ResourceTemplate(
                uri_template=f"{TOPICS}/{{topic}}",
                name="topic",
                title=self._texts["topic"],
                description=self._texts["topic_about"],
                mime_type="text/markdown",
            )
        ]

    def read(self, uri: str) -> types.ReadResourceResult:
        """Return the contents of a resource. Raise ``MCPError`` if the URI is unknown."""
        address = uri.rstrip("/")
        if address == TOPICS:
            listed = [_summary(page) for page in self._pages()]
            return _contents(uri, json.dumps(listed, ensure_ascii=False, indent=2), "application/json")
        if address == PROFILE:
            return _contents(uri, self._profile(), "text/markdown")
        topic = unquote(address.removeprefix(f"{TOPICS}/")) if address.startswith(f"{TOPICS}/") else ""
        page = next((each for each in self._pages() if each.topic == topic), None)
        if page is None:
            message = self._caller.texts["problems"]["no_resource"].format(uri=escape_line(uri))
            raise MCPError(types.INVALID_PARAMS, message, {"uri": uri})
        return _contents(uri, page.markdown, "text/markdown")

    def topic_names(self, prefix: str) -> list[str]:
        """Return the topics that start with a prefix, for auto-completion."""
        return [page.topic for page in self._pages() if page.topic.startswith(prefix.casefold())][:_MAX_TOPICS]

    def _pages(self) -> list[TopicPage]:
        memory = self._caller.memory
        return memory.topics.list(**self._caller.parts) if memory.preset.topics else []

    def _profile(self) -> str:
        """Return the pinned and profile memories as Markdown. If there are no such memories, return the newest facts."""
        memory, parts = self._caller.memory, self._caller.parts
        listed = memory.memories(limit=_MAX_SCANNED, **parts)
        chosen = [each for each in listed if each.pinned or each.metadata.get("category") == "user_profile"]
        if not chosen:
            chosen = [each for each in listed if each.kind == memory.preset.default_kind][:_MAX_FACTS]
        lines = [f"- {escape_line(str(each))}" for each in _oldest_first(chosen)] or [self._texts["no_profile"]]
        return "\n".join([f"# {self._texts['profile']}", "", *lines, ""])


def topic_uri(topic: str) -> str:
    """Return the URI of a topic page."""
    return f"{TOPICS}/{quote(topic, safe='')}"


def _summary(page: TopicPage) -> dict[str, Any]:
    return {
        "topic": page.topic,
        "title": page.title,
        "lines": len(page.lines),
        "updated_at": page.updated_at.isoformat(),
        "uri": topic_uri(page.topic),
    }


def _oldest_first(memories: Iterable[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda each: (each.valid_from, each.id))


def _contents(uri: str, text: str, mime_type: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=mime_type)])
