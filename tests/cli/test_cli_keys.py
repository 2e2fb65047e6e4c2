"""The ``keys`` commands, as text and as JSON."""

import json
import re

import pytest

from holdfast.access.keys import Gate
from holdfast.errors import Unauthorized
from holdfast.services import services

from .support import Holdfast

KEY = re.compile(r"hf_[0-9a-z]{16}_[A-Za-z0-9_-]{43}")


def test_a_key_is_printed_once_and_alone_on_stdout(holdfast: Holdfast) -> None:
    holdfast("keys", "create", "--scope", "admin")
    made = holdfast("keys", "create", "--scope", "write", "--user", "ana", "--label", "phone")
    assert KEY.fullmatch(made.stdout.strip())
    assert made.stdout.strip() not in made.stderr
    assert "cannot be shown again" in made.stderr
    listed = holdfast("keys", "list")
    assert "write" in listed.stdout
    assert "user ana" in listed.stdout
    assert made.stdout.strip() not in listed.stdout + holdfast("keys", "--json").stdout


def test_no_secret_and_no_hash_reaches_the_disk_or_the_list(holdfast: Holdfast) -> None:
    key = holdfast("keys", "create", "--scope", "admin").stdout.strip()
    secret = key.split("_", 2)[2].encode()
    assert not [file.name for file in holdfast.home.rglob("*") if file.is_file() and secret in file.read_bytes()]
    (listed,) = holdfast.json("keys", "list")
    assert set(listed) == {
        "id",
        "scope",
        "label",
        "tenant",
        "user",
        "app",
        "agent",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    }


@pytest.mark.ledger("X8")
def test_a_key_gives_access_to_its_tenant_and_scope(holdfast: Holdfast) -> None:
    holdfast("keys", "create", "--scope", "admin")
    made = holdfast.json(
        "keys", "create", "--scope", "read", "--tenant", "acme", "--app", "kitchen", "--agent", "cook", "--expires", "30d"
    )
    assert (made["scope"], made["tenant"], made["app"], made["agent"], made["user"]) == ("read", "acme", "kitchen", "cook", None)
    with holdfast.memory() as memory:
        principal = Gate(services(memory).store, services(memory).clock).identify(made["key"], loopback=False)
    assert (principal.level, principal.tenant, principal.app, principal.agent) == ("read", "acme", "kitchen", "cook")
    assert holdfast.json("keys", "list", "--tenant", "acme") == [{name: made[name] for name in made if name != "key"}]
    assert holdfast.json("keys", "list", "--tenant", "other") == []


def test_a_revoked_key_opens_nothing(holdfast: Holdfast) -> None:
    made = holdfast.json("keys", "create", "--scope", "admin")
    with holdfast.memory() as memory:
        gate = Gate(services(memory).store, services(memory).clock)
        gate.identify(made["key"], loopback=False)
        assert holdfast.json("keys", "revoke", made["id"])["revoked_at"]  # through another store handle
        with pytest.raises(Unauthorized):
            gate.identify(made["key"], loopback=False)
    assert "revoked" in holdfast("keys", "list").stdout
    assert holdfast.error("keys", "revoke", "absent")["code"] == "not_found"


def test_revoking_all_keys_asks_first_and_allows_local_access_again(holdfast: Holdfast) -> None:
    holdfast("keys", "create", "--scope", "admin")
    assert "--yes" in holdfast.error("keys", "off", exit=2)["message"]
    with holdfast.memory() as memory:
        gate = Gate(services(memory).store, services(memory).clock)
        assert gate.keys_needed()
        assert holdfast.json("keys", "off", "--yes") == {"revoked": 1}
        assert not gate.keys_needed()


def test_keys_of_a_server_with_another_tenant_are_kept_there(holdfast: Holdfast) -> None:
    holdfast("keys", "create", "--scope", "admin", "--operator", "acme")
    assert holdfast.json("keys", "list") == []
    (listed,) = holdfast.json("keys", "list", "--operator", "acme")
    assert listed["tenant"] == "acme"


@pytest.mark.parametrize(
    ("options", "exit", "code"),
    [
        (("--scope", "root"), 2, "usage"),
        ((), 2, "usage"),
        (("--scope", "read", "--expires", "0d"), 2, "usage"),
        (("--scope", "read", "--expires", "soon"), 1, "invalid_input"),
        (("--scope", "read", "--expires", "2001-01-01"), 1, "invalid_input"),
        (("--scope", "read", "--user", " "), 1, "invalid_input"),
        (("--scope", "read", "--user", ""), 2, "usage"),
        (("--scope", "read", "--tenant", ""), 2, "usage"),
    ],
)
def test_an_impossible_access_key_is_not_created(holdfast: Holdfast, options: tuple[str, ...], exit: int, code: str) -> None:
    assert holdfast.error("keys", "create", *options, exit=exit)["code"] == code
    assert holdfast.json("keys") == []


@pytest.mark.long
def test_the_installed_command_prints_a_key_that_programs_can_take(holdfast: Holdfast) -> None:
    ran = holdfast.run("keys", "create", "--scope", "admin")
    assert KEY.fullmatch(ran.stdout.decode().strip())
    assert json.loads(holdfast.run("keys", "list", "--json").stdout)[0]["scope"] == "admin"


@pytest.mark.parametrize(
    "options",
    [
        ("--scope", "write"),
        ("--scope", "read", "--user", "ana"),
        ("--scope", "admin", "--app", "kitchen"),
        ("--scope", "admin", "--tenant", "acme"),
    ],
)
def test_the_first_key_must_be_an_admin_key(holdfast: Holdfast, options: tuple[str, ...]) -> None:
    error = holdfast.error("keys", "create", *options)
    assert "The first key must be an admin key" in error["message"]
    assert holdfast.json("keys") == []
    holdfast("keys", "create", "--scope", "admin")
    holdfast("keys", "create", *options)
    assert len(holdfast.json("keys")) == 2
