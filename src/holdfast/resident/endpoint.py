"""Where a resident process listens, and how clients connect to it.

There is one resident process per user account and configuration. Its name is a hash of the data directory, the
``HOLDFAST_*`` variables, the options that select a store, and the version of Holdfast. Values of secrets are not part
of the hash.

The process listens on a Unix socket in a folder that only its owner can enter. Where there are no Unix sockets, or the
path is too long for one, it listens on a loopback port. Both sides then prove that they know a secret from a file that
only the owner can read, so that neither side talks to another user's program that happens to use the port.
"""

import hashlib
import json
import os
import socket
from typing import Any, Final, NamedTuple

from holdfast.config import environment
from holdfast.resident.wire import Wire
from holdfast.version import __version__

# A hook runs at each prompt. So this module uses neither pathlib nor dataclasses, and imports rarely used modules where it needs them.

_MAX_SOCKET_PATH: Final = 100
"""Maximum bytes of the path of a Unix socket. Linux allows 107, macOS 103."""
_SECRET_NAMES: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_UNHASHED: Final = ("HOLDFAST_RESIDENT_IDLE_MINUTES",)


class EndpointUnsafe(OSError):
    """Raised if the folder of the socket belongs to another user or is a symbolic link. Such a folder must not be used."""


class StoreOptions(NamedTuple):
    """The options that select a store. Relative paths must be made absolute first."""

    store: str | None = None
    preset: str | None = None
    settings: str | None = None
    tenant: str | None = None

    def arguments(self) -> list[str]:
        """Return the options as command-line arguments."""
        return [word for name, value in self._asdict().items() if value for word in (f"--{name}", value)]


class Endpoint(NamedTuple):
    """The files of one resident process."""

    folder: str
    name: str

    def _file(self, ending: str) -> str:
        return os.path.join(self.folder, self.name + ending)  # noqa: PTH118

    @property
    def lock_file(self) -> str:
        """The file that the resident process keeps locked."""
        return self._file(".lock")

    @property
    def address_file(self) -> str:
        """Path of the file with the address to connect to. The file exists while the process listens."""
        return self._file(".json")

    @property
    def socket_file(self) -> str:
        """Path of the Unix socket."""
        return self._file(".sock")

    @property
    def log_file(self) -> str:
        """Path of the log file. The log contains no text of memories or messages."""
        return self._file(".log")


def endpoint_for(options: StoreOptions) -> Endpoint:
    """Return the endpoint (the socket, lock, address and log files) of the resident process for a configuration."""
    home = _home()
    values = {
        name: "set" if any(word in name for word in _SECRET_NAMES) else value
        for name, value in environment.own_variables().items()
        if name not in _UNHASHED
    }
    configuration = [__version__, home, values, options._asdict()]
    name = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()[:16]
    return Endpoint(folder=os.path.join(home, "run"), name=name)  # noqa: PTH118


def _home() -> str:
    """Return the data directory. If ``HOLDFAST_HOME`` is not set, this imports a module that is slow to load."""
    home = environment.variable("HOLDFAST_HOME")
    if home is None:
        from holdfast.config.folders import data_directory  # noqa: PLC0415  (as above)

        home = str(data_directory())
    return os.path.abspath(os.path.expanduser(home))  # noqa: PTH100, PTH111


def prepare_folder(endpoint: Endpoint) -> None:
    """Create the folder of the socket, with mode 0700.

    Raise ``EndpointUnsafe`` if the folder belongs to another user or is a symbolic link.
    """
    from pathlib import Path  # noqa: PLC0415  (only for starting)

    from holdfast.runtime.private_files import create_folder  # noqa: PLC0415  (as above)

    folder = Path(endpoint.folder)
    create_folder(folder)
    if os.name == "nt":
        return
    found = folder.lstat()
    if found.st_uid != os.getuid() or folder.is_symlink():
        raise EndpointUnsafe(f"{folder} belongs to another user")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def listen(endpoint: Endpoint) -> tuple[socket.socket, str | None]:
    """Listen on a Unix socket or, if that is not possible, on a loopback port. Write the address file.

    The caller must hold the lock on the lock file. Return two values: the listening socket, and the secret that clients of a
    loopback port must know. The secret is None for a Unix socket.
    """
    secret: str | None = None
    if _fits_unix(endpoint):
        remove(endpoint.socket_file)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(endpoint.socket_file)
        os.chmod(endpoint.socket_file, 0o600)  # noqa: PTH101
        address: dict[str, Any] = {"unix": True}
    else:
        import secrets  # noqa: PLC0415  (only for ports)

        secret = secrets.token_hex(32)
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        server.bind(("127.0.0.1", 0))
        address = {"port": server.getsockname()[1], "secret": secret}
    server.listen(64)
    _write_private(endpoint.address_file, json.dumps({**address, "pid": os.getpid(), "version": __version__}))
    return server, secret


def connect(endpoint: Endpoint, *, timeout: float) -> Wire | None:
    """Connect to the resident process. Return None if none is running."""
    address = read_address(endpoint)
    if address is None:
        return None
    try:
        if address.get("unix"):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(timeout)
            connection.connect(endpoint.socket_file)
            return Wire(connection)
        connection = socket.create_connection(("127.0.0.1", int(address["port"])), timeout=timeout)
        wire = Wire(connection)
        if _prove_to_server(wire, str(address["secret"])):
            return wire
        wire.close()
    except (OSError, ValueError, KeyError):
        pass
    return None


def read_address(endpoint: Endpoint) -> dict[str, Any] | None:
    """Return the content of the address file, or None if the file does not exist."""
    try:
        with open(endpoint.address_file, "rb") as file:  # noqa: PTH123
            address = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return address if isinstance(address, dict) else None


def _prove_to_server(wire: Wire, secret: str) -> bool:
    """Check that the server knows the secret, then prove to the server that the client knows it.

    Return False, without a proof, if the server does not know the secret.
    """
    import hmac  # noqa: PLC0415  (only for ports)
    import secrets  # noqa: PLC0415  (as above)

    nonce = secrets.token_hex(16)
    wire.send({"nonce": nonce})
    answer = wire.receive() or {}
    if not hmac.compare_digest(str(answer.get("proof")), _proof(secret, "server", nonce)):
        return False
    wire.send({"proof": _proof(secret, "client", str(answer.get("nonce")))})
    return True


def prove_to_client(wire: Wire, secret: str) -> bool:
    """Prove to the client that the server knows the secret. Return True if the client proves that it knows the secret, too."""
    import hmac  # noqa: PLC0415  (only for ports)
    import secrets  # noqa: PLC0415  (as above)

    asked = wire.receive() or {}
    nonce = secrets.token_hex(16)
    wire.send({"proof": _proof(secret, "server", str(asked.get("nonce"))), "nonce": nonce})
    answer = wire.receive() or {}
    return hmac.compare_digest(str(answer.get("proof")), _proof(secret, "client", nonce))


def _proof(secret: str, side: str, nonce: str) -> str:
    import hmac  # noqa: PLC0415  (only for ports)

    return hmac.new(secret.encode(), f"{side}:{nonce}".encode(), hashlib.sha256).hexdigest()


def _fits_unix(endpoint: Endpoint) -> bool:
    return hasattr(socket, "AF_UNIX") and os.name != "nt" and len(os.fsencode(endpoint.socket_file)) <= _MAX_SOCKET_PATH


def remove(path: str) -> None:
    """Remove a file if it exists."""
    try:
        os.unlink(path)  # noqa: PTH108
    except FileNotFoundError:
        return


def _write_private(path: str, text: str) -> None:
    """Replace a file atomically. Only its owner can read the new file."""
    fresh = f"{path}.{os.getpid()}"
    remove(fresh)
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(text)
    os.replace(fresh, path)  # noqa: PTH105
