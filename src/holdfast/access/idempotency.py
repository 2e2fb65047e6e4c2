"""Answers kept for requests that are sent again: a client that heard nothing may repeat itself and changes nothing twice.

A key is claimed before the work begins and filled when it is answered. An erasure removes claims and answers alike,
since any of them may hold what is erased; what was under way is then answered, but not kept.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from holdfast.access.keys import Principal
from holdfast.errors import Conflict
from holdfast.protocols import Clock, Store
from holdfast.text.clean import clean_name
from holdfast.types import StoredResponse

RETENTION = timedelta(hours=24)
_CLAIM_TIMEOUT = timedelta(minutes=2)
"""A claim without an answer for so long was left by a process that died."""


class StoredResponses:
    """The kept answers of one tenant."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def claim(self, principal: Principal, key: str, request: bytes) -> StoredResponse:
        """Return the first answer to this request, or with no ``status`` a claim: then it is to be carried out.

        ``request`` is all that makes it this request: method, path, query and body.
        """
        now = self._clock.now()
        name = clean_name(key, what="Idempotency-Key") or ""
        claim = StoredResponse(principal=principal.name, key=name, request=hashlib.sha256(request).digest(), at=now)
        with self._store.write() as tx:
            found = tx.stored_response(claim.principal, claim.key)
            if found is not None and found.at > now - RETENTION:
                if found.request != claim.request:
                    raise Conflict(f"The Idempotency-Key {name!r} was used for another request; take a new one.")
                if found.status is not None:
                    return found
                if found.at > now - _CLAIM_TIMEOUT:
                    raise Conflict(f"The request with the Idempotency-Key {name!r} is still under way; try again soon.")
            tx.add_stored_response(claim)
        return claim

    def save(self, claim: StoredResponse, *, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Keep the answer to a claimed request, before it is sent; not kept if the claim has gone meanwhile."""
        with self._store.write() as tx:
            tx.set_stored_response(replace(claim, status=status, headers=dict(headers), body=body))

    def release(self, claim: StoredResponse) -> None:
        """Give a claim back: the request failed for reasons of ours, and may be sent again."""
        with self._store.write() as tx:
            found = tx.stored_response(claim.principal, claim.key)
            if found == claim:
                tx.remove_stored_responses(principal=claim.principal, key=claim.key)
