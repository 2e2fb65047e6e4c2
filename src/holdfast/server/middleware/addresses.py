"""Addresses a request names: where it was sent to, which page sent it, and whether a proxy handed it on.

A page on the Internet can make a browser send requests to this machine, also under a name of its own that it points
here. So the name in the address bar must be one of ours, and a page that asks must have come from us.
"""

import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from holdfast.errors import SettingsError

Headers: TypeAlias = Mapping[bytes, Sequence[bytes]]
"""The values of each header, by its name in small letters."""

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::([0-9]{1,5}))?")
_DEFAULT_PORT = {"http": 80, "https": 443}
_PROXY = (b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip", b"cf-connecting-ip")
_PROXY_PREFIXES = (b"x-forwarded", b"x-original-", b"x-envoy-")


def is_loopback(host: str) -> bool:
    """Tell whether an address or name can only be this machine."""
    if host.casefold().rstrip(".") == "localhost":
        return True
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address is not None and address.is_loopback


def check_bind(host: str, has_keys: bool, *, tenant: str = "default") -> None:  # noqa: FBT001  (as it is asked everywhere)
    """Refuse to listen where others can reach it while no key guards it."""
    if is_loopback(host) or has_keys:
        return
    operator = "" if tenant == "default" else f" --operator {tenant}"
    raise SettingsError(
        f"{host or 'This address'} can be reached from other machines, and no key guards this server. Make one first: "
        f"holdfast keys create --scope admin{operator}"
    )


class AllowedHosts:
    """The names a server answers to."""

    def __init__(self, bind: str, allowed: Collection[str] = ()) -> None:
        self._own = {_named(name) for name in allowed}
        bound = _address(bind)
        # Listening everywhere, it cannot know its addresses; no page can make a browser send another's bare address.
        self._any_address = not bind or (bound is not None and bound.is_unspecified)
        if bind and not self._any_address:
            self._own.add(_named(bind))

    def answers_to(self, host: str) -> bool:
        """Tell whether the value of a ``Host`` header names this server; its port does not matter, as tunnels change it."""
        name = split_authority(host)
        if name is None:
            return False
        return name[0] in self._own or is_loopback(name[0]) or (self._any_address and _address(name[0]) is not None)


def split_authority(host: str) -> tuple[str, int | None] | None:
    """Return a name, without brackets, and a port; None for what is no host."""
    found = _AUTHORITY.fullmatch(host.strip().casefold())
    if found is None:
        return None
    return found[1].strip("[]").rstrip("."), int(found[2]) if found[2] else None


def is_same_origin(headers: Headers, host: str) -> bool:
    """Tell whether a request was made by no page, or by one that was served under the very name it asks."""
    origins = headers.get(b"origin", ())
    if len(origins) > 1:
        return False
    if origins:
        return _is_same(origins[0].decode("latin-1"), host)
    return not _is_cross_site(headers)


def _is_same(origin: str, host: str) -> bool:
    """Compare an origin with the host. Its scheme may be what a proxy in front of us speaks."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    default = _DEFAULT_PORT.get(parts.scheme)
    theirs, ours = split_authority(parts.netloc), split_authority(host)
    if default is None or theirs is None or ours is None or parts.path or parts.query or parts.fragment:
        return False
    return (theirs[0], theirs[1] or default) == (ours[0], ours[1] or default)


def _is_cross_site(headers: Headers) -> bool:
    """Tell whether a browser says that another site's page asks, other than by a link that somebody followed."""
    if (headers.get(b"sec-fetch-site") or (b"none",))[0] not in (b"cross-site", b"same-site"):
        return False
    return (headers.get(b"sec-fetch-mode") or (b"",))[0] != b"navigate"


def came_through_proxy(headers: Headers) -> bool:
    """Tell whether a proxy left its mark."""
    return any(name in _PROXY or name.startswith(_PROXY_PREFIXES) for name in headers)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _named(name: str) -> str:
    """Return a name as hosts are compared."""
    authority = f"[{name}]" if ":" in name and isinstance(_address(name), ipaddress.IPv6Address) else name
    found = split_authority(authority)
    if found is None:
        raise SettingsError(f"{name!r} is not a host name; allowed_hosts takes names such as memory.example.org, no patterns.")
    return found[0]
