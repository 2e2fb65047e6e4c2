"""Access tokens of an OAuth authorization server, over HTTP and MCP, with a real authorization server and the official client."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from holdfast.access.oauth import OAuth, _SigningKeys
from holdfast.config.settings import Settings
from holdfast.errors import SettingsError
from holdfast.server.tenants import EnginePool

from .authorization_server import SCOPES, AuthorizationServer, authorization_server
from .support import Served, serving, tell


@pytest.fixture
def issuer() -> Iterator[AuthorizationServer]:
    with authorization_server() as server:
        yield server


@pytest.fixture
def served(pool: EnginePool, issuer: AuthorizationServer) -> Iterator[Served]:
    """A server that accepts tokens of the issuer, and has an access key for the operator."""
    pool.gate.create_key(level="admin")
    with serving(
        pool,
        lambda url: Settings(oauth_issuer=issuer.url, oauth_resource=f"{url}/mcp", oauth_tenant_claim="org"),
    ) as server:
        yield server


def _get(served: Served, token: str | None, path: str = "/v1/memories") -> httpx2.Response:
    return httpx2.get(f"{served.url}{path}", headers={"authorization": f"Bearer {token}"} if token else {})


def _token(served: Served, issuer: AuthorizationServer, **claims: Any) -> str:
    return issuer.token(**{"aud": f"{served.url}/mcp", "org": served.pool.tenant, **claims})


class Kept:
    """Token storage of an OAuth client, in memory: its tokens and its registration."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def test_the_official_client_finds_the_authorization_server_logs_in_and_sees_only_its_users_memories(pool: EnginePool) -> None:
    pool.gate.create_key(level="admin")
    pool.operator.remember("prefers tea", user="ana")
    pool.operator.remember("prefers coffee", user="bob")
    came_back: dict[str, list[str]] = {}

    async def open_browser(url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(url)
        came_back.update(parse_qs(urlsplit(answer.headers["location"]).query))

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=came_back["code"][0], state=came_back["state"][0])

    async def story(client: Client) -> list[str]:
        listed = await client.call_tool("list_memories", {})
        return [each["content"] for each in listed.structured_content["memories"]]

    with (
        authorization_server() as issuer,
        serving(pool, lambda url: Settings(oauth_issuer=issuer.url, oauth_resource=f"{url}/mcp")) as served,
    ):
        wanted = OAuthClientMetadata(client_name="test", redirect_uris=[AnyUrl("http://localhost:1/callback")])
        login = OAuthClientProvider(f"{served.url}/mcp", wanted, Kept(), open_browser, callback)
        connection = streamable_http_client(f"{served.url}/mcp", http_client=httpx2.AsyncClient(auth=login, timeout=30))
        assert tell(connection, story) == ["prefers tea"]


def test_the_metadata_are_public_and_a_refusal_names_them(served: Served, issuer: AuthorizationServer) -> None:
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        found = _get(served, None, path).json()
        assert (found["resource"], found["authorization_servers"]) == (f"{served.url}/mcp", [issuer.url])
        assert found["scopes_supported"] == SCOPES
    for path in ("/mcp", "/v1/memories"):
        refused = _get(served, None, path)
        assert refused.status_code == 401
        assert f'resource_metadata="{served.url}/.well-known/oauth-protected-resource/mcp"' in refused.headers["www-authenticate"]


def test_a_token_is_bound_to_its_user_tenant_and_scopes(served: Served, issuer: AuthorizationServer) -> None:
    served.pool.operator.remember("prefers tea", user="ana")
    served.pool.operator.remember("prefers coffee", user="bob")
    reads = _token(served, issuer, scope="openid holdfast:read")
    assert [each["text"] for each in _get(served, reads).json()["items"]] == ["prefers tea"]
    assert _get(served, reads, "/v1/memories?user=bob").status_code == 404
    assert _get(served, _token(served, issuer, org="other")).json()["items"] == []

    def write(token: str) -> int:
        body = {"text": "likes figs"}
        return httpx2.post(f"{served.url}/v1/memories", json=body, headers={"authorization": f"Bearer {token}"}).status_code

    assert (write(reads), write(_token(served, issuer, scope=None, scp=SCOPES))) == (403, 201)
    assert _get(served, _token(served, issuer), "/v1/keys").status_code == 403


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"exp": 1}, 401),
        ({"exp": None}, 401),
        ({"aud": "https://other.example/mcp"}, 401),
        ({"aud": None}, 401),
        ({"iss": "https://other.example"}, 401),
        ({"sub": None}, 401),
        ({"sub": " "}, 401),
        ({"sub": ["ana"]}, 401),
        ({"org": None}, 401),
        ({"scope": "openid"}, 403),
        ({"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)}, 401),
    ],
    ids=lambda case: str(next(iter(case))) if isinstance(case, dict) else str(case),
)
def test_a_wrong_token_is_refused(served: Served, issuer: AuthorizationServer, claims: dict[str, Any], status: int) -> None:
    assert _get(served, _token(served, issuer)).status_code == 200
    assert _get(served, _token(served, issuer, **claims)).status_code == status


@pytest.mark.parametrize("token", ["a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbmEifQ.", ".."])
def test_a_malformed_or_unsigned_token_is_refused(served: Served, token: str) -> None:
    assert _get(served, token).status_code == 401


def test_tokens_with_unknown_keys_do_not_cause_repeated_requests_to_the_issuer(
    served: Served, issuer: AuthorizationServer
) -> None:
    assert _get(served, _token(served, issuer)).status_code == 200
    issuer.rotate()
    assert [_get(served, _token(served, issuer)).status_code for _ in range(3)] == [401] * 3
    assert issuer.asked == 1


def test_a_new_key_of_the_issuer_is_fetched_half_a_minute_after_the_last_fetch(issuer: AuthorizationServer) -> None:
    keys = _SigningKeys(issuer.url)
    for number in (1, 2, 3):
        assert keys.find(issuer.key_id).key_id == issuer.key_id
        assert issuer.asked == number
        keys._fetched -= 31
        issuer.rotate()


def test_a_token_that_names_no_key_is_accepted_if_the_issuer_has_one_key(served: Served, issuer: AuthorizationServer) -> None:
    assert _get(served, _token(served, issuer, names_key=False)).status_code == 200


def test_a_token_that_names_no_key_is_refused_if_the_issuer_has_two_keys(served: Served, issuer: AuthorizationServer) -> None:
    public = json.loads(RSAAlgorithm.to_jwk(rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()))
    issuer.more_keys.append({**public, "kid": "second", "alg": "RS256", "use": "sig"})
    refused = _get(served, _token(served, issuer, names_key=False))
    assert (refused.status_code, "does not list" in refused.text) == (401, True)
    assert _get(served, _token(served, issuer)).status_code == 200


def test_access_keys_work_alongside_tokens(served: Served) -> None:
    assert _get(served, served.key("read", user="ana")).status_code == 200


@pytest.mark.parametrize(("name", "url"), [("issuer", "http://login.example.org"), ("resource", "memory.example.org/mcp")])
def test_addresses_without_encryption_are_refused(name: str, url: str) -> None:
    good = {"issuer": "https://login.example.org", "resource": "https://memory.example.org/mcp"}
    with pytest.raises(SettingsError, match=f"oauth_{name} must be an https URL"):
        OAuth(**{**good, name: url})
