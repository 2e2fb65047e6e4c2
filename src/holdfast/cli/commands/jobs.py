"""Commands on background work: jobs, worker."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.console import notes, say
from holdfast.cli.options import Flags, check_models, limit_option, open_memory, with_flags
from holdfast.cli.output import brief, count, emit
from holdfast.cli.progress import Progress
from holdfast.errors import HoldfastError
from holdfast.services import services
from holdfast.types import Job, Stats

if TYPE_CHECKING:
    from holdfast.engine import Engine

_MANY = 200
_REPORT_EVERY = 10
_PAUSE_SECONDS = 1.0
_LISTEN_SECONDS = 0.5
"""How long to listen for new jobs before looking whether an end was asked for."""
_POLL_SECONDS = 5.0
_MIN_WAIT_SECONDS = 0.02
"""Where the server is gone, every wait ends at once."""
_STATES = ("queued", "running", "done", "dead")


def _list_options(function: Any) -> Any:
    function = limit_option(100)(function)
    return click.option("--state", "states", type=click.Choice(_STATES), multiple=True, help="Only these; may be repeated.")(
        function
    )


def _print_jobs(flags: Flags, *, states: tuple[Any, ...], limit: int) -> None:
    with open_memory(flags) as memory:
        found = memory.jobs(states=states or None, limit=limit)
    emit(found, [_line(job) for job in found], as_json=flags.json)
    if not found:
        say("No jobs.", as_json=flags.json)


def _line(job: Job) -> str:
    error = f"  {brief(job.error)}" if job.error else ""
    return f"{job.id}  {job.created_at:%Y-%m-%d %H:%M}  {job.kind:8}  {job.state:7}  attempt {job.attempt}{error}"


@click.group(invoke_without_command=True, epilog="Example: holdfast jobs --state dead   then: holdfast jobs rerun job_01k4...")
@_list_options
@with_flags(scope=False)
def jobs(flags: Flags, **wanted: Any) -> None:
    """List background work, or queue it again.

    A job that failed five times is `dead`: it stays, with its error, until it is queued again. A job that is `done` and
    still shows a message fell short: a model failed and rules took over. It can be queued again, too.
    """
    if click.get_current_context().invoked_subcommand is None:
        _print_jobs(flags, **wanted)


@jobs.command("list")
@_list_options
@with_flags(scope=False)
def list_jobs(flags: Flags, **wanted: Any) -> None:
    """List background work, the oldest first."""
    _print_jobs(flags, **wanted)


@jobs.command("rerun")
@click.argument("id")
@with_flags(scope=False)
def rerun(flags: Flags, id: str) -> None:
    """Queue a job again: a dead or waiting one, or one that fell short."""
    with open_memory(flags) as memory:
        job = memory.rerun(id)
    emit(job, [_line(job)], as_json=flags.json)
    say("It runs with the next `holdfast worker`, or in any program that has the store open.", as_json=flags.json)


@click.command(epilog="Example: holdfast worker --once   (from cron, for instance)")
@click.option("--once", is_flag=True, help="Do what there is to do, then end.")
@click.option("--all-tenants", is_flag=True, help="Work for every tenant that has a key or queues a job, not for one alone.")
@with_flags(scope=False)
def worker(flags: Flags, *, once: bool, all_tenants: bool) -> None:
    """Do background work until stopped.

    Closes silent conversations, digests those that ended, embeds what is new and purges what has expired. Ctrl-C or
    a SIGTERM ends it after the step under way. Several may run at once, also on several machines with a PostgreSQL
    store: it tells them of new work, so that they need not ask.
    """
    check_models(flags)
    if all_tenants:
        _work_for_all(flags, once=once)
        return
    total = 0
    with open_memory(flags) as memory, _stop_signals() as stop:
        if once:
            total = _round(memory, flags, stop, memory.stats())
        else:
            _log(flags, f"working on {services(memory).store.location}; Ctrl-C ends it")
            total = _go_on(memory, flags, stop)
    emit({"steps": total}, [f"Done: {count(total, 'step')}."], as_json=flags.json)


def _work_for_all(flags: Flags, *, once: bool) -> None:
    """Work for every tenant of the store."""
    from holdfast.cli.serving.tenant_worker import TenantWorker  # noqa: PLC0415  (numpy and the store: not needed for help)
    from holdfast.server.tenants import open_pool  # noqa: PLC0415  (as above)

    with (
        notes(as_json=flags.json, traces=flags.debug),
        open_pool(flags.store, preset=flags.preset, settings=flags.settings, tenant=flags.tenant, worker="none") as pool,
        _stop_signals() as stop,
    ):
        work = TenantWorker(pool, stop, lambda message: _log(flags, message))
        if not once:
            _log(
                flags,
                f"working on {services(pool.operator).store.location} for {count(len(work.tenants()), 'tenant')}; Ctrl-C ends it",
            )
        total = work.everyone() if once else work.go_on()
    emit({"steps": total}, [f"Done: {count(total, 'step')}."], as_json=flags.json)


def _go_on(memory: "Engine", flags: Flags, stop: threading.Event) -> int:
    """Work, wait, and work again until a stop is asked for; returns the steps it took."""
    total, known = 0, memory.stats()
    while not stop.is_set():
        try:
            steps = _round(memory, flags, stop, known)
            known = memory.stats() if steps else known  # counting costs more than looking for work
            total += steps
        except HoldfastError as error:
            _log(flags, f"could not go on, and tries again: {error}")
        _wait(memory, stop)
    return total


def _wait(memory: "Engine", stop: threading.Event) -> None:
    """Wait for new jobs where the store tells of them, else for a second; what needs no job is looked for as often."""
    from holdfast.protocols import JobNotifier  # noqa: PLC0415  (as above)

    store = services(memory).store
    if isinstance(store, JobNotifier):
        until = time.monotonic() + _POLL_SECONDS
        while not stop.is_set() and time.monotonic() < until and not store.wait_for_jobs(_LISTEN_SECONDS):
            pass
        stop.wait(_MIN_WAIT_SECONDS)
    else:
        stop.wait(_PAUSE_SECONDS)


def _round(memory: "Engine", flags: Flags, stop: threading.Event, before: Stats) -> int:
    """Work until nothing is left or a stop is asked for; returns the steps it took."""
    steps, began = 0, time.monotonic()
    waiting, progress = before.waiting_for_vectors, Progress("embedding", quiet=flags.json)
    while not stop.is_set() and services(memory).scheduler.run_once():
        steps += 1
        if waiting > _MANY and steps % _REPORT_EVERY == 0:
            progress(count(waiting, "text"), waiting - memory.stats().waiting_for_vectors, waiting)
    progress.finish()
    if steps:
        _log(flags, f"{_difference(before, memory.stats())} in {time.monotonic() - began:.1f} s")
    return steps


def _difference(before: Stats, after: Stats) -> str:
    """Say in words what a round of work did."""
    changes = {
        "job": after.jobs.get("done", 0) - before.jobs.get("done", 0),
        "dead job": after.jobs.get("dead", 0) - before.jobs.get("dead", 0),
        "closed session": before.sessions.get("open", 0) - after.sessions.get("open", 0),
        "new memory": after.memories - before.memories,
        "vector": after.vectors - before.vectors,
    }
    return ", ".join(count(number, what) for what, number in changes.items() if number > 0) or "clean-up"


def _log(flags: Flags, message: str) -> None:
    say(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {message}", as_json=flags.json)


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into a flag, so that the step under way is finished first."""
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    earlier = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
