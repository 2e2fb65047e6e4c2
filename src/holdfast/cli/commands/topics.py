"""The ``topics`` commands: topic pages and the files that mirror them."""

from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, open_memory, with_flags
from holdfast.cli.output import count, emit, safe
from holdfast.services import services
from holdfast.topic_files import SyncReport, TopicPage

if TYPE_CHECKING:
    from holdfast.engine import Engine


def _print_topics(flags: Flags) -> None:
    with open_memory(flags) as memory:
        found = memory.topics.list(**flags.scope)
        shared = memory.topics.list(app=flags.app, agent=flags.agent) if flags.user is not None and not found else []
    rows = [_entry(page) for page in found]
    emit(
        rows,
        [f"{row['topic']:30}  {count(row['lines'], 'line'):>9}  {row['updated_at'][:10]}" for row in rows],
        as_json=flags.json,
    )
    if shared:
        say(f"No topics of {flags.user}. {count(len(shared), 'topic')} without a user: add --shared.", as_json=flags.json)
    elif not found:
        say("No topics.", as_json=flags.json)


def _entry(page: TopicPage) -> dict[str, Any]:
    return {"topic": page.topic, "title": page.title, "lines": len(page.lines), "updated_at": page.updated_at.isoformat()}


@click.group(invoke_without_command=True, epilog="Example: holdfast topics show cooking --user ana")
@with_flags(default_user=True)
def topics(flags: Flags) -> None:
    """List, show and edit topics; sync the topic files."""
    if click.get_current_context().invoked_subcommand is None:
        _print_topics(flags)


@topics.command("list", epilog="Example: holdfast topics list --user ana")
@with_flags(default_user=True)
def list_topics(flags: Flags) -> None:
    """List topics, most recently changed first."""
    _print_topics(flags)


@topics.command("show", epilog="Example: holdfast topics show cooking --user ana")
@click.argument("topic")
@with_flags(default_user=True)
def show_topic(flags: Flags, topic: str) -> None:
    """Print a topic's page as Markdown."""
    with open_memory(flags) as memory:
        page = memory.topics.page(topic, **flags.scope)
    lines = [safe(line) for line in page.markdown.splitlines()]
    emit({**_entry(page), "markdown": page.markdown, "memories": page.lines}, lines, as_json=flags.json)


@topics.command("edit", epilog="Example: holdfast topics edit cooking --user ana")
@click.argument("topic")
@click.option(
    "--file", "source", type=click.File(encoding="utf-8"), help="Read the edited page from a file; - is standard input."
)
@click.option("--yes", is_flag=True, help="Accept the edit even if it deletes much of the page.")
@with_flags(default_user=True)
def edit_topic(flags: Flags, topic: str, source: Any, *, yes: bool) -> None:
    """Edit a topic's page, in your editor or from a file.

    A changed line revises its memory, a new line adds a memory, and a deleted line forgets its memory.
    """
    with open_memory(flags) as memory:
        known = {page.topic: page for page in memory.topics.list(**flags.scope)}
        before = known[topic].markdown if topic in known else f"# {topic}\n\n- "
        text = source.read() if source else click.edit(before, extension=".md")
        if text is None or text == before:
            say("Nothing changed.", as_json=flags.json)
            return
        page = memory.topics.edit(topic, text, base=before if topic in known else None, confirm=yes, **flags.scope)
    emit(
        {**_entry(page), "markdown": page.markdown}, [f"{safe(page.topic)}: {count(len(page.lines), 'line')}"], as_json=flags.json
    )


@topics.command("sync", epilog="Example: holdfast topics sync --user ana")
@with_flags(default_user=True)
def sync_topics(flags: Flags) -> None:
    """Read edits from the topic files, then rewrite the files."""
    with open_memory(flags) as memory:
        _use_folders(memory, flags)
        _print_sync(services(memory).topic_files.sync(), flags, where=str(services(memory).topic_files.root or ""))


@topics.command("questions", epilog="Example: holdfast topics questions --user ana")
@with_flags(default_user=True)
def list_questions(flags: Flags) -> None:
    """Sync the topic files, and list the open questions about them.

    A question asks you to confirm an unusual edit, such as the deletion of all files.
    """
    with open_memory(flags) as memory:
        _use_folders(memory, flags)
        services(memory).topic_files.sync()
        found = services(memory).topic_files.questions()
    emit(
        [{"id": q.id, "file": q.file, "text": q.text} for q in found],
        [f"{q.id}  {safe(q.text)}" for q in found],
        as_json=flags.json,
    )
    if not found:
        say("No questions.", as_json=flags.json)


@topics.command("answer", epilog="Example: holdfast topics answer q1a2b3c --no")
@click.argument("question")
@click.option("--yes/--no", "yes", required=True, help="Accept the file as it is, or restore it from memory.")
@with_flags(default_user=True)
def answer_question(flags: Flags, question: str, *, yes: bool) -> None:
    """Answer a question about an unusual edit in a topic file: accept the edit, or keep the memories.

    QUESTION is the id of a question, as printed by `topics questions`.
    """
    with open_memory(flags) as memory:
        _use_folders(memory, flags)
        _print_sync(
            services(memory).topic_files.answer(question, yes=yes), flags, where=str(services(memory).topic_files.root or "")
        )


def _use_folders(memory: "Engine", flags: Flags) -> None:
    """Select the folders to sync: the folder of the scope, and the folder of the topics that all users share."""
    memory.session(**flags.scope)
    memory.session(app=flags.app, agent=flags.agent)


def _print_sync(report: SyncReport, flags: Flags, *, where: str) -> None:
    if not where:
        say("This preset has no topic files. Set topics_dir to use them.", as_json=flags.json)
    data = {
        "folder": where,
        "read_in": report.read_in,
        "written": report.written,
        "conflicts": report.conflicts,
        "questions": [{"id": q.id, "file": q.file, "text": q.text} for q in report.questions],
        "problems": report.problems,
    }
    lines = [f"{count(report.read_in, 'edit')} read, {count(report.written, 'file')} written"]
    lines += [f"{q.id}  {safe(q.text)}" for q in report.questions]
    emit(data, lines, as_json=flags.json)
