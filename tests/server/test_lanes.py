"""Fairness between tenants: turns, budgets of requests and bytes, and limits on the size of a request."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

import holdfast
from holdfast.config.settings import Settings
from holdfast.protocols import Role, Vectors
from holdfast.runtime.priority import give_way, urgent
from holdfast.server.middleware import lanes as lanes_module
from holdfast.server.middleware.lanes import Lane, LaneName, Lanes, QueueFull, Turn, lane_of
from holdfast.server.middleware.limits import Rate, RateLimiter
from holdfast.testing import HashEmbedder
from tests.server.http_support import Served, serving

pytestmark = pytest.mark.ledger("X28")


async def _requests(lane: Lane, names: str, served: list[str]) -> list["asyncio.Task[None]"]:
    """Start one request per letter. The letter is the request's tenant. A request ends as soon as its turn comes."""

    async def request(tenant: str) -> None:
        await lane.enter(tenant)
        served.append(tenant)
        await asyncio.sleep(0)
        lane.leave(tenant)

    tasks = [asyncio.create_task(request(tenant)) for tenant in names]
    await asyncio.sleep(0)
    return tasks


def test_a_tenant_with_many_requests_waits_behind_its_neighbors() -> None:
    async def run() -> str:
        lane, served = Lane(capacity=1, per_tenant=1), list[str]()
        await lane.enter("a")
        tasks = await _requests(lane, "aaaaabbc", served)
        lane.leave("a")
        await asyncio.gather(*tasks)
        return "".join(served)

    assert asyncio.run(run()) == "bcabaaaa"


def test_one_tenant_never_takes_all_slots_of_a_lane() -> None:
    async def run() -> list[str]:
        lane, running = Lane(capacity=4, per_tenant=3), list[str]()

        async def hold(tenant: str) -> None:
            await lane.enter(tenant)
            running.append(tenant)
            await asyncio.sleep(60)

        tasks = [asyncio.create_task(hold(tenant)) for tenant in "aaaaaab"]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return running

    assert asyncio.run(run()) == ["a", "a", "a", "b"]


def test_a_tenant_whose_requests_take_long_waits_behind_neighbors_with_short_ones() -> None:
    async def run(*, by_time: bool) -> str:
        lane, served = Lane(capacity=1, per_tenant=1, by_time=by_time), list[str]()
        for tenant, seconds in (("slow", 4.0), ("x", 0.1), ("y", 0.1)):
            await lane.enter(tenant)
            lane.leave(tenant, seconds)
        await lane.enter("z")
        tasks = [asyncio.create_task(_served(lane, tenant, served)) for tenant in ("slow", "x", "y", "x", "y")]
        await asyncio.sleep(0)
        lane.leave("z", 0.1)
        await asyncio.gather(*tasks)
        return " ".join(served)

    assert asyncio.run(run(by_time=True)) == "x y x y slow"
    assert asyncio.run(run(by_time=False)) == "slow x y x y"


async def _served(lane: Lane, tenant: str, served: list[str]) -> None:
    await lane.enter(tenant)
    served.append(tenant)
    lane.leave(tenant, 0.1)


@pytest.mark.parametrize(("neighbors", "running"), [(("x", "y"), 1), ((), 2)])
def test_a_tenant_that_uses_more_than_its_share_runs_one_request_at_a_time(neighbors: tuple[str, ...], running: int) -> None:
    async def run() -> int:
        lanes = Lanes.of(computes=True)
        lane, started = lanes.lanes["quick"], list[str]()
        for tenant, seconds in (("slow", 4.0), *((name, 0.1) for name in neighbors)):
            await lane.enter(tenant)
            lane.leave(tenant, seconds)

        async def hold() -> None:
            await lane.enter("slow")
            started.append("slow")
            await asyncio.sleep(60)

        tasks = [asyncio.create_task(hold()) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(started)

    assert asyncio.run(run()) == running


def test_the_time_that_a_request_takes_in_its_lane_is_counted() -> None:
    async def run() -> tuple[int, int]:
        lanes = Lanes.of(computes=True)
        for tenant, seconds in (("slow", 0.2), ("x", 0.01), ("y", 0.01)):
            turn = lanes.turn("quick", tenant)
            await turn.enter()
            await asyncio.sleep(seconds)
            turn.leave()
        first, second = lanes.turn("quick", "slow"), lanes.turn("quick", "slow")
        await first.enter()
        waiting = asyncio.create_task(second.enter())
        await asyncio.sleep(0.01)
        was_waiting = not waiting.done()
        first.leave()
        await waiting
        second.leave()
        return was_waiting, urgent._running

    assert asyncio.run(run()) == (True, 0)


def test_a_cancelled_request_gives_its_place_back_whether_it_waits_or_runs() -> None:
    async def run() -> str:
        lane, served = Lane(capacity=1, per_tenant=1), list[str]()
        await lane.enter("a")
        waiting, granted = await _requests(lane, "bc", served)
        waiting.cancel()
        await asyncio.sleep(0)
        lane.leave("a")  # the turn of c is granted, but c has not run yet
        granted.cancel()
        await asyncio.gather(waiting, granted, return_exceptions=True)
        await asyncio.wait_for(lane.enter("d"), 1)
        return "".join(served)

    assert asyncio.run(run()) == ""


def test_a_cancelled_request_leaves_no_place_in_the_line_for_the_next_one_of_its_tenant() -> None:
    async def run() -> str:
        lane, served = Lane(capacity=1, per_tenant=1), list[str]()
        await lane.enter("a")
        (cancelled,) = await _requests(lane, "b", served)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        waiting = await _requests(lane, "cb", served)
        lane.leave("a")
        await asyncio.gather(*waiting)
        return "".join(served)

    assert asyncio.run(run()) == "cb"


def test_a_large_request_of_one_tenant_does_not_delay_those_of_another() -> None:
    async def run() -> list[str]:
        lanes, running = Lanes.of(computes=True), list[str]()

        async def hold(tenant: str) -> None:
            await lanes.turn("large", tenant).enter()
            running.append(tenant)
            await asyncio.sleep(60)

        tasks = [asyncio.create_task(hold(tenant)) for tenant in "aaab"]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return running

    assert asyncio.run(run()) == ["a", "b"]


@pytest.mark.parametrize(
    ("lane", "computes", "pauses"),
    [("large", True, True), ("long", True, True), ("quick", True, False), ("chat", True, False), ("large", False, False)],
)
def test_large_requests_pause_while_quick_ones_run(lane: LaneName, computes: bool, pauses: bool) -> None:  # noqa: FBT001
    async def run() -> float:
        lanes = Lanes.of(computes=computes)
        quick = lanes.turn("quick", "calm")
        await quick.enter()

        async def work() -> float:
            turn = lanes.turn(lane, "loud")
            await turn.enter()
            await asyncio.sleep(0.02)
            begin = time.monotonic()
            await asyncio.to_thread(give_way)
            turn.leave()
            return time.monotonic() - begin

        try:
            return await asyncio.create_task(work())
        finally:
            quick.leave()

    shortest = min(asyncio.run(run()) for _ in range(5))  # on a busy machine, any code may take long
    assert (shortest > 0.04) is pauses


@pytest.mark.parametrize(("tenant", "pauses"), [("slow", True), ("x", False)])
def test_quick_requests_of_a_tenant_over_its_share_pause_while_others_run(tenant: str, *, pauses: bool) -> None:
    async def run() -> bool:
        lanes = Lanes.of(computes=True)
        for name, seconds in (("slow", 4.0), ("x", 0.1), ("y", 0.1)):
            await lanes.lanes["quick"].enter(name)
            lanes.lanes["quick"].leave(name, seconds)
        other, turn = lanes.turn("quick", "y"), lanes.turn("quick", tenant)
        await other.enter()
        await turn.enter()
        time.sleep(0.05)  # noqa: ASYNC251  (stands for work)
        begin = time.monotonic()
        give_way()
        paused = time.monotonic() - begin
        turn.leave()
        other.leave()
        return paused > 0.05

    assert asyncio.run(run()) is pauses


async def _entered(lanes: Lanes, tenants: str, seconds: float) -> list[Turn]:
    """Let one request per letter wait for its turn, for at most ``seconds``. Return the requests that run then."""
    turns = [lanes.turn("quick", tenant) for tenant in tenants]
    tasks = [asyncio.create_task(turn.enter()) for turn in turns]
    _, waiting = await asyncio.wait(tasks, timeout=seconds)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [turn for turn, task in zip(turns, tasks, strict=True) if not task.cancelled()]


@pytest.mark.parametrize(
    ("quick_seconds", "tenants", "running"),
    [(60.0, "aabc", 3), (0.05, "aabc", 4), (0.05, "aaab", 3), (0.05, "abcdefghi", 6)],
    ids=["not slow yet", "place of a slow one", "limit of the tenant", "limit of the lane"],
)
def test_a_slow_request_does_not_keep_its_place_in_the_lane(
    monkeypatch: pytest.MonkeyPatch, quick_seconds: float, tenants: str, running: int
) -> None:
    monkeypatch.setattr(lanes_module, "_QUICK_SECONDS", quick_seconds)

    async def run() -> tuple[int, int, int, int]:
        lanes = Lanes.of(computes=True)
        turns = await _entered(lanes, tenants, 0.5)
        for turn in (*turns, *turns):
            turn.leave()
        quick = lanes.lanes["quick"]
        return len(turns), quick._running, quick._aside, urgent._running

    assert asyncio.run(run()) == (running, 0, 0, 0)


@pytest.mark.parametrize(("used", "pauses"), [(0.01, True), (9.0, False)], ids=["over its share", "within its share"])
def test_a_running_request_pauses_once_its_tenant_is_over_its_share(
    monkeypatch: pytest.MonkeyPatch, used: float, *, pauses: bool
) -> None:
    monkeypatch.setattr(lanes_module, "_QUICK_SECONDS", 0.05)

    async def run() -> tuple[bool, int]:
        lanes = Lanes.of(computes=True)
        for name in ("x", "y"):
            await lanes.lanes["quick"].enter(name)
            lanes.lanes["quick"].leave(name, used)
        slow = lanes.turn("quick", "slow")
        await slow.enter()
        await asyncio.sleep(0.2)
        urgent.enter()  # a short request of a neighbor
        try:
            begin = time.monotonic()
            await asyncio.to_thread(give_way)
            paused = time.monotonic() - begin > 0.05
        finally:
            urgent.leave()
        slow.leave()
        return paused, urgent._running

    assert asyncio.run(run()) == (pauses, 0)


class SlowForLoud(HashEmbedder):
    """An embedder that takes long for the queries "loud 0", "loud 1" and so on, until a test lets them end."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end, self.begun = threading.Event(), threading.Semaphore(0)

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        if any(text.startswith("loud") for text in texts):
            self.begun.release()
            self.may_end.wait(60)
        return super().embed(texts, role=role)


def test_slow_recalls_of_one_tenant_do_not_stop_those_of_another(tmp_path: Path) -> None:
    embedder = SlowForLoud()
    with serving(tmp_path, embedder=embedder, settings=Settings(recall_timeout=60.0)) as served:
        loud, calm = _two_tenants(served)
        threads = [
            threading.Thread(target=loud.post, args=("/v1/recall",), kwargs={"json": {"query": f"loud {number}", "user": "u"}})
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        assert embedder.begun.acquire(timeout=60)
        assert embedder.begun.acquire(timeout=60)
        try:
            assert calm.post("/v1/recall", json={"query": "calm", "user": "u"}, timeout=20).status_code == 200
        finally:
            embedder.may_end.set()
            for thread in threads:
                thread.join(60)


def test_a_queue_that_is_too_long_is_refused() -> None:
    async def run() -> None:
        lane = Lane(capacity=1, per_tenant=1, max_waiting=2)
        await lane.enter("a")
        tasks = await _requests(lane, "aa", [])
        with pytest.raises(QueueFull):
            await lane.enter("a")
        lane.leave("a")
        await asyncio.gather(*tasks)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "path", "size", "lane"),
    [
        ("POST", "/v1/recall", 100, "quick"),
        ("POST", "/v1/memories", 100_000, "large"),
        ("POST", "/v1/erase", 100, "long"),
        ("GET", "/v1/export", 0, "long"),
        ("POST", "/v1/sessions/s/chat", 100, "chat"),
        ("POST", "/chat/audio", 9_000_000, "chat"),
    ],
    ids=["recall", "large memory", "erase", "export", "chat", "audio"],
)
def test_slow_requests_have_lanes_of_their_own(method: str, path: str, size: int, lane: str) -> None:
    assert lane_of(method, path, size) == lane


def test_the_rate_limiter_counts_amounts() -> None:
    now = [0.0]
    rates, rate = RateLimiter(clock=lambda: now[0]), Rate(per_second=10, burst=100)
    assert rates.take("t", rate, 90) == 0
    assert rates.take("t", rate, 30) == pytest.approx(2)
    now[0] += 2
    assert rates.take("t", rate, 30) == 0
    now[0] += 100
    assert rates.take("t", rate, 5000) == 0  # more than a bucket holds: a full bucket pays for it
    assert rates.take("t", rate, 1) > 0


def _two_tenants(served: Served) -> tuple[httpx.Client, httpx.Client]:
    return served.as_(served.key(tenant="loud")), served.as_(served.key(tenant="calm"))


def test_a_tenant_over_its_bytes_gets_429_and_its_neighbor_does_not(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(tenant_bytes=2_000)) as served:
        loud, calm = _two_tenants(served)
        answers = [loud.post("/v1/memories", json={"text": "x " * 5_000, "user": "u"}) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [201, 201, 201, 429, 429]
        assert answers[-1].json()["code"] == "rate_limited"
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert calm.post("/v1/memories", json={"text": "x " * 5_000, "user": "u"}).status_code == 201
        assert loud.get("/v1/memories", params={"user": "u"}).status_code == 200


def test_all_keys_of_a_tenant_share_its_rate(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(tenant_rate_limit=1)) as served:
        keys = [served.as_(served.key(tenant="loud")) for _ in range(3)]
        _, calm = _two_tenants(served)
        statuses = [keys[number % 3].get("/v1/me").status_code for number in range(8)]
        assert statuses[:4] == [200] * 4
        assert 429 in statuses[4:]
        assert calm.get("/v1/me").status_code == 200


def test_a_request_that_waits_for_its_body_takes_no_place(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        loud, calm = _two_tenants(served)
        sending = threading.Event()

        def drip() -> Iterator[bytes]:
            yield b'{"text": "slow", '
            sending.wait(60)
            yield b'"user": "u"}'

        headers = {"content-type": "application/json"}
        statuses: list[int] = []
        threads = [
            threading.Thread(
                target=lambda: statuses.append(loud.post("/v1/memories", content=drip(), headers=headers).status_code)
            )
            for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        assert loud.get("/v1/memories", params={"user": "u"}).status_code == 200
        assert calm.post("/v1/memories", json={"text": "quick", "user": "u"}).status_code == 201
        sending.set()
        for thread in threads:
            thread.join(60)
        assert statuses == [201] * 12


@pytest.mark.parametrize(
    ("fields", "code", "detail"),
    [
        ({"text": "x" * 250_001}, "text_too_long", "max_text"),
        ({"text": "x", "metadata": {"note": "y" * 64_000}}, "text_too_long", "max_metadata"),
        ({"text": "x", "metadata": {"nested": {str(n): n for n in range(1000)}}}, "text_too_long", "1,001 names"),
        ({"text": "x" * (1 << 20)}, "too_large", "1,048,576 bytes"),
    ],
    ids=["text", "metadata", "names", "body"],
)
def test_a_body_that_is_too_large_gets_413(tmp_path: Path, fields: dict[str, object], code: str, detail: str) -> None:
    with serving(tmp_path) as served:
        answer = served.client.post("/v1/memories", json={"user": "u", **fields})
        assert (answer.status_code, answer.json()["code"]) == (413, code)
        assert detail in answer.json()["detail"]
        assert "Nothing was" in answer.json()["detail"]
        assert served.client.get("/v1/memories", params={"user": "u"}).json()["items"] == []


@pytest.mark.parametrize(
    ("path", "name"), [("/v1/sessions/s/messages/batch", "messages"), ("/v1/remember", "memories")], ids=["messages", "memories"]
)
def test_a_batch_with_too_many_items_gets_413(tmp_path: Path, path: str, name: str) -> None:
    with serving(tmp_path, settings=Settings(max_batch=3)) as served:
        items = [{"text": f"item {number}", **({"role": "user"} if name == "messages" else {})} for number in range(4)]
        answer = served.client.post(path, json={name: items, "user": "u"})
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert f"4 {name}; the limit is 3. Nothing was stored" in answer.json()["detail"]
        assert served.client.get("/v1/sessions", params={"user": "u"}).json()["items"] == []
        assert served.client.get("/v1/memories", params={"user": "u"}).json()["items"] == []
        assert served.client.post(path, json={name: items[:3], "user": "u"}).status_code == 201
        described = served.client.get("/openapi.json").json()["components"]["schemas"][f"New{name.title()}"]
        assert described["properties"][name]["maxItems"] == 3


def test_a_revision_that_is_too_large_is_refused_and_other_fields_of_a_long_memory_can_change(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", settings={"max_text": 5000}, embedder="none", worker="none") as memory:
        id = memory.remember("x" * 5000, user="u").id
    with holdfast.open(tmp_path / "m.db", settings={"max_text": 1000}, embedder="none", worker="none") as memory:
        with pytest.raises(holdfast.TextTooLong, match="the limit is 1,000"):
            memory.revise(id, "y" * 1001)
        assert memory.revise(id, importance=9).importance == 9
        with pytest.raises(holdfast.TextTooLong, match="the limit is 1,000"), memory.session(user="u") as session:
            session.add("user", "y" * 1001)
        assert memory.get(id).text == "x" * 5000
