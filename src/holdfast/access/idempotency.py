"""Stored responses for repeated requests, so that a client can retry a request without running it twice.

Before a request runs, its idempotency key is claimed, which means recorded as in use. The response is stored when it is ready.
An erasure removes all claims and responses, because any of them may contain erased data. A request that is running during an
erasure is still answered, but its response is not stored.
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
"""Time for which a response is kept."""
_CLAIM_TIMEOUT = timedelta(minutes=2)
"""Time after which a claim without a response counts as abandoned. Its process has probably died."""


class StoredResponses:
    """Stores and returns the responses to requests with an idempotency key, for one tenant."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def claim(self, principal: Principal, key: str, request: bytes) -> StoredResponse:
        """Return the stored response to a request, or reserve the idempotency key for this request.

        If a response is stored, the returned object has a ``status``. The caller then sends the stored response again. If no
        response is stored, the key is reserved, and the ``status`` of the returned object is None. The caller must then run
        the request and call :meth:`save`.

        ``request`` identifies the request by method, path, query and body. Raise ``Conflict`` if the key was used for another
        request, or if the same request is still running. A use of the key that is older than ``RETENTION`` is ignored. A
        request without a response after two minutes no longer counts as running.
        """
        now = self._clock.now()
        name = clean_name(key, what="Idempotency-Key") or ""
        claim = StoredResponse(principal=principal.name, key=name, request=hashlib.sha256(request).digest(), at=now)
        with self._store.write() as tx:
            found = tx.stored_response(claim.principal, claim.key)
            if found is not None and found.at > now - RETENTION:
                if found.request != claim.request:
                    raise Conflict(
                        f"The Idempotency-Key {name!r} was used for a different request. Nothing was done; use a new key."
                    )
                if found.status is not None:
                    return found
                if found.at > now - _CLAIM_TIMEOUT:
                    raise Conflict(f"The request with the Idempotency-Key {name!r} is still running. Try again in a few seconds.")
            tx.add_stored_response(claim)
        return claim

    def save(self, claim: StoredResponse, *, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Store the response to a claimed request. Call this method before the response is sent.

        Nothing is stored if the claim has been removed, or if it already has a response.
        """
        with self._store.write() as tx:
            tx.set_stored_response(replace(claim, status=status, headers=dict(headers), body=body))

    def release(self, claim: StoredResponse) -> None:
        """Release an idempotency key that :meth:`claim` has reserved.

        Call this after a server error, so that the client can retry.
        """
        with self._store.write() as tx:
            found = tx.stored_response(claim.principal, claim.key)
            if found == claim:
                tx.remove_stored_responses(principal=claim.principal, key=claim.key)
