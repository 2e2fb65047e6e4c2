"""Load generator: clients that send requests for many tenants to several servers.

The clients record which writes were acknowledged. They also record every response that contains another tenant's text.
"""

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
_MESSAGES_PER_SESSION = 8


def secret(tenant: int) -> str:
    """Return the unique word that all texts of a tenant contain."""
    return f"owl{tenant:05}nest"


def foreign_secrets(tenant: int, text: str) -> list[str]:
    """Return the unique words of other tenants that occur in a text."""
    return [word for word in set(_SECRET.findall(text)) if word != secret(tenant)]


@dataclass(slots=True)
class ClientLog:
    """Response times, acknowledged writes and errors that clients recorded.

    A write is identified by the tenant's number and the id of the message or memory.
    """

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    messages: dict[tuple[int, str], str] = field(default_factory=dict)
    """Texts of the acknowledged messages, by tenant and by the message id that the client chose."""
    memories: dict[tuple[int, str], str] = field(default_factory=dict)
    forgotten: set[tuple[int, str]] = field(default_factory=set)
    doubtful: set[tuple[int, str]] = field(default_factory=set)
    """Memories that may or may not be forgotten, because the request to forget them got no response."""
    leaked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def merge(self, other: "ClientLog") -> None:
        """Add the records of another client."""
        for kind, times in other.times.items():
            self.times[kind] += times
        self.messages |= other.messages
        self.memories |= other.memories
        self.forgotten |= other.forgotten
        self.doubtful |= other.doubtful
        self.leaked += other.leaked
        self.errors += other.errors

    def picklable(self) -> "ClientLog":
        """Convert ``times`` to a plain dict, so that this object can be sent to another process. Return this object."""
        self.times = dict(self.times)
        return self


class Client:
    """Sends requests for random tenants without pause, to each server in turn."""

    def __init__(self, name: str, ports: Sequence[int], keys: Mapping[int, str]) -> None:
        self._name = name
        self._keys = keys
        self._draw = random.Random(name)  # noqa: S311  (not for secrets)
        self._servers = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for port in ports]
        self._count = 0
        self._memories: list[tuple[int, str]] = []
        self.log = ClientLog()

    def run(self, seconds: float) -> ClientLog:
        """Send requests for the given number of seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._count += 1
            tenant = self._draw.choice(list(self._keys))
            action = self._draw.choices((self._recall, self._add, self._remember, self._forget), (55, 25, 15, 5))[0]
            action(tenant)
        return self.log

    def _recall(self, tenant: int) -> None:
        # Usually a word that every tenant uses; sometimes another tenant's secret, which no response may contain.
        word = secret(self._draw.choice(list(self._keys))) if self._draw.random() < 0.2 else self._draw.choice(_THINGS)
        self._request("recall", tenant, "POST", "/v1/recall", {"query": f"what about the {word}?", "user": "ana"})

    def _add(self, tenant: int) -> None:
        id = f"{self._name}-{self._count}"
        session = f"/v1/sessions/{self._name}-{tenant}-{len(self.log.messages) // (_MESSAGES_PER_SESSION * len(self._keys))}"
        text = f"I collect {secret(tenant)} stamps from land{id.replace('-', 'x')}."
        response = self._request(
            "add", tenant, "POST", f"{session}/messages", {"role": "user", "text": text, "user": "ana", "id": id}
        )
        if response is not None:
            self.log.messages[tenant, id] = text
        if self._draw.random() < 1 / _MESSAGES_PER_SESSION:
            self._request("end", tenant, "POST", f"{session}/end", {"user": "ana"})

    def _remember(self, tenant: int) -> None:
        text = f"the {self._draw.choice(_THINGS)} of {secret(tenant)} has number {self._name}x{self._count}"
        response = self._request("remember", tenant, "POST", "/v1/memories", {"text": text, "user": "ana"})
        if response is not None:
            self.log.memories[tenant, response["id"]] = text
            self._memories.append((tenant, response["id"]))

    def _forget(self, _tenant: int) -> None:
        if not self._memories:
            return
        tenant, id = self._memories.pop(self._draw.randrange(len(self._memories)))
        response = self._request("forget", tenant, "DELETE", f"/v1/memories/{id}", None)
        (self.log.doubtful if response is None else self.log.forgotten).add((tenant, id))

    def _request(self, kind: str, tenant: int, method: str, path: str, body: Any) -> Any:
        """Send one request to the next server. Return the response, or None if it failed."""
        server = self._servers[self._count % len(self._servers)]
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._keys[tenant]}"}
        begin = time.perf_counter()
        try:
            server.request(method, path, None if body is None else json.dumps(body), headers)
            response = server.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            server.close()
            self.log.errors.append(f"{kind}: {error!r}")
            return None
        self.log.times[kind].append(time.perf_counter() - begin)
        self.log.leaked += [f"{kind} of tenant {tenant} shows {word}" for word in foreign_secrets(tenant, text)]
        if response.status >= 400:
            self.log.errors.append(f"{kind}: {response.status} {text[:200]}")
            return None
        return json.loads(text or "null")


def clients(prefix: str, count: int, seconds: float, ports: Sequence[int], keys: Mapping[int, str]) -> ClientLog:
    """Run several clients in threads of one process, and return their merged records."""
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(Client(f"{prefix}c{number}", ports, keys).run, seconds) for number in range(count)]
        log = ClientLog()
        for future in futures:
            log.merge(future.result())
    return log.picklable()
