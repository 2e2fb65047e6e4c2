"""Routes for topic pages: list, retrieve and edit."""

from typing import Annotated

from fastapi import APIRouter, Path

from holdfast.server.api import convert, requests, responses
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Calling, Whose, needs
from holdfast.server.routes.idempotency import Route
from holdfast.topic_files import TopicPage

router = APIRouter(prefix="/v1/topics", tags=["topics"], route_class=Route)
_Topic = Annotated[Name, Path(examples=["garden"], description="The name of the topic.")]


@router.get("", operation_id="list_topics", responses=problems(), openapi_extra=needs("read"))
def topics(caller: Calling, whose: Whose) -> responses.Topics:
    """List topics.

    Returns the topics of a scope. The most recently changed topics come first.
    """
    parts = caller.may("read", **whose.parts)
    items = [
        responses.TopicLine(topic=page.topic, title=page.title, lines=len(page.lines), updated_at=page.updated_at)
        for page in caller.memory.topics.list(**parts)
    ]
    return responses.Topics(items=items)


@router.get("/{topic:path}", operation_id="get_topic", responses=problems(), openapi_extra=needs("read"))
def topic(topic: _Topic, caller: Calling, whose: Whose) -> responses.TopicPage:
    """Retrieve a topic page.

    Returns the page as Markdown, with the memories on it.
    """
    parts = caller.may("read", **whose.parts)
    return _shown(caller.memory.topics.page(topic, **parts))


@router.put("/{topic:path}", operation_id="edit_topic", responses=problems(409), openapi_extra=needs("write"))
def edit(topic: _Topic, body: requests.TopicEdit, caller: Calling) -> responses.TopicPage:
    """Update a topic page.

    Changed lines become revisions, new lines become memories, and the memories of removed lines are forgotten. An edit
    that removes many lines fails with 409 `conflict` unless `confirm` is true.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    page = caller.memory.topics.edit(topic, body.markdown, base=body.base, confirm=body.confirm, **parts)
    return _shown(page)


def _shown(page: TopicPage) -> responses.TopicPage:
    lines = [convert.memory(each) for each in page.lines]
    return responses.TopicPage(topic=page.topic, title=page.title, markdown=page.markdown, lines=lines)
