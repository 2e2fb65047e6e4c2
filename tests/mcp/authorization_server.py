"""An OAuth authorization server for tests. It uses the endpoints of the MCP package, and signs tokens with its own key."""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from .support import running

SCOPES = ["holdfast:read", "holdfast:write"]


class AuthorizationServer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """An authorization server with one user, ``ana``, who consents to every request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked = 0
        """Number of requests for the public keys."""
        self.more_keys: list[dict[str, Any]] = []
        """Further public keys that the server lists."""
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._key: Any = None
        self.rotate()

    def rotate(self) -> None:
        """Replace the signing key."""
        self._key, self.key_id = rsa.generate_private_key(public_exponent=65537, key_size=2048), secrets.token_hex(4)

    def token(self, *, key: Any = None, names_key: bool = True, **claims: Any) -> str:
        """Return an access token. Claims that are None are left out. With ``names_key``, it has the id of its key."""
        usual = {"iss": self.url, "sub": "ana", "scope": " ".join(SCOPES), "exp": time.time() + 600}
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(given, key or self._key, algorithm="RS256", headers={"kid": self.key_id} if names_key else {})

    def app(self) -> Starlette:
        """Return the server as an ASGI application."""
        registration = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)
        issuer = AnyHttpUrl(self.url)
        known = build_metadata(issuer, None, registration, RevocationOptions()).model_dump(mode="json", exclude_none=True)
        known |= {"issuer": self.url, "jwks_uri": f"{self.url}/jwks"}

        async def metadata(_request: Any) -> JSONResponse:
            return JSONResponse(known)

        async def keys(_request: Any) -> JSONResponse:
            self.asked += 1
            public = json.loads(RSAAlgorithm.to_jwk(self._key.public_key()))
            return JSONResponse({"keys": [{**public, "kid": self.key_id, "alg": "RS256", "use": "sig"}, *self.more_keys]})

        own = [Route("/.well-known/oauth-authorization-server", metadata), Route("/jwks", keys)]
        return Starlette(routes=[*own, *create_auth_routes(self, issuer, client_registration_options=registration)])

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self._clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_hex(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self._codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        scope = " ".join(authorization_code.scopes)
        token = self.token(aud=authorization_code.resource, scope=scope)
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=600, scope=scope)

    # Tokens of this server live for ten minutes, and are neither refreshed, introspected nor revoked.

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return None

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        raise TokenError("invalid_grant")

    async def load_access_token(self, token: str) -> AccessToken | None:
        return None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise TokenError("unsupported_grant_type")


@contextmanager
def authorization_server() -> Iterator[AuthorizationServer]:
    """Run an authorization server on a free loopback port."""
    made: list[AuthorizationServer] = []

    def make(url: str) -> Starlette:
        made.append(AuthorizationServer(url))
        return made[0].app()

    with running(make):
        yield made[0]
