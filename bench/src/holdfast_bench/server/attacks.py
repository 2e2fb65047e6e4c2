"""The attacks of a hostile tenant on a server: floods of requests, large bodies, batches and erasures."""

import contextlib
import http.client
import json
import multiprocessing
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from holdfast.config.settings import Settings

_BATCH = Settings().max_batch
WORDS = "garden kitchen boiler violin harbor lantern orchard bicycle ladder window basket mirror copper pepper".split()
_LARGE = " ".join(random.Random(1).choices(WORDS, k=40_000))[:240_000]  # noqa: S311  (no secret)
Attack: TypeAlias = Callable[["Client", random.Random], int]


class Client:
    """One connection with an access key. It reconnects after an error."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: Any) -> int:
        """Send a request and return the status of the response, or 0 if the connection was closed."""
        return self.ask(path, body)[0]

    def ask(self, path: str, body: Any) -> tuple[int, Any]:
        """Send a request and return the status and the parsed response, or (0, None) if the connection was closed."""
        try:
            self._connection.request("POST", path, json.dumps(body), self._headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return 0, None
        return response.status, json.loads(content or b"null")


def large_messages(client: Client, rng: random.Random) -> int:
    """Send messages of the largest accepted size."""
    return client.post(f"/v1/sessions/big-{rng.random()}/messages", {"role": "user", "text": _LARGE, "user": "u"})


def oversized_bodies(client: Client, rng: random.Random) -> int:
    """Send requests whose body is larger than the server accepts."""
    return client.post("/v1/memories", {"text": "x" * rng.randrange(1 << 20, 4 << 20), "user": "u"})


def flood(client: Client, rng: random.Random) -> int:
    """Send small requests without pause."""
    return client.post("/v1/recall", {"query": " ".join(rng.choices(WORDS, k=40)), "user": "u"})


def batches(client: Client, rng: random.Random) -> int:
    """Send the maximum number of messages in one request. The sentence reader must check each message.

    The reason is the word "keep" in each message, which may belong to a wish about memory.
    """
    return _send_batch(client, rng, "I keep the {} in box {}.")


def unread_batches(client: Client, rng: random.Random) -> int:
    """Send batches of messages that the sentence reader does not check. Most of the time is then spent in transactions."""
    return _send_batch(client, rng, "We painted the {} of house {}.")


def _send_batch(client: Client, rng: random.Random, text: str) -> int:
    texts = [text.format(rng.choice(WORDS), rng.random()) for _ in range(_BATCH)]
    messages = [{"role": "user", "text": each} for each in texts]
    return client.post(f"/v1/sessions/many-{rng.random()}/messages/batch", {"messages": messages, "user": "u"})


def erasures(client: Client, rng: random.Random) -> int:
    """Store and erase data repeatedly."""
    user = f"gone-{rng.randrange(10**9)}"
    client.post("/v1/memories", {"text": f"the {rng.choice(WORDS)} is mine", "user": user})
    return client.post("/v1/erase", {"user": user})


ATTACKS: dict[str, Attack] = {
    "large messages": large_messages,
    "oversized bodies": oversized_bodies,
    "flood": flood,
    "batches": batches,
    "unread batches": unread_batches,
    "erasures": erasures,
}


@contextlib.contextmanager
def attacking(port: int, key: str, name: str, attackers: int, statuses: Counter[int]) -> Iterator[None]:
    """Context manager: run an attack of the noisy tenant in another process while the ``with`` block runs.

    At the end, add the number of the tenant's responses per HTTP status to ``statuses``.
    """
    spawn = multiprocessing.get_context("spawn")
    started, over, counted = spawn.Event(), spawn.Event(), spawn.SimpleQueue()
    process = spawn.Process(target=_attack, args=(port, key, name, attackers, (started, over, counted)), daemon=True)
    process.start()
    started.wait(60)
    try:
        yield
    finally:
        over.set()
        statuses.update(counted.get())
        process.join(60)


def _attack(port: int, key: str, name: str, attackers: int, shared: tuple[Any, Any, Any]) -> None:
    """Attack the server over several connections until the event ``over`` is set.

    Then put a count of the responses per HTTP status into the queue ``counted``. ``shared`` contains the events
    ``started`` and ``over``, and the queue.
    """
    started, over, counted = shared
    statuses: Counter[int] = Counter()

    def attacker(seed: int) -> None:
        rng, client = random.Random(seed), Client(port, key)  # noqa: S311  (no secret)
        while not over.is_set():
            status = ATTACKS[name](client, rng)
            statuses[status] += 1
            over.wait(0.05 if status in (0, 429) else 0)  # a hostile client does not wait as long as it is told to

    threads = [threading.Thread(target=attacker, args=(seed,), daemon=True) for seed in range(attackers)]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join()
    counted.put(statuses)
