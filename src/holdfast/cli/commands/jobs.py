"""The commands ``jobs`` and ``worker``."""

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.console import notes, say
from holdfast.cli.options import Flags, check_models, limit_option, open_memory, with_flags
from holdfast.cli.output import brief, count, emit
from holdfast.cli.progress import Progress
from holdfast.cli.stop_signals import stop_event
from holdfast.errors import HoldfastError
from holdfast.services import services
from holdfast.types import Job, Stats

if TYPE_CHECKING:
    from holdfast.engine import Engine

_MIN_TEXTS_FOR_PROGRESS = 200
_STEPS_PER_REPORT = 10
_PAUSE_SECONDS = 1.0
_LISTEN_SECONDS = 0.5
"""Time to wait for a job notification before checking for a stop request, in seconds."""
_POLL_SECONDS = 5.0
_MIN_WAIT_SECONDS = 0.02
"""Minimum time between two rounds, in seconds. It prevents a busy loop while the database server is down."""
_STATES = ("queued", "running", "done", "dead")


def _list_options(function: Any) -> Any:
    function = limit_option(100)(function)
    return click.option(
        "--state", "states", type=click.Choice(_STATES), multiple=True, help="Only jobs in this state. Repeatable."
    )(function)


def _print_jobs(flags: Flags, *, states: tuple[Any, ...], limit: int) -> None:
    with open_memory(flags) as memory:
        found = memory.jobs(states=states or None, limit=limit)
    emit(found, [_line(job) for job in found], as_json=flags.json)
    if not found:
        say("No jobs.", as_json=flags.json)


def _line(job: Job) -> str:
    error = f"  {brief(job.error)}" if job.error else ""
    return f"{job.id}  {job.created_at:%Y-%m-%d %H:%M}  {job.kind:8}  {job.state:7}  attempt {job.attempt}{error}"


@click.group(invoke_without_command=True, epilog="Example: holdfast jobs --state dead; holdfast jobs rerun job_01k4...")
@_list_options
@with_flags(scope=False)
def jobs(flags: Flags, **options: Any) -> None:
    """List background jobs, or queue one again.

    A job that failed five times is `dead`. It stays in the list, with its error, until you queue it again with `rerun`. If a
    `done` job has an error message, a model failed and rules did the work of the job. You can also queue such a job again.
    """
    if click.get_current_context().invoked_subcommand is None:
        _print_jobs(flags, **options)


@jobs.command("list", epilog="Example: holdfast jobs list --state queued")
@_list_options
@with_flags(scope=False)
def list_jobs(flags: Flags, **options: Any) -> None:
    """List background jobs, oldest first."""
    _print_jobs(flags, **options)


@jobs.command("rerun", epilog="Example: holdfast jobs rerun job_01k4...")
@click.argument("id")
@with_flags(scope=False)
def rerun(flags: Flags, id: str) -> None:
    """Queue a job again.

    ID is the id of a job that is dead, waiting, or done with an error message.
    """
    with open_memory(flags) as memory:
        job = memory.rerun(id)
    emit(job, [_line(job)], as_json=flags.json)
    say("It is queued. It runs in the next `holdfast worker`, or in any program that has the store open.", as_json=flags.json)


@click.command(epilog="Example: holdfast worker --once")
@click.option("--once", is_flag=True, help="Run all due jobs, then exit.")
@click.option("--all-tenants", is_flag=True, help="Run the jobs of every tenant that has an access key or queues a job.")
@with_flags(scope=False)
def worker(flags: Flags, *, once: bool, all_tenants: bool) -> None:
    """Run background jobs until stopped.

    Closes idle sessions, digests ended sessions, embeds new text and purges expired data. Ctrl-C or SIGTERM stops the
    worker after the current step. You can run several workers at once. With a PostgreSQL store they can run on several
    machines, and the database notifies them of new jobs.
    """
    check_models(flags)
    if all_tenants:
        _work_for_all(flags, once=once)
        return
    total = 0
    with open_memory(flags) as memory, stop_event() as stop:
        if once:
            total = _round(memory, flags, stop, memory.stats())
        else:
            _log(flags, f"working on {services(memory).store.location}; press Ctrl-C to stop")
            total = _run_until_stopped(memory, flags, stop)
    emit({"steps": total}, [f"Done: {count(total, 'step')}."], as_json=flags.json)


def _work_for_all(flags: Flags, *, once: bool) -> None:
    """Run the jobs of every tenant of the store."""
    from holdfast.cli.serving.tenant_worker import TenantWorker  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.server.tenants import open_pool  # noqa: PLC0415  (as above)

    with (
        notes(as_json=flags.json, traces=flags.debug),
        open_pool(flags.store, preset=flags.preset, settings=flags.settings, tenant=flags.tenant, worker="none") as pool,
        stop_event() as stop,
    ):
        work = TenantWorker(pool, stop, lambda message: _log(flags, message))
        if not once:
            _log(
                flags,
                f"working on {services(pool.operator).store.location} for {count(len(work.tenants()), 'tenant')}; press Ctrl-C to stop",
            )
        total = work.run_all() if once else work.run_until_stopped()
    emit({"steps": total}, [f"Done: {count(total, 'step')}."], as_json=flags.json)


def _run_until_stopped(memory: "Engine", flags: Flags, stop: threading.Event) -> int:
    """Run jobs, and wait for more, until ``stop`` is set. Return the number of steps; a step runs at most one job."""
    total, known = 0, memory.stats()
    while not stop.is_set():
        try:
            steps = _round(memory, flags, stop, known)
            known = memory.stats() if steps else known  # counting costs more than polling for work
            total += steps
        except HoldfastError as error:
            _log(flags, f"failed and will retry: {error}")
        _wait(memory, stop)
    return total


def _wait(memory: "Engine", stop: threading.Event) -> None:
    """Wait for a job notification, at most five seconds. If the store sends no notifications, wait one second."""
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
    """Run jobs until none is left or a stop is requested. Return the number of steps.

    ``before`` has the store's statistics before the first step. They are used to print the progress and to log the work
    done.
    """
    steps, began = 0, time.monotonic()
    waiting, progress = before.waiting_for_vectors, Progress("embedding", quiet=flags.json)
    while not stop.is_set() and services(memory).scheduler.run_once():
        steps += 1
        if waiting > _MIN_TEXTS_FOR_PROGRESS and steps % _STEPS_PER_REPORT == 0:
            progress(count(waiting, "text"), waiting - memory.stats().waiting_for_vectors, waiting)
    progress.finish()
    if steps:
        _log(flags, f"{_difference(before, memory.stats())} in {time.monotonic() - began:.1f} s")
    return steps


def _difference(before: Stats, after: Stats) -> str:
    """Describe the work done between two snapshots of the store's statistics."""
    changes = {
        "job": after.jobs.get("done", 0) - before.jobs.get("done", 0),
        "dead job": after.jobs.get("dead", 0) - before.jobs.get("dead", 0),
        "closed session": before.sessions.get("open", 0) - after.sessions.get("open", 0),
        "new memory": after.memories - before.memories,
        "vector": after.vectors - before.vectors,
    }
    return ", ".join(count(number, what) for what, number in changes.items() if number > 0) or "cleanup"


def _log(flags: Flags, message: str) -> None:
    say(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {message}", as_json=flags.json)
