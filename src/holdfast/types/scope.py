"""Scope: who owns data, and who may read it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Owner of data: a tenant, and optionally an app, a user and an agent.

    If one of these parts is missing, the data is shared. Without a user, for example, all users of the app share the
    data.
    """

    tenant: str = "default"
    app: str | None = None
    user: str | None = None
    agent: str | None = None
    also_apps: tuple[str, ...] = ()
    """Other apps that share their memories with this app. Used only if this scope reads data, not if it owns data."""

    @property
    def owner(self) -> dict[str, str]:
        """The parts of this scope except the tenant, keyed by ``user``, ``app`` and ``agent``. Missing parts are left out."""
        parts = {"user": self.user, "app": self.app, "agent": self.agent}
        return {part: name for part, name in parts.items() if name is not None}

    def sees(self, owner: "Scope") -> bool:
        """Return True if a reader in this scope may read data of ``owner``."""
        return (
            self.tenant == owner.tenant
            and owner.app in (None, self.app, *self.also_apps)
            and owner.user in (None, self.user)
            and owner.agent in (None, self.agent)
        )
