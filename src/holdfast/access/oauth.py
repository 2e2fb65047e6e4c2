"""Access tokens of an OAuth authorization server, as an alternative to access keys.

The authorization server signs the tokens (JWT). Its public keys are fetched from the address given in its metadata (RFC 8414).
A token opens the data of one user: reading with the scope ``holdfast:read``, and writing with ``holdfast:write``.
"""

import hashlib
import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from holdfast.access.keys import Principal
from holdfast.errors import Forbidden, InvalidInput, SettingsError, Unauthorized
from holdfast.text.clean import clean_name
from holdfast.types import KeyLevel

if TYPE_CHECKING:
    from jwt import PyJWK

Identify: TypeAlias = Callable[[str | None, bool], Principal]
READ, WRITE = "holdfast:read", "holdfast:write"
"""OAuth scopes that a token needs for reading and for writing."""
WELL_KNOWN = "/.well-known/oauth-protected-resource"
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Accepted signature algorithms. All use a public key: a shared secret could be guessed, and `none` means no signature."""
_LEEWAY_SECONDS = 60
_FETCH_TIMEOUT = 3.0
_MAX_BYTES = 1 << 20
_MAX_AGE_SECONDS = 300.0
"""Time after which the authorization server's keys are fetched again, so that a withdrawn key is no longer accepted."""
_MIN_INTERVAL_SECONDS = 30.0
"""Minimum time between two fetches, so that tokens with invented key ids cannot make the server fetch constantly."""

log = logging.getLogger("holdfast.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """Settings of the trusted authorization server, and of the tokens that it issues."""

    issuer: str
    resource: str
    """Public URL of the MCP server, such as ``https://memory.example.org/mcp``."""
    audience: str | None = None
    """Expected audience of the tokens (claim ``aud``). None means ``resource``."""
    user_claim: str = "sub"
    tenant_claim: str | None = None
    """Name of the claim that holds the tenant. None means that every token belongs to the server's own tenant."""

    def __post_init__(self) -> None:
        for name in ("issuer", "resource"):
            url = urlsplit(getattr(self, name))
            if not url.hostname or (url.scheme != "https" and url.hostname not in ("localhost", "127.0.0.1", "::1")):
                raise SettingsError(f"The setting oauth_{name} must be an https URL, not {getattr(self, name)!r}.")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of this server as a protected resource (RFC 9728). Clients use it to find the authorization server."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": [READ, WRITE],
            "bearer_methods_supported": ["header"],
            "resource_name": "Holdfast",
        }

    @property
    def metadata_paths(self) -> tuple[str, str]:
        """URL paths at which clients look for :attr:`metadata`."""
        return WELL_KNOWN, f"{WELL_KNOWN}{urlsplit(self.resource).path.rstrip('/')}"

    @property
    def challenge(self) -> str:
        """The ``WWW-Authenticate`` header of a response to a request without a valid token."""
        url = urlsplit(self.resource)
        return f'Bearer resource_metadata="{url.scheme}://{url.netloc}{self.metadata_paths[1]}", scope="{READ} {WRITE}"'


class TokenVerifier:
    """Verifies OAuth access tokens, and returns the principal that a token stands for."""

    def __init__(self, oauth: OAuth, *, tenant: str) -> None:
        self._oauth = oauth
        self._tenant = tenant
        self._keys = _SigningKeys(oauth.issuer)

    def identify(self, otherwise: Identify) -> Identify:
        """Return a function that identifies callers by OAuth token. For callers without a token, it calls ``otherwise``."""

        def identify(bearer: str | None, loopback: bool) -> Principal:  # noqa: FBT001  (signature of Identify)
            is_token = bearer is not None and bearer.count(".") == 2  # an access key has no dots
            return self.principal(bearer) if bearer is not None and is_token else otherwise(bearer, loopback)

        return identify

    def principal(self, token: str) -> Principal:
        """Verify the signature, issuer, audience and expiry of a token. Raise ``Unauthorized`` if one of them is wrong.

        Return the principal: the user that the token names, with the rights that the token grants.
        """
        import jwt  # noqa: PLC0415  (installed with the extra `server`)

        try:
            claims = jwt.decode(
                token,
                self._keys.find(jwt.get_unverified_header(token).get("kid")),
                algorithms=_ALGORITHMS,
                audience=self._oauth.audience or self._oauth.resource,
                issuer=self._oauth.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise Unauthorized(f"This access token is not valid: {error}.") from error
        user = self._name(claims, self._oauth.user_claim, "user")
        tenant = self._name(claims, self._oauth.tenant_claim, "tenant") if self._oauth.tenant_claim else self._tenant
        holder = hashlib.sha256(f"{tenant}\n{user}".encode("utf-8", "replace")).hexdigest()[:16]
        return Principal(level=_level(claims), tenant=tenant, user=user, key=f"oauth-{holder}")

    def _name(self, claims: Mapping[str, Any], claim: str, what: str) -> str:
        try:
            name = clean_name(claims.get(claim), what=what)
        except InvalidInput as error:
            raise Unauthorized(f"The claim {claim!r} of this access token is not the name of a {what}.") from error
        if name is None:
            raise Unauthorized(f"This access token has no claim {claim!r}, which names the {what}.")
        return name


def _level(claims: Mapping[str, Any]) -> KeyLevel:
    given = claims.get("scope", claims.get("scp", ""))
    scopes = given.split() if isinstance(given, str) else given if isinstance(given, list) else ()
    if WRITE in scopes:
        return "write"
    if READ in scopes:
        return "read"
    raise Forbidden(f"This access token has neither the scope {READ} nor {WRITE}.")


class _SigningKeys:
    """The public keys of an authorization server, by id. They are fetched when they are needed, and kept for a few minutes."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._keys: Mapping[str | None, PyJWK] = {}
        self._fetched = -_MAX_AGE_SECONDS
        self._fetching = threading.Lock()

    def find(self, id: str | None) -> "PyJWK":
        """Return the signing key with this id. If ``id`` is None and there is only one key, return that key.

        Raise ``Unauthorized`` if there is no such key.
        """
        max_age = _MAX_AGE_SECONDS if id in self._keys else _MIN_INTERVAL_SECONDS
        # While one thread fetches, the others use the keys there are: a slow server must not block all requests.
        if self._is_older(max_age) and self._fetching.acquire(blocking=not self._keys):
            try:
                if self._is_older(_MIN_INTERVAL_SECONDS):  # no other thread has fetched them meanwhile
                    self._fetch()
            finally:
                self._fetching.release()
        found = next(iter(self._keys.values())) if id is None and len(self._keys) == 1 else self._keys.get(id)
        if found is None:
            raise Unauthorized("This access token is signed with a key that the authorization server does not list.")
        return found

    def _is_older(self, seconds: float) -> bool:
        return time.monotonic() - self._fetched > seconds

    def _fetch(self) -> None:
        import jwt  # noqa: PLC0415  (installed with the extra `server`)

        self._fetched = time.monotonic()
        try:
            listed = jwt.PyJWKSet.from_dict(_get(self._metadata()["jwks_uri"]))
            self._keys = {key.key_id: key for key in listed.keys}
        except (OSError, ValueError, TypeError, KeyError, jwt.PyJWTError) as error:
            log.warning("The keys of %s cannot be fetched: %s. Access tokens are checked with the old keys.", self._issuer, error)

    def _metadata(self) -> Mapping[str, Any]:
        """Fetch the metadata of the authorization server.

        First try the URL that OAuth defines for it. If that request fails, try the URL that OpenID Connect defines.
        """
        url = urlsplit(self._issuer)
        root, path = f"{url.scheme}://{url.netloc}", url.path.rstrip("/")
        try:
            found = _get(f"{root}/.well-known/oauth-authorization-server{path}")
        except OSError:
            found = _get(f"{root}{path}/.well-known/openid-configuration")
        if str(found.get("issuer")).rstrip("/") != self._issuer.rstrip("/"):
            raise ValueError(f"its metadata names another issuer, {found.get('issuer')!r}")
        return found


def _get(url: str) -> dict[str, Any]:
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"{url!r} is not a web address")
    opener = urllib.request.build_opener()  # urlopen would keep the proxies that were set when the process first used it
    with opener.open(url, timeout=_FETCH_TIMEOUT) as response:
        found = json.loads(response.read(_MAX_BYTES))
    return dict(found)
