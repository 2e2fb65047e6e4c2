"""Clients of many tenants on several servers at once: each notes what was acknowledged, and whose words it was shown."""

import http.client
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

_SECRET = re.compile(r"owl\d{5}nest")
_THINGS = ("bicycle", "garden", "kitchen", "radio", "piano", "boat", "roof", "dog", "violin", "oven", "desk", "lamp")
_MESSAGES_A_TALK = 8


def secret(tenant: int) -> str:
    """Return the word that all texts of a tenant carry, and no others do."""
    return f"owl{tenant:05}nest"


def strangers(tenant: int, text: str) -> list[str]:
    """Return the secrets of others in a text."""
    return [word for word in set(_SECRET.findall(text)) if word != secret(tenant)]


@dataclass(slots=True)
class Seen:
    """What clients were told. Keys are tenants' numbers with an id."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    messages: dict[tuple[int, str], str] = field(default_factory=dict)
    """Acknowledged messages by their client's id, with their texts."""
    memories: dict[tuple[int, str], str] = field(default_factory=dict)
    forgotten: set[tuple[int, str]] = field(default_factory=set)
    doubtful: set[tuple[int, str]] = field(default_factory=set)
    """Memories whose forgetting was not answered."""
    leaked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def take(self, other: "Seen") -> None:
        """Add what another client was told."""
        for kind, times in other.times.items():
            self.times[kind] += times
        self.messages |= other.messages
        self.memories |= other.memories
        self.forgotten |= other.forgotten
        self.doubtful |= other.doubtful
        self.leaked += other.leaked
        self.errors += other.errors

    def plain(self) -> "Seen":
        """Return it without what cannot be sent between processes."""
        self.times = dict(self.times)
        return self


class Client:
    """Asks the servers in turn, for one tenant after another, as fast as it is answered."""

    def __init__(self, name: str, ports: Sequence[int], keys: Mapping[int, str]) -> None:
        self._name = name
        self._keys = keys
        self._draw = random.Random(name)  # noqa: S311  (not for secrets)
        self._servers = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for port in ports]
        self._count = 0
        self._own: list[tuple[int, str]] = []
        self.seen = Seen()

    def go_on(self, seconds: float) -> Seen:
        """Ask until the time is over."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._count += 1
            tenant = self._draw.choice(list(self._keys))
            what = self._draw.choices((self._recall, self._add, self._remember, self._forget), (55, 25, 15, 5))[0]
            what(tenant)
        return self.seen

    def _recall(self, tenant: int) -> None:
        # Words that every tenant has, and now and then another's secret: nobody must be shown it.
        word = secret(self._draw.choice(list(self._keys))) if self._draw.random() < 0.2 else self._draw.choice(_THINGS)
        self._ask("recall", tenant, "POST", "/v1/recall", {"query": f"what about the {word}?", "user": "ana"})

    def _add(self, tenant: int) -> None:
        id = f"{self._name}-{self._count}"
        talk = f"/v1/sessions/{self._name}-{tenant}-{len(self.seen.messages) // (_MESSAGES_A_TALK * len(self._keys))}"
        text = f"I collect {secret(tenant)} stamps from land{id.replace('-', 'x')}."
        answer = self._ask("add", tenant, "POST", f"{talk}/messages", {"role": "user", "text": text, "user": "ana", "id": id})
        if answer is not None:
            self.seen.messages[tenant, id] = text
        if self._draw.random() < 1 / _MESSAGES_A_TALK:
            self._ask("end", tenant, "POST", f"{talk}/end", {"user": "ana"})

    def _remember(self, tenant: int) -> None:
        text = f"the {self._draw.choice(_THINGS)} of {secret(tenant)} has number {self._name}x{self._count}"
        answer = self._ask("remember", tenant, "POST", "/v1/memories", {"text": text, "user": "ana"})
        if answer is not None:
            self.seen.memories[tenant, answer["id"]] = text
            self._own.append((tenant, answer["id"]))

    def _forget(self, _tenant: int) -> None:
        if not self._own:
            return
        tenant, id = self._own.pop(self._draw.randrange(len(self._own)))
        answer = self._ask("forget", tenant, "DELETE", f"/v1/memories/{id}", None)
        (self.seen.doubtful if answer is None else self.seen.forgotten).add((tenant, id))

    def _ask(self, kind: str, tenant: int, method: str, path: str, body: Any) -> Any:
        """Make one request of one of the servers; None where it was not done."""
        server = self._servers[self._count % len(self._servers)]
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._keys[tenant]}"}
        begin = time.perf_counter()
        try:
            server.request(method, path, None if body is None else json.dumps(body), headers)
            answer = server.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            server.close()
            self.seen.errors.append(f"{kind}: {error!r}")
            return None
        self.seen.times[kind].append(time.perf_counter() - begin)
        self.seen.leaked += [f"{kind} of tenant {tenant} shows {word}" for word in strangers(tenant, text)]
        if answer.status >= 400:
            self.seen.errors.append(f"{kind}: {answer.status} {text[:200]}")
            return None
        return json.loads(text or "null")


def clients(place: str, number: int, seconds: float, ports: Sequence[int], keys: Mapping[int, str]) -> Seen:
    """Run several clients in threads of one process; returns what they were told."""
    with ThreadPoolExecutor(number) as pool:
        asking = [pool.submit(Client(f"{place}c{each}", ports, keys).go_on, seconds) for each in range(number)]
        seen = Seen()
        for each in asking:
            seen.take(each.result())
    return seen.plain()
