"""Settings of OAuth, the rights that a token grants, and the choice between tokens and access keys. No server is contacted."""

from typing import Any

import pytest

from holdfast.access.keys import Principal
from holdfast.access.oauth import READ, WELL_KNOWN, WRITE, OAuth, TokenVerifier, _level
from holdfast.errors import Forbidden, SettingsError, Unauthorized

ISSUER, RESOURCE = "https://login.example.org/realm", "https://memory.example.org:8443/mcp/"
LOCAL = Principal.local("default")


@pytest.mark.parametrize("url", ["https://a.example.org", "http://localhost:9", "http://127.0.0.1", "http://[::1]:80/x"])
def test_an_address_is_https_or_on_this_machine(url: str) -> None:
    assert OAuth(issuer=url, resource=RESOURCE).issuer == url
    assert OAuth(issuer=ISSUER, resource=url).resource == url


@pytest.mark.parametrize(
    "url", ["http://a.example.org", "https://", "", "login.example.org", "ftp://a.example.org", "http://127.0.0.2"]
)
@pytest.mark.parametrize("name", ["issuer", "resource"])
def test_the_error_for_any_other_address_names_the_setting(name: str, url: str) -> None:
    with pytest.raises(SettingsError, match=f"oauth_{name}"):
        OAuth(**{"issuer": ISSUER, "resource": RESOURCE, name: url})


def test_the_metadata_names_this_resource_and_its_authorization_server() -> None:
    oauth = OAuth(issuer=ISSUER, resource=RESOURCE)
    found = oauth.metadata
    assert (found["resource"], found["authorization_servers"]) == (RESOURCE, [ISSUER])
    assert (found["scopes_supported"], found["bearer_methods_supported"]) == ([READ, WRITE], ["header"])
    assert oauth.metadata_paths == (WELL_KNOWN, f"{WELL_KNOWN}/mcp")
    assert oauth.challenge == (
        f'Bearer resource_metadata="https://memory.example.org:8443{WELL_KNOWN}/mcp", scope="{READ} {WRITE}"'
    )


@pytest.mark.parametrize(
    ("claims", "level"),
    [
        ({"scope": f"openid {READ}"}, "read"), ({"scope": f"{READ} {WRITE}"}, "write"), ({"scope": WRITE}, "write"),
        ({"scp": [READ]}, "read"), ({"scp": [WRITE, "x"]}, "write"), ({"scope": READ, "scp": [WRITE]}, "read"),
    ],
)  # fmt: skip
def test_a_token_grants_the_higher_of_its_scopes(claims: dict[str, Any], level: str) -> None:
    assert _level(claims) == level


@pytest.mark.parametrize("claims", [{}, {"scope": ""}, {"scope": "openid"}, {"scope": f"{READ}x"}, {"scp": 7}, {"scope": None}])
def test_a_token_without_a_scope_of_holdfast_is_forbidden(claims: dict[str, Any]) -> None:
    with pytest.raises(Forbidden, match=READ):
        _level(claims)


def test_only_a_bearer_value_with_exactly_two_dots_is_treated_as_a_token() -> None:
    asked: list[tuple[str | None, bool]] = []

    def otherwise(bearer: str | None, loopback: bool) -> Principal:  # noqa: FBT001  (signature of Identify)
        asked.append((bearer, loopback))
        return LOCAL

    identify = TokenVerifier(OAuth(issuer=ISSUER, resource=RESOURCE), tenant="default").identify(otherwise)
    for bearer in (None, "hf_abc_def", "a.b", "a.b.c.d"):
        assert identify(bearer, True) == LOCAL
    assert asked == [(None, True), ("hf_abc_def", True), ("a.b", True), ("a.b.c.d", True)]
    with pytest.raises(Unauthorized, match="not valid"):
        identify("a.b.c", True)
    assert len(asked) == 4


@pytest.mark.parametrize("value", [None, "", 7, "x" * 5000])
def test_a_token_that_names_no_user_is_refused(value: object) -> None:
    verifier = TokenVerifier(OAuth(issuer=ISSUER, resource=RESOURCE), tenant="default")
    with pytest.raises(Unauthorized, match="'sub'"):
        verifier._name({"sub": value}, "sub", "user")
    assert verifier._name({"sub": " ana "}, "sub", "user") == "ana"
