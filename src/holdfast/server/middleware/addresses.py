"""Checks on the Host, Origin and proxy headers of a request.

A web page can make the user's browser send requests to this machine. The website's own host name can even resolve to
this machine (DNS rebinding), and the browser then allows the page to read the responses. Therefore, the Host must be one
of the server's names, and the Origin must match the Host.
"""

import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from holdfast.errors import SettingsError

Headers: TypeAlias = Mapping[bytes, Sequence[bytes]]
"""Maps lowercase header names to their values."""

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::([0-9]{1,5}))?")
_DEFAULT_PORT = {"http": 80, "https": 443}
_PROXY = (b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip", b"cf-connecting-ip")
_PROXY_PREFIXES = (b"x-forwarded", b"x-original-", b"x-envoy-")


def is_loopback(host: str) -> bool:
    """Return True if an address or host name always refers to this machine."""
    if host.casefold().rstrip(".") == "localhost":
        return True
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address is not None and address.is_loopback


def check_bind(host: str, has_keys: bool, *, tenant: str = "default") -> None:  # noqa: FBT001  (all callers pass it by position)
    """Raise an error if a server without access keys would listen on an address that other machines can reach.

    ``tenant`` is the operator's tenant. The error message shows the command that creates a key for it.
    """
    if is_loopback(host) or has_keys:
        return
    operator = "" if tenant == "default" else f" --operator {tenant}"
    raise SettingsError(
        f"{host or 'This address'} can be reached from other machines, and this server has no access key. The server was "
        f"not started. Create a key first: holdfast keys create --scope admin{operator}"
    )


class AllowedHosts:
    """The set of host names that a server accepts in ``Host`` headers."""

    def __init__(self, bind: str, allowed: Collection[str] = ()) -> None:
        self._own = {_named(name) for name in allowed}
        bound = _address(bind)
        # A wildcard bind has unknown addresses, so accept any IP address as Host. DNS rebinding needs a host name.
        self._any_address = not bind or (bound is not None and bound.is_unspecified)
        if bind and not self._any_address:
            self._own.add(_named(bind))

    def answers_to(self, host: str) -> bool:
        """Return True if a ``Host`` header names this server. The port is ignored, because a tunnel can change the port."""
        name = split_authority(host)
        if name is None:
            return False
        return name[0] in self._own or is_loopback(name[0]) or (self._any_address and _address(name[0]) is not None)


def split_authority(host: str) -> tuple[str, int | None] | None:
    """Split ``host:port`` into the host, without brackets, and the port. Return None if the text is not valid."""
    found = _AUTHORITY.fullmatch(host.strip().casefold())
    if found is None:
        return None
    return found[1].strip("[]").rstrip("."), int(found[2]) if found[2] else None


def is_same_origin(headers: Headers, host: str) -> bool:
    """Return True if the request does not come from a web page, or comes from a page of the same host."""
    origins = headers.get(b"origin", ())
    if len(origins) > 1:
        return False
    if origins:
        return _is_same(origins[0].decode("latin-1"), host)
    return not _is_cross_site(headers)


def _is_same(origin: str, host: str) -> bool:
    """Return True if an origin has the same name and port as the host. The scheme can differ, because a proxy can handle TLS."""
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
    """Return True if the browser reports that a page of another origin sent the request.

    Page navigation, such as following a link to this server, does not count.
    """
    if (headers.get(b"sec-fetch-site") or (b"none",))[0] not in (b"cross-site", b"same-site"):
        return False
    return (headers.get(b"sec-fetch-mode") or (b"",))[0] != b"navigate"


def came_through_proxy(headers: Headers) -> bool:
    """Return True if a header shows that a proxy forwarded the request."""
    return any(name in _PROXY or name.startswith(_PROXY_PREFIXES) for name in headers)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _named(name: str) -> str:
    """Normalize a host name for comparison."""
    authority = f"[{name}]" if isinstance(_address(name), ipaddress.IPv6Address) else name
    found = split_authority(authority)
    if found is None:
        raise SettingsError(
            f"{name!r} is not a host name. allowed_hosts takes names such as memory.example.org, without patterns."
        )
    return found[0]
