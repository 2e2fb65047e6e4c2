"""The commands ``recall`` and ``context``."""

from collections.abc import Sequence
from typing import Any

import click

from holdfast.cli.console import say, show_notices
from holdfast.cli.hints import nothing_found, unknown_user
from holdfast.cli.options import Flags, digest_waiting, limit_option, open_memory, pairs, with_flags
from holdfast.cli.output import brief, count, day, emit
from holdfast.recall.relevance.answers import MANY_HITS, probable_answers
from holdfast.types import Hit

_LEFT_OUT = {"budget": "no space", "limit": "too many hits", "floor": "too weak", "origin": "not your own text"}
"""Maps a hit's ``left_out_by`` to the words to print."""
_RELATED = "Related, perhaps not an answer:"


@click.command(epilog='Example: holdfast recall "what does she drink?" --user ana --limit 3 --explain')
@click.argument("query", nargs=-1, required=True)
@limit_option(10)
@click.option("--kind", "kinds", multiple=True, help="Only this kind of memory, or `message`. Repeatable.")
@click.option("--as-of", metavar="DATE", help="Only what was true then, such as 2026-03-01.")
@click.option("--now", metavar="DATE", help="Recall as if it were this time.")
@click.option("--min-score", type=click.FloatRange(0, 1), default=0.0, help="Minimum score of a hit, from 0 to 1.")
@click.option(
    "--where", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Only memories with this metadata. Repeatable."
)
@click.option("--untrusted", is_flag=True, help="Also show text of tools, web pages, files and quotations, after the rest.")
@click.option("--explain", is_flag=True, help="Show which searches found each hit, with their ranks.")
@with_flags(default_user=True)
def recall(
    flags: Flags,
    query: tuple[str, ...],
    *,
    limit: int,
    kinds: tuple[str, ...],
    where: dict[str, Any],
    explain: bool,
    **options: Any,
) -> None:
    """Find memories and messages for a query, best first.

    QUERY is a question or any text. Searches by meaning and by words. New text is embedded first, so that it is found
    by meaning, too.
    """
    if not " ".join(query).strip():
        raise click.UsageError("The query is empty. Give a question or some words. To see everything: holdfast list")
    with open_memory(flags) as memory:
        digest_waiting(memory)
        best = max(limit, MANY_HITS)  # a context block has as many, and the headings depend on the number
        found = memory.recall(" ".join(query), limit=best, kinds=kinds or None, where=where or None, **options, **flags.scope)
        show_notices(found.notices)
        hits = found[:limit]
        filters = {"kind": kinds, "where": where, "as_of": options["as_of"], "min_score": options["min_score"]}
        hint = None if hits else nothing_found(memory, flags, messages_searched=True, filters=filters)
    lines: list[str] = []
    heading = None
    for rank, (hit, above) in enumerate(zip(hits, _headings(found), strict=False), 1):
        lines += [above] if above and above != heading else []
        heading = above
        lines += hit_lines(rank, hit, explain=explain)
    emit(hits, lines, as_json=flags.json)
    if hint:
        say(hint, as_json=flags.json)


def _headings(hits: Sequence[Hit]) -> list[str | None]:
    """Return, for each hit, the heading of its group. Probable answers have no heading: their entry is None.

    The other groups are related hits and weak matches.
    """
    answers = probable_answers(hits)
    weak = "Weaker matches, not shown to a model:" if hits and hits[0].is_relevant else "Nothing relevant was found. Closest:"
    return [weak if not hit.is_relevant else None if hit.id in answers else _RELATED for hit in hits]


def hit_lines(rank: int, hit: Hit, *, explain: bool = False) -> list[str]:
    """Return a hit as a numbered line. With ``explain``, add a line that names the searches that found the hit."""
    text = brief(str(hit))
    origin = hit.provenance
    if origin not in ("user", "assistant") or (hit.memory and origin != "user"):
        text = f"[{origin}] {text}"
    elif hit.message:
        asked = f'asked "{brief(hit.asked)}", ' if hit.asked else ""
        text = f"{asked}{brief(hit.message.speaker or hit.message.role)} said: {text}"
    lines = [f"{rank:2}. {hit.score:.2f}  {day(hit.at)}  {text}  ({hit.id})"]
    if hit.successor:
        lines.append(f"      superseded by: {brief(str(hit.successor))}")
    if hit.later:
        lines.append(f"      said later: {brief('; '.join(hit.later))}")
    if explain:
        found = ", ".join(map(str, hit.why)) or "no search"
        similarity = "no vector" if hit.similarity is None else f"cosine {hit.similarity:.3f}"
        lines.append(f"      found by {found}; {similarity}; {hit.kind}")
    return lines


@click.command(epilog='Example: holdfast context "plan dinner" --user ana --max-tokens 400')
@click.argument("query", nargs=-1)
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Maximum size of the block. Default: the preset's.")
@click.option("--untrusted", is_flag=True, help="Also show text of tools, web pages, files and quotations, after the rest.")
@with_flags(default_user=True)
def context(flags: Flags, query: tuple[str, ...], *, max_tokens: int | None, untrusted: bool) -> None:
    """Print the context block for a system prompt.

    QUERY is the user's last message. Without QUERY, the block is for the start of a conversation. The block goes to stdout; hits
    that are left out go to stderr.
    """
    with open_memory(flags) as memory:
        digest_waiting(memory)
        block = memory.context(" ".join(query), max_tokens=max_tokens, untrusted=untrusted, **flags.scope)
        show_notices(block.notices)
        hint = None if block.text else unknown_user(memory, flags.user)
    emit(block, [block.text] if block.text else [], as_json=flags.json)
    for reason, why in _LEFT_OUT.items():
        hits = [hit for hit in block.left_out if hit.left_out_by == reason]
        if hits:
            say(f"Left out, {why}: {count(len(hits), 'hit')}", as_json=flags.json)
        for hit in hits:
            say(f"  {hit.score:.2f}  {day(hit.at)}  {brief(str(hit))}  ({hit.id})", as_json=flags.json)
    if not block.left_out and not block.text:
        nothing = "Nothing was found." if block.notices else "No memory matters for this query."
        say(hint or nothing, as_json=flags.json)
